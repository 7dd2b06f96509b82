# SPDX-License-Identifier: Apache-2.0
"""Pitfalls of boot loaders: how U-Boot is configured, and where it puts things."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from bootscope.audit.pitfalls.checks.base import check, first_stage_boots, loader_delay
from bootscope.core.text import listed, size, span
from bootscope.devices import sd_card
from bootscope.devices.model import SECTOR_BYTES
from bootscope.inventory.indicators import indicator_evidence
from bootscope.inventory.inventory import Inventory, Part, number
from bootscope.inventory.loader_script import hexadecimal

_SCRIPT = (Part.COMMANDS, Part.ENVIRONMENT)
_BLOCK = 128 << 20
"""The decompressor assumes that memory starts at the beginning of the block it runs in."""
_TEXT_OFFSET = 0x8000
_SURELY_BYTES, _FAR_BYTES = 1 << 20, 64 << 20
_MORE_BYTES = 64 << 10
_NO = ("no", "n", "0", "false", "off")


@check("silent-uboot-kills-kernel-console", Part.LOADER)
def _silent(known: Inventory) -> str:
    alone = known.on("uboot", "SILENT_U_BOOT_ONLY") or _said_no(known, "silent_linux")
    unset = known.knows(Part.ENVIRONMENT) and "silent" not in known.environment
    if alone or unset or not known.on("uboot", "SILENT_CONSOLE"):
        return ""
    when = "silent is set" if "silent" in known.environment else "once silent is set"
    return f"CONFIG_SILENT_CONSOLE=y without CONFIG_SILENT_U_BOOT_ONLY, {when}"


def _said_no(known: Inventory, variable: str) -> bool:
    """Whether a variable is set to no, in any spelling that U-Boot accepts."""
    return (known.loader.value(variable) or "yes").lower() in _NO


def _name(path: str) -> str:
    return path.rpartition("/")[2]


@check("bootm-slower-than-bootz", one_of=_SCRIPT)
def _bootm(known: Inventory) -> str:
    if not known.loader.called("bootm"):
        return ""
    wrapped = [name for name, image in known.images.items() if image.payload == "zImage"]
    loaded = [load.file for load in known.loader.loads if _name(load.file).startswith("uImage")]
    return f"bootm of {(wrapped or loaded)[0]}" if wrapped or loaded else ""


def _kernel_addresses(known: Inventory, command: str) -> list[int]:
    """The addresses of the kernel when it is started."""
    found = (hexadecimal(words[1]) for words in known.loader.called(command) if len(words) > 1)
    return [address for address in found if address is not None]


@check("zimage-overlap", one_of=_SCRIPT)
def _overlap(known: Inventory) -> str | None:
    addresses = _kernel_addresses(known, "bootz")
    if not addresses:
        return "" if known.loader.commands and not known.loader.called("bootz") else None
    address, image = addresses[-1], known.image("zImage")
    offset = address % _BLOCK
    length = (image.unpacked_bytes or image.size_bytes) if image else _SURELY_BYTES
    if offset < _TEXT_OFFSET + length and offset + (image.size_bytes if image else 1) > _TEXT_OFFSET:
        where = f"the zImage is loaded {size(offset)} above the start of memory"
        return f"{where}, the kernel unpacks to {_TEXT_OFFSET:#x} and has {size(length)} or more"
    sure = (image and image.unpacked_bytes) or offset >= _FAR_BYTES
    return "" if sure else None


@check("memmove-vs-overlap-conflict")
def _conflict(known: Inventory) -> str | None:
    wrapped = {name: image for name, image in known.images.items() if image.kind == "uImage"}
    for name, image in wrapped.items():
        if image.payload == "zImage" and image.load % _BLOCK == _TEXT_OFFSET:
            return f"{name} holds a zImage for {image.load:#x}, where the kernel unpacks to"
    return "" if wrapped or known.knows(Part.BOOT) else None


@check("uimage-memmove", Part.LOG)
def _moved(known: Inventory) -> str | None:
    log = known.log
    if not log or not log.loader_lines:
        return None
    at = log.index(r"^\s*Loading Kernel Image")
    if at < 0:
        return ""
    gap = log.gap_ns(at) if log.timed else None
    return "Loading Kernel Image" + (f": {span(gap)} to the next line" if gap is not None else "")


@check("crc-check", one_of=(Part.LOG, *_SCRIPT))
def _checksum(known: Inventory) -> str | None:
    log = known.log
    at = log.index(r"^\s*Verifying (?:Checksum|Hash Integrity) \.\.\.") if log else -1
    if log and at >= 0:
        gap = log.gap_ns(at) if log.timed else None
        return "the log says so" + (f": {span(gap)} to the next line" if gap is not None else "")
    if log and log.index(r"^## Booting kernel from ") >= 0:
        return ""
    if known.knows(Part.ENVIRONMENT) and known.loader.called("bootm"):
        return "" if _said_no(known, "verify") else "bootm, and verify is not no"
    return "" if known.loader.commands or (log and log.loader_lines) else None


check("bootdelay", one_of=(Part.LOG, Part.LOADER, Part.ENVIRONMENT))(partial(indicator_evidence, "countdown"))


@check("zero-bootdelay-lockout", one_of=(Part.LOADER, Part.ENVIRONMENT))
def _locked_out(known: Inventory) -> str:
    counts = known.on("uboot", "BOOTCOUNT_LIMIT") or "altbootcmd" in known.environment
    if number(loader_delay(known)) != -2 or counts or known.loader.called("gpio", "button"):
        return ""
    return "the boot delay is -2, with neither a boot counter nor an input pin"


def _raw_reads(known: Inventory) -> Iterator[tuple[str, int | None, int | None]]:
    """(command, address, bytes) of reads from raw storage."""
    for words in known.loader.called(sd_card.COMMAND, "nand", "sf"):
        if words[1:2] == ["read"] and len(words) > 4:
            count = hexadecimal(words[4])
            factor = SECTOR_BYTES if words[0] == sd_card.COMMAND else 1
            yield " ".join(words), hexadecimal(words[2]), count * factor if count is not None else None


@check("over-read-kernel", one_of=_SCRIPT)
def _over_read(known: Inventory) -> str | None:
    kernel = known.image("zImage", "uImage", "Image", "compressed")
    starts = [a for command in ("bootz", "bootm", "booti") for a in _kernel_addresses(known, command)]
    reads = [(words, count) for words, at, count in _raw_reads(known) if at in starts and count is not None]
    if not reads:
        return "" if known.loader.commands else None
    if not kernel:
        return None
    words, count = reads[0]
    if count <= kernel.size_bytes + max(_MORE_BYTES, kernel.size_bytes // 20):
        return ""
    return f"{words}: {size(count)} for a kernel of {size(kernel.size_bytes)}"


@check("nested-scripts", Part.ENVIRONMENT)
def _nested(known: Inventory) -> str:
    if first_stage_boots(known):
        return ""  # U-Boot is only the fallback
    deep = known.loader.deepest()
    return f"bootcmd runs {' > '.join(deep[:8])}" if len(deep) > 2 else ""


_NOISY = (
    r"(?:debug|ignore_loglevel|keep_bootcon|earlyprintk\S*|earlycon\S*|loglevel=(?:[89]|\d\d+)"
    r"|systemd\.log_level=debug)"
)
_SLOW_BAUD = 115_200


@check("noisy-bootargs", Part.COMMAND_LINE)
def _noisy(known: Inventory) -> str:
    found = [word for word in known.words if re.fullmatch(_NOISY, word)]
    rated = any(re.match(r"console=tty\w+,\d", word) for word in known.words)
    found += [f"a console of {known.baud[0]} baud"] if rated and known.baud[0] < _SLOW_BAUD else []
    return listed(found)


@check("missing-file-in-fatload", one_of=_SCRIPT)
def _nameless(known: Inventory) -> str:
    if known.loader.value("bootfile"):
        return ""
    found = [load for load in known.loader.loads if load.address is not None and not load.file]
    return f"{found[0].command} to {found[0].address:#x} names no file" if found else ""


@check("uncompressed-needs-bootm", one_of=_SCRIPT)
def _not_for_bootz(known: Inventory) -> str:
    addresses = _kernel_addresses(known, "bootz")
    for load in known.loader.loads:
        if load.address in addresses and re.match(r"(?:Image|uImage|vmlinux)\b", _name(load.file)):
            return f"bootz of {load.file}"
    return ""


@check("skip-bootloader-not-always", one_of=(Part.LOADER, Part.LOG))
def _uncached(known: Inventory) -> str | None:
    if first_stage_boots(known) and known.on("uboot", "SPL_SYS_DCACHE_OFF"):
        return "CONFIG_SPL_SYS_DCACHE_OFF=y where the SPL loads Linux"
    log = known.log
    if log and log.find(r"^AT91Bootstrap ") and log.has_kernel_start and not log.find(r"^U-Boot \d"):
        return "AT91Bootstrap starts Linux; the log does not show whether its caches are on"
    return ""
