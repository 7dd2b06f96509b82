# SPDX-License-Identifier: Apache-2.0
"""Bytes of the programs that boot, the largest first: by section, folder, object file and symbol.

Sizes are those of the linked program, before it is compressed.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from bootscope.analysis.evidence import Evidence
from bootscope.analysis.rows import Cell, Column, Rows
from bootscope.builder.linkmap import Objects, read
from bootscope.capture import objects
from bootscope.capture.objects import Program
from bootscope.core.errors import UserError
from bootscope.image.sizes import Sized, sizes

_CLEARED = "only in memory"
_SIZE = (Column("size_bytes", "bytes", "bytes"), Column("share_ppm", "share", "share"))
_WHAT = (Column("program", "program", "text"), Column("what", "what", "text"))
_SYMBOL = (
    Column("kind", "kind", "text"),
    Column("section", "section", "text"),
    Column("file", "file", "text"),
)
_ORDER = "largest first"
_NOTE = "Bytes in the program as it is linked, not compressed; what is only cleared memory is said to be so."


@dataclass(frozen=True)
class _Measured:
    """A program: its sections and symbols, and the object files that it was linked from."""

    program: str
    sections: list[Sized]
    symbols: list[Sized]
    linked: Objects


def view(evidence: Evidence) -> tuple[Rows, ...]:
    """The tables. Raises UserError if the recording kept no program."""
    found = list(_measured(evidence))
    if not found:
        raise UserError(
            f"run {evidence.run.run_id} keeps no program with symbols",
            hint="record a system that bootscope builds, or an image whose kernel has a vmlinux beside it",
        )
    parts = (
        ("sections", "Sections", _WHAT, (_section(m, s) for m in found for s in m.sections)),
        ("folders", "Folders of the sources", _WHAT, _summed(found, folder=True)),
        ("files", "Object files", _WHAT, _summed(found, folder=False)),
        ("symbols", "Symbols", (*_WHAT, *_SYMBOL), (_symbol(m, s) for m in found for s in m.symbols)),
    )
    return tuple(
        Rows(
            f"sizes-{name}", title, (*columns, *_SIZE), _ranked(rows), _ORDER, (_NOTE,) * (name == "sections")
        )
        for name, title, columns, rows in parts
    )


def _measured(evidence: Evidence) -> Iterator[_Measured]:
    loader = evidence.run.board.boot_loader
    kept = [("kernel", objects.KERNEL, objects.KERNEL_OBJECTS)]
    for program in loader.programs:
        # The link map is that of the last of the programs.
        kept.append((program.title, program.code, loader.objects if program is loader.main else ""))
    for title, name, linked in kept:
        if data := evidence.load(name):
            text = evidence.load(linked).decode("utf-8", "replace") if linked else ""
            yield _Measured(title, *sizes(data), Objects(read(text)))
    yield from _application(evidence)


def _application(evidence: Evidence) -> Iterator[_Measured]:
    """The application, of which only the functions are kept."""
    process, kept = evidence.run.system.application, evidence.load(objects.PROGRAMS)
    programs = msgspec.json.decode(kept, type=dict[str, Program]) if kept else {}
    for path, program in programs.items():
        if process and posixpath.basename(path) == process:
            functions = [Sized(n, a, s, True, "", "code") for a, s, n in program.functions if s]
            yield _Measured(path, [], functions, Objects(()))


def _section(measured: _Measured, section: Sized) -> dict[str, Cell]:
    name = section.name if section.in_image else f"{section.name} ({_CLEARED})"
    return {"program": measured.program, "what": name, "size_bytes": section.size_bytes}


def _symbol(measured: _Measured, symbol: Sized) -> dict[str, Cell]:
    piece = measured.linked.at(symbol.address)
    return {
        "program": measured.program,
        "what": symbol.name,
        "kind": symbol.kind if symbol.in_image else _CLEARED,
        "section": symbol.section,
        "file": piece.object if piece else None,
        "size_bytes": symbol.size_bytes,
    }


def _summed(found: Iterable[_Measured], *, folder: bool) -> Iterator[dict[str, Cell]]:
    """Bytes in the image of each object file, or of each folder."""
    for measured in found:
        cleared = {s.name for s in measured.sections if not s.in_image}
        total = Counter[str]()
        for piece in measured.linked.pieces:
            if not piece.section.startswith((".bss", "COMMON", ".sbss")) and piece.section not in cleared:
                total[posixpath.dirname(piece.object) or "." if folder else piece.object] += piece.size
        for name, size in total.items():
            yield {"program": measured.program, "what": name, "size_bytes": size}


def _ranked(rows: Iterable[dict[str, Cell]]) -> tuple[Mapping[str, Cell], ...]:
    """The largest first; shares are of the same program's rows."""
    found, whole = list(rows), Counter[str]()
    for row in found:
        whole[str(row["program"])] += int(row["size_bytes"] or 0)
    for row in found:
        row["share_ppm"] = int(row["size_bytes"] or 0) * 1_000_000 // (whole[str(row["program"])] or 1)
    found.sort(key=lambda row: (-int(row["size_bytes"] or 0), str(row["program"]), str(row["what"])))
    return tuple(found)
