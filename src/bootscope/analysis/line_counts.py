# SPDX-License-Identifier: Apache-2.0
"""How often each source line ran in a boot: counts of blocks of instructions, mapped by line tables.

A block that was begun ran to its end unless an exception ended it early, and an instruction that accesses a
device may be counted twice, as QEMU executes it separately. So a count is an upper bound; 0 is exact.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, islice

import msgspec

from bootscope.analysis.evidence import Evidence
from bootscope.analysis.used_code import of_kernel, of_program, virtual_ns
from bootscope.capture import objects
from bootscope.capture.objects import Program
from bootscope.capture.usage import Block, Usage
from bootscope.core.errors import UserError
from bootscope.image.code import Code
from bootscope.image.line_table import Row, rows
from bootscope.loaders.model import Hooked
from bootscope.loaders.model import Program as LoaderProgram

_INSN_BYTES, _LONGEST_INSN_BYTES = 4, 16
Placed = Iterable[tuple[int, Block]]
"""Blocks, each with the address at which its code was linked."""


@dataclass(frozen=True)
class SourceFile:
    """A source file: line -> how often it ran; and (line, function, how often it was entered)."""

    path: str
    lines: Mapping[int, int]
    functions: tuple[tuple[int, str, int], ...]


def line_counts(evidence: Evidence, usage: Usage, data: bytes) -> tuple[str, tuple[SourceFile, ...]]:
    """(the program, its files by path) for a program with debug information, `data`, that ran in a boot.

    Raises UserError if no program of the boot matches, or it has no debug information.
    """
    code = Code(data)
    name, placed = _found(evidence, usage, code)
    return name, files_of(data, placed)


def files_of(data: bytes, placed: Placed) -> tuple[SourceFile, ...]:
    """The source files of a program with debug information, with counts: a line counts as often as its most
    frequent statement. Raises UserError if it has no debug information."""
    code = Code(data)
    counts, names = _executed(code, placed), {f.address: f.name for f in code.functions}
    return tuple(
        _file(path, found, counts, names) for path, found in groupby(rows(data), key=lambda row: row.file)
    )


def _found(evidence: Evidence, usage: Usage, code: Code) -> tuple[str, Placed]:
    """The program of the boot that it is, and its blocks."""
    if same_code(code, evidence.program(objects.KERNEL)):
        return "kernel", of_kernel(evidence, usage)
    for program in evidence.run.board.boot_loader.programs:
        if same_code(code, evidence.program(program.code)):
            return program.title, _of_loader(evidence, usage, program, code)
    for path, known in _programs(evidence).items():
        if known.functions and _functions(code) == known.functions:
            return path, of_program(evidence, usage, path, known)
    raise UserError(
        "its code is that of no program in this boot",
        hint="give the unstripped file of the very build that was recorded",
    )


def _programs(evidence: Evidence) -> Mapping[str, Program]:
    kept = evidence.load(objects.PROGRAMS)
    return msgspec.json.decode(kept, type=dict[str, Program]) if kept else {}


def _functions(code: Code) -> list[tuple[int, int, str]]:
    return sorted({(f.address, f.size, f.name) for f in code.functions})


def same_code(one: Code, other: Code | None) -> bool:
    """Whether all functions of a program are at the same addresses in another, with the same bytes."""
    if other is None or not one.functions or _functions(one) != _functions(other):
        return False
    return all(one.read(f.address, f.size) == other.read(f.address, f.size) for f in one.functions)


def _executed(code: Code, placed: Placed) -> dict[int, int]:
    """How often, at most, the instruction at each address ran; those that never did are left out."""
    counts: dict[int, int] = {}
    reader, spans = _reader(code), dict[tuple[int, int], tuple[int, ...]]()
    for address, block in placed:
        key = address, block.instructions
        if key not in spans:
            spans[key] = tuple(reader(*key))
        times = sum(block.counts)
        for at in spans[key] if times else ():
            counts[at] = counts.get(at, 0) + times
    return counts


def _reader(code: Code) -> Callable[[int, int], Iterator[int]]:
    """Gives the addresses of a number of instructions from an address on."""
    instructions = code.arch.load_instructions()
    functions = [f for f in code.functions if f.size]
    starts = [f.address for f in functions]

    def read(address: int, number: int) -> Iterator[int]:
        inside = functions[max(0, bisect_right(starts, address) - 1)] if functions else None
        while number:
            # An instruction cut off at the end is read the next time.
            data = code.read(address, number * _INSN_BYTES + _LONGEST_INSN_BYTES)
            found = instructions.decode(data, address, bool(inside and inside.alternate))
            taken = list(islice(found, number))
            if not taken:
                return
            yield from (insn.address for insn in taken)
            number -= len(taken)
            address = taken[-1].address + taken[-1].size

    return read


def _file(path: str, found: Iterable[Row], counts: Mapping[int, int], names: Mapping[int, str]) -> SourceFile:
    lines, entered = dict[int, int](), dict[str, tuple[int, str, int]]()
    for row in found:
        times = counts.get(row.address, 0)
        lines[row.line] = max(lines.get(row.line, 0), times)
        if name := names.get(row.address):
            entered.setdefault(name, (row.line, name, times))
    return SourceFile(path, lines, tuple(sorted(entered.values())))


def _of_loader(evidence: Evidence, usage: Usage, program: LoaderProgram, code: Code) -> Placed:
    """A boot loader's program runs from its start until that of the next one, at its link address until it
    relocates."""
    programs = evidence.run.board.boot_loader.programs
    later = programs[programs.index(program) + 1 :]
    starts, ends = virtual_ns(evidence, program.hook(Hooked.START)), [virtual_ns(evidence, "kernel.start")]
    ends += [virtual_ns(evidence, p.hook(Hooked.START)) for p in later]
    low, high = code.extent()
    offset = evidence.timeline.loader_offset if program.moves else 0
    for block in usage.blocks:
        if starts <= block.first_ns < min(ends):
            for moved in dict.fromkeys((offset, 0)):
                if low <= block.address - moved < high:
                    yield block.address - moved, block
                    break
