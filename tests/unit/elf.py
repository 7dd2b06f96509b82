# SPDX-License-Identifier: Apache-2.0
"""Small ARM programs made by hand: ELF files with code, symbols and what the linker marks."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from bootscope.image.code import Code

TEXT = 0x8000
_HEADER = struct.Struct("<16sHHIIIIIHHHHHH")
_PROGRAM = struct.Struct("<8I")
_SECTION = struct.Struct("<10I")
_SYMBOL = struct.Struct("<IIIBBH")
_NO_TYPE, _FUNCTION = 0, 2
_NULL, _PROGBITS, _SYMTAB, _STRTAB = 0, 1, 2, 3
_ALLOC_EXECUTE = 6
ARM_MACHINE = 40


@dataclass(frozen=True)
class Fn:
    """A function: its name and its code in hexadecimal, as `objdump` shows bytes (not words)."""

    name: str
    code: str
    thumb: bool = False

    @property
    def bytes(self) -> bytes:
        return bytes.fromhex(self.code)


def arm(*words: int) -> str:
    """ARM code from instruction words as a disassembly shows them."""
    return struct.pack(f"<{len(words)}I", *words).hex()


def thumb(*halves: int) -> str:
    """Thumb code from half words as a disassembly shows them; a wide instruction is two of them."""
    return struct.pack(f"<{len(halves)}H", *halves).hex()


def addresses(*functions: Fn, base: int = TEXT) -> dict[str, int]:
    """Where :func:`elf` puts each function: one after the other, four bytes aligned."""
    found, at = {}, base
    for function in functions:
        found[function.name] = at
        at += (len(function.bytes) + 3) & ~3
    return found


def elf(
    *functions: Fn,
    base: int = TEXT,
    marks: Mapping[str, int] | None = None,
    machine: int = ARM_MACHINE,
) -> bytes:
    """An executable: header, one segment, code, symbols. `marks` are symbols without type or size."""
    text = b"".join(f.bytes.ljust((len(f.bytes) + 3) & ~3, b"\0") for f in functions)
    names, symbols = b"\0", [_SYMBOL.pack(0, 0, 0, 0, 0, 0)]
    at = addresses(*functions, base=base)
    for f in functions:
        symbols.append(_SYMBOL.pack(len(names), at[f.name] | f.thumb, len(f.bytes), _FUNCTION, 0, 1))
        names += f.name.encode() + b"\0"
    for name, value in (marks or {}).items():
        symbols.append(_SYMBOL.pack(len(names), value, 0, _NO_TYPE, 0, 1))
        names += name.encode() + b"\0"
    titles = b"\0.text\0.symtab\0.strtab\0.shstrtab\0"
    begin = _HEADER.size + _PROGRAM.size
    parts = [text, b"".join(symbols), names, titles]
    offsets = [begin]
    for part in parts:
        offsets.append((offsets[-1] + len(part) + 3) & ~3)

    def section(
        title: bytes, kind: int, flags: int, address: int, number: int, link: int, entry: int
    ) -> bytes:
        info = 1 if kind == _SYMTAB else 0
        name = titles.index(title)
        place = (address, offsets[number], len(parts[number]))
        return _SECTION.pack(name, kind, flags, *place, link, info, 4, entry)

    sections = [
        _SECTION.pack(*[0] * 10),
        section(b".text", _PROGBITS, _ALLOC_EXECUTE, base, 0, 0, 0),
        section(b".symtab", _SYMTAB, 0, 0, 1, 3, _SYMBOL.size),
        section(b".strtab", _STRTAB, 0, 0, 2, 0, 0),
        section(b".shstrtab", _STRTAB, 0, 0, 3, 0, 0),
    ]
    ident = b"\x7fELF\x01\x01\x01".ljust(16, b"\0")
    head = _HEADER.pack(
        ident, 2, machine, 1, base, _HEADER.size, offsets[-1], 0x5000400,
        _HEADER.size, _PROGRAM.size, 1, _SECTION.size, len(sections), len(sections) - 1,
    )  # fmt: skip
    segment = _PROGRAM.pack(1, begin, base, base, len(text), len(text), 5, 4)
    body = b"".join(part.ljust((len(part) + 3) & ~3, b"\0") for part in parts)
    return head + segment + body + b"".join(sections)


def code(*functions: Fn, base: int = TEXT, marks: Mapping[str, int] | None = None) -> Code:
    """The program as bootscope reads it."""
    return Code(elf(*functions, base=base, marks=marks))
