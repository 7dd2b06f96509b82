# SPDX-License-Identifier: Apache-2.0
"""The short ways by which usual lines of long traces are read give what a close look at every line gives."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.readers.base import Boot, Options
from bootscope.readers.calls import CallTrace
from bootscope.readers.formats.ftrace import FtraceText
from bootscope.readers.lines import Lines, split
from bootscope.readers.tally import Tally

from .fuzzing import FIXTURES, damaged

Read = Callable[[bytes, bool], object]


def told(tally: Tally, boots: list[Boot]) -> object:
    """All that a reading tells, comparable; texts of lines come from columns that differ in layout."""
    reading = tally.reading(boots)
    parts = [(b.clock, list(b.log), b.tracks, b.points, b.stacks, b.tables, b.facts) for b in boots]
    counts = (reading.lines_total, reading.lines_understood, reading.lines_empty)
    return counts, reading.missed, reading.repairs, reading.questions, parts


def by_line(take: Callable[[int, str], None], lines: Lines) -> None:
    for number, line in enumerate(lines, 1):
        take(number, line)


def calls(data: bytes, closely: bool) -> object:
    tally = Tally()
    trace = CallTrace(tally, "system calls")
    lines = split(data)
    by_line(trace.take, lines) if closely else trace.read(lines)
    return told(tally, [trace.finish()])


def ftrace(data: bytes, closely: bool) -> object:
    tally = Tally()
    trace = FtraceText(tally, Options())
    lines = split(data)
    by_line(trace.take, lines) if closely else trace.read(lines)
    trace.finish()
    return told(tally, trace.boots)


FILES = [
    pytest.param(read, path, id=f"{folder}/{path.name}")
    for folder, read in (("strace", calls), ("ltrace", calls), ("ftrace", ftrace))
    for path in sorted((FIXTURES / folder).glob("*.txt"))
]


@pytest.mark.parametrize(("read", "path"), FILES)
def test_fixtures(read: Read, path: Path) -> None:
    data = path.read_bytes()
    assert read(data, False) == read(data, True)


ODD = (
    b'7 100000000.000100 read(3,  <unfinished ...>\n7 100000000.000900 <... read resumed>"x", 1) = 1 <0.1>\n'
    b'7 100000000.001000 write(1, "\xc3\xa9") = 1 <0.000100>\n7 100000000.001000 f(<unfinished ...>) = 0\n'
    b"7 100000000.001100 poll([{fd=3}], 1) = 1 ([{fd=3, revents=POLLIN}]) <0.000005>\n"
    b'7 100000000.001200 write(1, ") = 1strace: Process 8 attached\n"a", 1) = 1 <0.000004>\n'
    b"7 100000000.001300 foo(<unfinished ...>\n7 100000000.001250 exit(1) = ?\n"
    b"[pid 8] 100000000.001400 clone() = 9 <0.000004>\n[pid 9] 5.001400 getpid() = 9 <0.000004>\n"
    b"7<a 100000000.001500 +++ exited with 0 +++\n7<a> 100000000.001600 close(1) = 0\n"
    b" <== |\n   a-1     [000] .....     0.000001: sched:sched_switch: x\n"
    b"           a=b-1     [000] .....     0.000002: f: x\n"
    b"           a-1     [000] .....     0.000002: f <-g\n"
    b"           a-1     [000] .....     0.000003: a:b:x\n   2.868493 |   0)   a-1    |   1.5 us |  f();\n"
    b"   2.868494 |   0)   a-1    |       |  f();\n   2.868495 |   0)   a-1    | + 1.5.2 us |  }\n"
    b"           a-1     [000] .....     3.000003: funcgraph_entry: + 1.000 us | f();\n ------------------ \n"
)


def heads(*folders: str) -> bytes:
    """The beginnings of all fixtures, after what is odd."""
    paths = [path for folder in folders for path in sorted((FIXTURES / folder).glob("*.txt"))]
    return ODD + b"".join(path.read_bytes()[:12_000] for path in paths)


@pytest.mark.parametrize("read", [calls, ftrace])
def test_odd_lines(read: Read) -> None:
    assert read(ODD, False) == read(ODD, True)
    lines = ODD.splitlines(keepends=True)
    for line in lines + [a + b for a, b in pairwise(lines)]:
        assert read(line, False) == read(line, True)


@settings(max_examples=150, deadline=None)
@given(damaged(heads("strace", "ltrace")))
def test_damaged_calls(data: bytes) -> None:
    assert calls(data, False) == calls(data, True)


@settings(max_examples=150, deadline=None)
@given(st.one_of(damaged(heads("ftrace")), damaged(ODD)))
def test_damaged_ftrace(data: bytes) -> None:
    assert ftrace(data, False) == ftrace(data, True)
