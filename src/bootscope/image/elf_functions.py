# SPDX-License-Identifier: Apache-2.0
"""Functions of a linked or relocatable ELF program of any architecture, by name only."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Section, SymbolTableSection

_EXECUTABLE = 4
_CODE_TYPES = ("STT_FUNC", "STT_NOTYPE")
_NO_CODE = ("L_", "_rodata")
"""Labels within functions, and of constants between them."""


def opened(path: Path) -> ELFFile:
    """The program, read whole. Raises OSError or ELFError."""
    return ELFFile(io.BytesIO(path.read_bytes()))


def code(program: ELFFile) -> Iterator[Section]:
    """Its sections with code."""
    return (s for s in program.iter_sections() if s["sh_flags"] & _EXECUTABLE and s["sh_size"])


def functions(program: ELFFile, places: Mapping[str, int] | None = None) -> Iterator[tuple[int, int, str]]:
    """(address, bytes, name) of its functions, section by section; `places` are added to those of a section.

    A label of assembler code extends to the next symbol.
    """
    for section in code(program):
        begin = (places or {}).get(section.name, 0)
        symbols = sorted(_symbols(program, section.name))
        ends = [*(address for address, _, _ in symbols[1:]), section["sh_addr"] + section["sh_size"]]
        for (address, size, name), end in zip(symbols, ends, strict=True):
            if size or end > address:
                yield begin + address, size or end - address, name


def _symbols(program: ELFFile, name: str) -> Iterator[tuple[int, int, str]]:
    table, section = program.get_section_by_name(".symtab"), program.get_section_index(name)
    for symbol in table.iter_symbols() if isinstance(table, SymbolTableSection) else ():
        here = symbol["st_shndx"] == section and symbol["st_info"]["type"] in _CODE_TYPES
        if here and symbol.name and not symbol.name.startswith(_NO_CODE):
            yield symbol["st_value"], symbol["st_size"], symbol.name


def values(program: ELFFile) -> dict[str, int]:
    """All its symbols by name, such as those that a linker script sets."""
    table = program.get_section_by_name(".symtab")
    found = table.iter_symbols() if isinstance(table, SymbolTableSection) else ()
    return {symbol.name: symbol["st_value"] for symbol in found}
