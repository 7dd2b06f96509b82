# SPDX-License-Identifier: Apache-2.0
"""Pitfalls of Falcon mode: an SPL starts Linux itself, from places outside of partitions."""

from __future__ import annotations

import re
from itertools import combinations

from bootscope.audit.pitfalls.checks.base import check, first_stage_boots
from bootscope.core.text import listed, size, span
from bootscope.devices import sd_card
from bootscope.devices.model import SECTOR_BYTES
from bootscope.inventory.inventory import Inventory, Part
from bootscope.inventory.loader_script import hexadecimal
from bootscope.inventory.recorded import Recorded

_UNIT_SECTORS = 8192
"""4 MiB: the preferred erase size that most cards report."""
_MOST_SECTORS = (1 << 30) // SECTOR_BYTES
_MS = 1_000_000
_WRITE = re.compile(rf"\b{sd_card.COMMAND} write" r"(?:\.\w+)?\s+(\S{1,80})\s+(\S{1,80})\s+([^\s;]{1,80})")
Region = tuple[str, int, int]
"""(name, first sector, sectors)."""


@check("falcon-spl-size", Part.LOADER, when=first_stage_boots)
def _no_limit(known: Inventory) -> str:
    limits = [known.number("uboot", name) or 0 for name in ("SPL_SIZE_LIMIT", "SPL_MAX_SIZE")]
    return "" if any(limits) else "neither CONFIG_SPL_SIZE_LIMIT nor CONFIG_SPL_MAX_SIZE is set"


def _partitions(known: Inventory) -> list[Region]:
    found: list[Region] = []
    for name in ("boot", "root"):
        first, count = (known.settings.get(f"card.{name}_{key}", "") for key in ("sector", "sectors"))
        if first.isdecimal() and count.isdecimal() and int(count):
            found.append((f"the {name} partition", int(first), int(count)))
    return found


@check("falcon-sectors-not-bytes", one_of=(Part.ENVIRONMENT, Part.COMMANDS))
def _bytes_for_sectors(known: Inventory) -> str:
    texts = [known.commands, *known.environment.values()]
    for match in (m for text in texts for m in _WRITE.finditer(text)):
        where, count = (match[n].strip("'\"") for n in (2, 3))
        if count.strip("${}") == "filesize":
            return f"{match[0]}: filesize is in bytes"
        first, sectors = hexadecimal(where), hexadecimal(count)
        if sectors is None:
            continue
        if sectors > _MOST_SECTORS:
            return f"{match[0]}: that is {size(sectors * SECTOR_BYTES)}"
        for name, start, _ in _partitions(known):
            if first is not None and first < start < first + sectors:
                return f"{match[0]}: that reaches into {name} (sector {start:#x})"
    return ""


@check("falcon-args-size", Part.LOADER, when=first_stage_boots)
def _tree_cut_off(known: Inventory) -> str | None:
    tree = known.images.get("dtb") or known.image("dtb")
    sectors = known.number("uboot", sd_card.ARGUMENTS_SECTORS)
    room = sectors * SECTOR_BYTES if sectors else known.number("uboot", "CMD_SPL_WRITE_SIZE")
    if not tree or not room:
        return None
    return f"room for {size(room)}, the tree has {size(tree.size_bytes)}" if tree.size_bytes > room else ""


def _raw(known: Inventory) -> list[Region]:
    """What Falcon mode keeps outside of partitions; of unknown size: the first sector only."""
    kernel = known.image("zImage", "uImage", "Image")
    sectors = -(-kernel.size_bytes // SECTOR_BYTES) if kernel else 1
    found = (
        ("the device tree", sd_card.ARGUMENTS_SECTOR, known.number("uboot", sd_card.ARGUMENTS_SECTORS) or 1),
        ("the kernel", sd_card.KERNEL_SECTOR, sectors),
    )
    return [(what, first, n) for what, symbol, n in found if (first := known.number("uboot", symbol))]


@check("falcon-layout-overlap", Part.LOADER, when=first_stage_boots)
def _areas_overlap(known: Inventory) -> str:
    others = _partitions(known)
    if isinstance(known, Recorded):
        extents = known.view.run.info.system.extents
        others += [(e.name, e.sector, e.sectors) for e in extents if e.name in ("SPL", "U-Boot")]
    for (a, start_a, count_a), (b, start_b, count_b) in combinations([*_raw(known), *others], 2):
        if start_a < start_b + count_b and start_b < start_a + count_a:
            return f"{a} (sectors {start_a:#x} + {count_a:#x}) and {b} (sectors {start_b:#x} + {count_b:#x})"
    return ""


@check("falcon-comment-wrong", Part.LOADER, when=first_stage_boots)
def _worked_out(known: Inventory) -> str:
    return listed([f"{a} at sector {s:#x} = {s * SECTOR_BYTES // 1024:,} KiB" for a, s, _ in _raw(known)])


@check("falcon-spl-on-fat", Part.LOADER, when=first_stage_boots)
def _boot_rom(known: Inventory) -> str:
    chip = known.text("uboot", "SYS_SOC") or "at91"
    return f"an SPL for {chip}" if known.on("uboot", "ARCH_AT91") else ""


_NAND = re.compile(
    r"\bnand (?:read|write|erase)(?:\.\w+)?(?:\s+0x[0-9a-fA-F]+)?\s+(0x[0-9a-fA-F]{1,12})\s+\S+"
)


@check("raw-offset-alignment", one_of=(Part.LOADER, Part.ENVIRONMENT, Part.COMMANDS))
def _alignment(known: Inventory) -> str | None:
    told = known.logged(r"erase size: (\d{1,6}) KiB")
    block = int(told[1]) << 10 if told else 0
    texts = [known.commands, *known.environment.values()]
    offsets = [(m[0], int(m[1], 16)) for text in texts for m in _NAND.finditer(text)]
    off = [words for words, offset in offsets if block and offset % block]
    if off:
        return f"{off[0]}: the erase block is {block >> 10} KiB"
    uneven = [(a, s) for a, s, _ in _raw(known) if s % _UNIT_SECTORS] if first_stage_boots(known) else []
    if uneven:
        a, sector = uneven[0]
        into = size(sector % _UNIT_SECTORS * SECTOR_BYTES)
        return f"{a} begins at sector {sector:#x}, {into} into a unit of 4 MiB"
    return None if offsets and not block else ""


@check("falcon-stale-args", Part.LOADER, when=first_stage_boots)
def _stale(known: Inventory) -> str | None:
    booted = known.log.command_line if known.log else None
    wanted = known.loader.bootargs
    if booted is None or wanted is None:
        return None
    changed = sorted(set(wanted.split()) ^ set(booted.split()))
    return f"the kernel's command line differs from the configured one: {listed(changed)}" if changed else ""


@check("falcon-slow-spl-driver", Part.BOOT, when=first_stage_boots)
def _slow_driver(known: Inventory) -> str:
    if not isinstance(known, Recorded):
        return ""
    reads = [t for t in known.view.timeline.transfers if t.what == "kernel" and not t.write]
    if not reads:
        return ""
    cost_ns = sum(t.cost_ns for t in reads)
    took_ns = reads[-1].start_ns + reads[-1].cost_ns - reads[0].start_ns
    if took_ns <= 2 * cost_ns + 50 * _MS:
        return ""
    return f"the SPL takes {span(took_ns)} to read the kernel, the card alone {span(cost_ns)}"


@check("falcon-kernel-depends-on-uboot", one_of=(Part.LOADER, Part.SETTINGS), when=first_stage_boots)
def _relied_on(known: Inventory) -> str:
    return "the SPL starts Linux (Falcon mode)"


@check("falcon-no-decompression", Part.LOADER, when=first_stage_boots)
def _not_unpacked(known: Inventory) -> str | None:
    if not known.on("uboot", "ARM64") and not known.on("uboot", "RISCV"):
        return ""
    if any(known.on("uboot", f"SPL_{name}") for name in ("GZIP", "LZMA", "LZ4", "ZSTD")):
        return ""
    packed = [name for name, image in known.images.items() if image.kind == "compressed"]
    packed += [load.file for load in known.loader.loads if re.search(r"\.(?:gz|lz4|lzma|xz|zst)$", load.file)]
    if packed:
        return f"{packed[0]} is compressed, and the SPL cannot decompress it"
    return "" if any(image.kind == "Image" for image in known.images.values()) else None


_UPDATERS = re.compile(r"/(?:rauc|swupdate|mender(?:-update)?|ostree|systemd-sysupdate|bmaptool-ab)$")
_SLOTS = re.compile(r"BOOT_ORDER|BOOT_\w_LEFT|mender_\w+|upgrade_available|bootslot|boot_slot|rauc_slot")


@check("falcon-ab-updates", Part.LOADER, one_of=(Part.FILES, Part.ENVIRONMENT), when=first_stage_boots)
def _slots(known: Inventory) -> str:
    found = [path for path in known.files if _UPDATERS.search(path)]
    found += [f"{name} in the environment" for name in known.environment if _SLOTS.fullmatch(name)]
    return listed(found)


@check("falcon-fallback-exists", Part.LOADER, when=first_stage_boots)
def _way_back(known: Inventory) -> str:
    # bootscope's own hook falls back to U-Boot when a 'c' waits on the serial line.
    ours = known.settings.get("uboot.falcon") == "True"
    return "the SPL starts Linux (Falcon mode)" if not ours else ""
