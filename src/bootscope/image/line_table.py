# SPDX-License-Identifier: Apache-2.0
"""The addresses of source lines in a program: its DWARF line tables."""

from __future__ import annotations

import io
import posixpath
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from elftools.common.exceptions import DWARFError, ELFError
from elftools.dwarf.dwarfinfo import DWARFInfo
from elftools.elf.elffile import ELFFile

from bootscope.core.errors import UserError

_FIFTH = 5
"""From this version of DWARF on, files and folders are counted from 0, and folder 0 is the unit's."""


@dataclass(frozen=True, slots=True, order=True)
class Row:
    """A statement of a source line begins at this address."""

    file: str
    line: int
    address: int


def rows(data: bytes) -> list[Row]:
    """All statements in an ELF file's line tables, by file and line.

    Raises UserError for a file without debug information, or a damaged one.
    """
    try:
        elf = ELFFile(io.BytesIO(data))
        # Tables for unwinding only have no lines.
        found = sorted(set(_rows(elf.get_dwarf_info()))) if elf.has_dwarf_info(strict=True) else []
    except (ELFError, DWARFError, ValueError, KeyError, IndexError, AttributeError, struct.error) as error:
        raise UserError(f"its debug information is damaged: {error}") from error
    if not found:
        raise UserError("it has no debug information: which lines its code is of is not known")
    return found


def _rows(dwarf: DWARFInfo) -> Iterator[Row]:
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        if program is None:
            continue
        top = unit.get_top_DIE().attributes
        folder = top["DW_AT_comp_dir"].value.decode("utf-8", "replace") if "DW_AT_comp_dir" in top else ""
        names = dict[int, str]()
        for entry in program.get_entries():
            state = entry.state
            # Code that the linker has dropped stays at address 0.
            if (
                state is None
                or state.end_sequence
                or not state.is_stmt
                or not state.line
                or not state.address
            ):
                continue
            if state.file not in names:
                names[state.file] = _name(program.header, state.file, folder)
            yield Row(names[state.file], state.line, state.address)


def _name(header: Mapping[str, Any], number: int, folder: str) -> str:
    """A file of a unit's table by its number."""
    later = header["version"] >= _FIFTH
    files, folders = header["file_entry"], header["include_directory"]
    entry = files[number if later else number - 1]
    at = entry.dir_index
    if later:
        above = folders[at]
    else:
        above = folders[at - 1] if at else b""
    path = posixpath.join(folder, above.decode("utf-8", "replace"), entry.name.decode("utf-8", "replace"))
    return posixpath.normpath(path)
