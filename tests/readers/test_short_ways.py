# SPDX-License-Identifier: Apache-2.0
"""The short ways by which usual lines of long traces are read give what a close look at every line gives."""

from __future__ import annotations

import gzip
from array import array
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.readers import stamp_forms
from bootscope.readers.base import Boot, Options
from bootscope.readers.calls import CallTrace
from bootscope.readers.formats.babeltrace import BabeltraceText
from bootscope.readers.formats.ftrace import FtraceText
from bootscope.readers.journal_order import Written
from bootscope.readers.lines import Lines, split
from bootscope.readers.stamp_forms import Columns, Form, clock_of
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


def babeltrace(data: bytes, closely: bool) -> object:
    tally = Tally()
    trace = BabeltraceText(tally)
    lines = split(data)
    by_line(trace.take, lines) if closely else trace.read(lines)
    return told(tally, [trace.finish()])


FILES = [
    pytest.param(read, path, id=f"{folder}/{path.name}")
    for folder, read in (("strace", calls), ("ltrace", calls), ("ftrace", ftrace), ("babeltrace", babeltrace))
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


CYCLES = gzip.decompress((FIXTURES / "babeltrace" / "cycles.txt.gz").read_bytes())
EVENT = b"[00000000000000000%d] (+????????????) board sched:sched_wakeup: { cpu_id = 0 }, { %b }\n"
EVENTS = (
    b"[99999999999999999999] (+1.5) a: { cpu_id = 0 }\n[99999999999.999999999] a: { cpu_id = 0 }\n"
    b"[12.000000001] board my_app:ready: { cpu_id = 0 }, { frame = 3 }\n[1234567890.123456789] b a: {\n"
    b"[23:59:59.999999000] a:b: { cpu_id = 0 }, { }\n[00:00:00.000001000] a:b: { cpu_id = 0 }, { }\n"
    + b"".join(EVENT % (100 + n, b'comm = "k\\"w", pid = %d, tid = -1' % n) for n in range(3))
    + EVENT % (104, b'comm = "\xc3\xa9", pid = 1')
    + EVENT % (105, b"pid = 0xff")
    + EVENT % (106, b"comm = ( x : container = 3 ), pid = 12a")
    + b"no event\n\n \n[0000000000000000001] a: { }\n[1.000000001] a\x1cb c: { }\n"
)


def test_a_trace_in_cycles() -> None:
    assert babeltrace(CYCLES, False) == babeltrace(CYCLES, True)


def test_odd_events() -> None:
    lines = EVENTS.splitlines(keepends=True)
    for line in [*lines, *(a + b for a, b in pairwise(lines)), EVENTS]:
        assert babeltrace(line, False) == babeltrace(line, True)


@settings(max_examples=150, deadline=None)
@given(damaged(EVENTS + CYCLES[:12_000]))
def test_damaged_events(data: bytes) -> None:
    assert babeltrace(data, False) == babeltrace(data, True)


WORDS = (
    *(b"calling  a+0x0/0x1 @ 1", b"[T1] initcall a returned 0 after 3 usecs", b"Linux version 6.1"),
    *(
        b"U-Boot SPL 2025",
        b"<3>x",
        b"[    1.500000] y",
        b"",
        b" ",
        b"usb 1-1: new",
        b"\xc3\xa9",
        b"[   ",
        b"c1 12 z",
    ),
)
LINE = st.lists(st.sampled_from(WORDS), max_size=3).map(b"".join)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10**14), st.sampled_from(["", "<0>", "<7>"]), LINE), max_size=12))
def test_times_that_are_told_are_those_of_stamps_before_the_lines(rows: list[tuple[int, str, bytes]]) -> None:
    text = b"".join(line + b"\n" for _, _, line in rows)
    written = Written(text, array("q", [us for us, _, _ in rows]), [level for _, level, _ in rows])
    columns = stamp_forms.at_kernel_times(Lines(text), written.at_us, written.levels)
    assert described(columns) == described(stamp_forms.read(Lines(written.stamped()), stamp_forms.PRINTK))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10**14), LINE), max_size=12))
def test_times_of_a_host_are_those_of_its_stamps_before_the_lines(rows: list[tuple[int, bytes]]) -> None:
    text = b"".join(line + b"\n" for _, line in rows)
    stamped = b"".join(b"%d.%06d %b\n" % (us // 10**6, us % 10**6, line) for us, line in rows)
    form = Form("host", rb"(\d{1,9})\.(\d{6}) ", clock_of("host", "power on", 6))
    columns = stamp_forms.at_host_times(Lines(text), array("q", [us * 1000 for us, _ in rows]))
    assert described(columns) == described(stamp_forms.read(Lines(stamped), form))


def described(columns: Columns) -> object:
    """All that columns say; places in the text by what stands there."""
    blob = columns.blob
    texts = [blob[a:b] for a, b in zip(columns.starts, columns.ends, strict=True)]
    words = [(i, blob[at : columns.ends[i]]) for i, at in zip(columns.notable, columns.words, strict=True)]
    return texts, words, columns.at_ns, columns.kernel_ns, columns.level, columns.own
