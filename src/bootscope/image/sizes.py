# SPDX-License-Identifier: Apache-2.0
"""The sizes of a program's sections and symbols."""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from bootscope.core.errors import UserError

_TAKES_MEMORY = 2
_KINDS = {1: "data", 2: "code"}
_SYMBOL = {32: struct.Struct("<IIIBBH"), 64: struct.Struct("<IBBHQQ")}


@dataclass(frozen=True, slots=True)
class Sized:
    """A section or a symbol. `in_image`: it is in the file, not only zeroed memory. `section`: a symbol's
    section; `kind`: code or data."""

    name: str
    address: int
    size_bytes: int
    in_image: bool
    section: str
    kind: str = ""


def sizes(data: bytes) -> tuple[list[Sized], list[Sized]]:
    """(sections, symbols) of an ELF file that occupy memory, by address. Names for the same place count once.

    Raises UserError for anything but an ELF file, or a damaged one.
    """
    try:
        elf = ELFFile(io.BytesIO(data))
        sections = {
            number: Sized(s.name, s["sh_addr"], s["sh_size"], s["sh_type"] != "SHT_NOBITS", s.name)
            for number, s in enumerate(elf.iter_sections())
            if s["sh_flags"] & _TAKES_MEMORY and s["sh_size"]
        }
        table = elf.get_section_by_name(".symtab")
        found = _symbols(table, sections, elf.elfclass) if isinstance(table, SymbolTableSection) else {}
    except (ELFError, ValueError, KeyError, struct.error) as error:
        raise UserError(f"no ELF file that can be read: {error}") from error
    return sorted(sections.values(), key=_address), sorted(found.values(), key=_address)


def _address(one: Sized) -> int:
    return one.address


def _symbols(
    table: SymbolTableSection, sections: dict[int, Sized], bits: int
) -> dict[tuple[int, int], Sized]:
    """(address, bytes) -> symbol. Reads the raw table: a kernel has more than 100,000 symbols."""
    names, found = table.stringtable.data(), dict[tuple[int, int], Sized]()
    for entry in _SYMBOL[bits].iter_unpack(table.data()):
        if bits == 64:
            name, info, _, at, value, size = entry
        else:
            name, value, size, info, _, at = entry
        kind = _KINDS.get(info & 15)
        if kind and size and at in sections:
            text = names[name : names.index(b"\0", name)].decode("utf-8", "replace")
            section = sections[at]
            found.setdefault((value, size), Sized(text, value, size, section.in_image, section.name, kind))
    return found
