# SPDX-License-Identifier: Apache-2.0
"""Functions of the programs in an image's root file system: from their own symbols, or from those of the same
program before it was stripped, if the image's build still has it."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection

from bootscope.arch.model import Architecture
from bootscope.artefacts.elf import MAGIC
from bootscope.artefacts.tree import FILE, PROGRAM_BYTES, Entry
from bootscope.builder.steps.programs import program_in
from bootscope.capture.objects import Program

_DAMAGED = (ELFError, ValueError, KeyError, TypeError, AttributeError, OSError)


def functions(entries: Iterable[Entry], unstripped: Iterable[Path], arch: Architecture) -> dict[str, Program]:
    """Path -> the functions of each program and library. `unstripped`: programs, and folders that may contain
    a program at its path in the root file system."""
    places = tuple(unstripped)
    by_id = {known: path for path in places if path.is_file() and (known := build_id(path.read_bytes()))}
    found: dict[str, Program] = {}
    for entry in entries:
        data = entry.read(PROGRAM_BYTES) if entry.kind == FILE and entry.size_bytes <= PROGRAM_BYTES else b""
        if len(data) == entry.size_bytes and data.startswith(MAGIC):
            whole = _whole(entry.path, build_id(data), places, by_id)
            if made := program_in(io.BytesIO(whole or data), arch):
                found[entry.path] = made
    return found


def build_id(data: bytes) -> str:
    """The build id of an ELF program, in hexadecimal digits; empty where it has none."""
    try:
        return next(_build_ids(ELFFile(io.BytesIO(data))), "")
    except _DAMAGED:
        return ""


def _build_ids(elf: ELFFile) -> Iterator[str]:
    for section in elf.iter_sections():
        if isinstance(section, NoteSection):
            yield from (str(n["n_desc"]) for n in section.iter_notes() if n["n_type"] == "NT_GNU_BUILD_ID")


def _whole(path: str, ident: str, places: tuple[Path, ...], by_id: Mapping[str, Path]) -> bytes:
    """The same program with its symbols; empty where it is not found."""
    if not ident:
        return b""
    beside = [place / path.lstrip("/") for place in places if place.is_dir()]
    for candidate in (*([by_id[ident]] if ident in by_id else []), *beside):
        if candidate.is_file() and build_id(data := candidate.read_bytes()) == ident:
            return data
    return b""
