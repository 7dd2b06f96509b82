# SPDX-License-Identifier: Apache-2.0
"""U-Boot's stored data: its environment as printed by `printenv` or as stored, and its scripts."""

from __future__ import annotations

import re
import struct
import zlib

from bootscope.artefacts.file_facts import Piece
from bootscope.inventory.inventory import Part, number

_VARIABLE = re.compile(r"^([A-Za-z_.][\w.#:-]{0,79})=(.*)$")
_USUAL = {
    "bootcmd", "bootdelay", "baudrate", "bootargs", "loadaddr", "stdin", "stdout", "stderr", "ethaddr",
    "fdt_addr_r", "kernel_addr_r", "ramdisk_addr_r", "scriptaddr", "fdtfile", "preboot", "arch", "board",
    "soc", "serial#", "ipaddr", "serverip", "bootfile", "fdtaddr", "altbootcmd", "silent", "verify",
    "console",
}  # fmt: skip
_ENOUGH_USUAL = 2
_COMMANDS = re.compile(
    r"^\s*(?:setenv|load|fatload|ext[24]load|tftp(?:boot)?|boot[mzid]|run|source|mmc|nand|sf|usb|ubi|part|env|fdt"
    r"|echo|if|then|else|fi|test|saveenv|for|done|setexpr|itest|sysboot|booti|import)\b"
)
# Blanks are not given back, and never span lines: files of blanks would take minutes.
_BOOTS = re.compile(
    r"^[ \t]*+(?:.*;[ \t]*+)?(?:boot[mzi]|(?:fat|ext4|ext2)?load|source|sysboot|run)\b", re.MULTILINE
)
_MOST_BYTES = 4 << 20
_SCRIPT_TYPE, _UIMAGE_HEADER = 6, 64
SYMBOLS = {"bootdelay": "BOOTDELAY", "baudrate": "BAUDRATE"}
"""Variables that override a symbol of the configuration."""


def is_printenv(head: str) -> bool:
    """Whether this is the output of `printenv`: variables, including some that every U-Boot has."""
    lines = [line for line in head.splitlines() if line.strip()]
    found = [match for match in map(_VARIABLE.match, lines) if match]
    usual = {match[1] for match in found} & _USUAL
    return len(usual) >= _ENOUGH_USUAL and 2 * len(found) > len(lines)


def read_printenv(name: str, text: str) -> Piece:
    """An environment as text; a line that is not a variable continues the one before."""
    found: dict[str, str] = {}
    last = ""
    for line in text[:_MOST_BYTES].splitlines():
        match = _VARIABLE.match(line)
        if match:
            last = match[1]
            found[last] = match[2]
        elif last and line and not line.startswith(("Environment size:", "=>", "U-Boot>")):
            found[last] += f"\n{line}"
    return _environment(name, "printenv output", found, ())


def stored_environment(data: bytes) -> tuple[dict[str, str], bool, str] | None:
    """The variables of an environment in U-Boot's stored form, whether its checksum matches, and its form;
    None for anything else."""
    if not 32 <= len(data) <= _MOST_BYTES:
        return None
    for start, form in ((4, "stored"), (5, "stored twice (redundant)")):
        end = data.find(b"\0\0", start)
        rows = data[start : end if end >= 0 else start].split(b"\0")
        texts = [row.decode("utf-8", "backslashreplace") for row in rows]
        found = {m[1]: m[2] for m in (re.match(r"(?s)([\w.#:/-]{1,80})=(.*)", text) for text in texts) if m}
        if len(found) >= len(texts) > 0 and (len(found) >= _ENOUGH_USUAL or set(found) & _USUAL):
            (told,) = struct.unpack_from("<I", data)
            return found, zlib.crc32(data[start:]) == told, form
    return None


def read_stored(name: str, data: bytes) -> Piece:
    """An environment in U-Boot's stored form; only for data that :func:`stored_environment` accepts."""
    stored = stored_environment(data)
    assert stored
    found, fits, form = stored
    doubt = "its checksum does not match: if the file is complete, U-Boot uses its default environment"
    notes = () if fits else (doubt,)
    return _environment(name, form, found, notes)


def _environment(name: str, form: str, found: dict[str, str], notes: tuple[str, ...]) -> Piece:
    symbols = {
        symbol: found[key] for key, symbol in SYMBOLS.items() if number(found.get(key, "")) is not None
    }
    told = f"U-Boot environment, {form}: {len(found)} variables"
    fields: dict[str, object] = {"environment": found}
    if symbols:
        fields |= {"configs": {"uboot": symbols}, "partial": frozenset({"uboot"})}
    return Piece(name, "U-Boot environment", told, fields, frozenset({Part.ENVIRONMENT}), notes)


def script_of_image(data: bytes) -> str | None:
    """The text of a boot.scr made by mkimage; None for any other image."""
    if len(data) < _UIMAGE_HEADER + 8 or data[30] != _SCRIPT_TYPE:
        return None
    (count,) = struct.unpack_from(">I", data, _UIMAGE_HEADER)
    start = _UIMAGE_HEADER + 8
    return data[start : start + min(count, _MOST_BYTES)].decode("utf-8", "replace")


def is_script(head: str) -> bool:
    """Whether most lines are commands of U-Boot, and one of them loads or boots something."""
    lines = [line for line in head.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    commands = sum(bool(_COMMANDS.match(line)) for line in lines)
    return commands * 3 >= 2 * len(lines) > 0 and bool(_BOOTS.search(head))


def read_script(name: str, text: str) -> Piece:
    """A script of U-Boot."""
    lines = sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in text.splitlines())
    told = f"U-Boot script: {lines} lines of commands"
    return Piece(name, "U-Boot script", told, {"commands": text[:_MOST_BYTES]}, frozenset({Part.COMMANDS}))
