# SPDX-License-Identifier: Apache-2.0
"""strace and ltrace, on output of both."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.core.errors import UserError
from bootscope.readers.base import Boot, Options, Reading, Source
from bootscope.readers.formats.strace import READERS
from bootscope.timeline.trace import Span

from .fuzzing import FIXTURES, damaged, read, source, survives

STRACE, LTRACE = READERS
STRACE_FILES = sorted(path.name for path in (FIXTURES / "strace").glob("*.txt"))
LTRACE_FILES = sorted(path.name for path in (FIXTURES / "ltrace").glob("*.txt"))


def only(reading: Reading) -> Boot:
    assert len(reading.boots) == 1
    return reading.boots[0]


def spans(boot: Boot, ident: str) -> tuple[Span, ...]:
    return next(track.spans for track in boot.tracks if track.ident == ident)


@pytest.mark.parametrize("name", STRACE_FILES)
def test_strace_is_told_from_ltrace(name: str) -> None:
    assert STRACE.sure(source("strace", name)) >= 90
    assert LTRACE.sure(source("strace", name)) <= 40


@pytest.mark.parametrize("name", LTRACE_FILES)
def test_ltrace_is_told_from_strace(name: str) -> None:
    assert LTRACE.sure(source("ltrace", name)) >= 90
    assert STRACE.sure(source("ltrace", name)) <= 40


@pytest.mark.parametrize(
    ("folder", "name"), [("strace", n) for n in STRACE_FILES] + [("ltrace", n) for n in LTRACE_FILES]
)
def test_all_lines_but_the_shells_own_are_understood(folder: str, name: str) -> None:
    reader = STRACE if folder == "strace" else LTRACE
    assert [miss.text for miss in read(reader, folder, name).missed] in ([], ["Terminated"])


def test_processes_have_their_programs_parents_and_ends() -> None:
    boot = only(read(STRACE, "strace", "f-ttt-T.txt"))
    assert boot.clock.name == "wall" and boot.clock.resolution_ns == 1_000
    lives = {t.spans[-1].name: t for t in boot.tracks if t.kind == "process"}
    assert {
        "./start.sh",
        "mkdir -p out",
        "seq 1 2000",
        "sort -r",
        "grep -c 7 out/list.1",
        "rm -r out",
    } <= set(lives)
    shell, folder = lives["./start.sh"], lives["mkdir -p out"]
    assert folder.parent == shell.ident
    assert [span.name for span in folder.spans] == ["./start.sh (forked)", "mkdir -p out"]
    assert shell.spans[-1].detail["ended"] == "exited with 3"
    killed = [t for t in lives.values() if t.spans[-1].detail["ended"] == "killed by SIGTERM"]
    assert len(killed) == 1


def test_lengths_come_from_the_file_also_of_calls_cut_in_two() -> None:
    reading = STRACE.read(
        Source(
            "x",
            b"7 100000000.000100 read(3,  <unfinished ...>\n"
            b"8 100000000.000200 close(3) = 0 <0.000005>\n"
            b'7 100000000.000900 <... read resumed>"x", 1) = 1 <0.000795>\n',
        ),
        Options(),
    )
    boot = only(reading)
    assert spans(boot, "calls-process-7") == (
        Span(100000000000100000, 100000000000895000, "read", {"call": 'read(3, "x", 1) = 1'}),
    )
    assert spans(boot, "calls-process-8")[0].duration_ns == 5_000


def test_stamps_from_line_to_line_add_up() -> None:
    boot = only(
        STRACE.read(
            Source(
                "x",
                b'9      0.000000 execve("/bin/true", ["true"], 0x7ffc /* 1 var */) = 0\n'
                b"9      0.250000 brk(NULL) = 0x1\n"
                b"9      0.500000 exit_group(0) = ?\n"
                b"9      0.000001 +++ exited with 0 +++\n",
            ),
            Options(),
        )
    )
    assert [(s.start_ns, s.end_ns, s.name) for s in spans(boot, "process-9")] == [(0, 750_001_000, "true")]


def test_calls_without_a_length_are_lines_and_the_reader_says_what_would_help() -> None:
    reading = read(STRACE, "strace", "ff-ttt.txt")
    assert len(only(reading).log) == reading.lines_understood - 1  # all but the exit
    assert "strace with -T" in reading.questions[0]


def test_a_message_of_strace_in_the_middle_of_a_line_is_taken_out() -> None:
    reading = read(STRACE, "strace", "f-tt-stderr.txt")
    assert reading.repairs[0].what.startswith("a line that strace cut in two")
    boot = only(reading)
    roots = [t for t in boot.tracks if t.kind == "process" and not t.parent]
    assert [t.spans[0].name for t in roots] == ["./start.sh"]


def test_midnight_is_passed() -> None:
    boot = only(
        STRACE.read(Source("x", b"23:59:59.900000 close(1) = 0\n00:00:00.100000 close(2) = 0\n"), Options())
    )
    assert boot.log.at_ns[1] - boot.log.at_ns[0] == 200_000_000


def test_a_clock_that_goes_back_is_told() -> None:
    text = b"100000005.000000 close(1) = 0\n100000004.000000 close(2) = 0\n"
    reading = STRACE.read(Source("x", text), Options())
    assert [(r.what, r.count, r.first_line) for r in reading.repairs] == [("the clock went back", 1, 2)]


def test_tables_of_c_are_in_nanoseconds() -> None:
    table = only(read(STRACE, "strace", "c-U.txt")).tables[0]
    assert table.columns == ("syscall", "% time", "calls", "per call ns", "time ns", "longest ns")
    by_name = {row[0]: row for row in table.rows}
    assert by_name["mmap"][2] == 8 and "total" not in by_name
    table = only(read(STRACE, "strace", "c-f.txt")).tables[0]
    wait = next(row for row in table.rows if row[-1] == "wait4")
    assert table.columns[1:] == ("time ns", "per call ns", "calls", "errors", "syscall")
    assert wait[3:] == (20, 6, "wait4")
    assert next(row for row in table.rows if row[-1] == "vfork")[4] is None


def test_lines_and_a_table_in_one_file() -> None:
    boot = only(read(STRACE, "strace", "C-f-ttt.txt"))
    assert boot.tracks and [t.title for t in boot.tables] == [
        "system calls in total",
        "system calls that are in the file one by one",
    ]


def test_library_calls_enclose_the_system_calls_they_make() -> None:
    boot = only(read(LTRACE, "ltrace", "f-S-ttt.txt"))
    calls = next(t for t in boot.tracks if t.kind == "function")
    printf = next(s for s in calls.spans if s.name == "printf")
    assert printf.duration_ns > 0
    table = only(read(LTRACE, "ltrace", "c.txt")).tables[0]
    assert table.rows[0][-2:] == (4, "malloc") and len(table.rows) == 5


def test_something_else_is_refused_with_its_first_line() -> None:
    with pytest.raises(UserError, match="line 1"):
        STRACE.read(Source("x", b"U-Boot SPL 2025.01\nDRAM: 1024 MiB\n"), Options())
    with pytest.raises(UserError, match="empty"):
        STRACE.read(Source("x", b""), Options())


LARGE = source("strace", "f-tt-stderr.txt").data + source("strace", "c-f.txt").data


@settings(max_examples=100, deadline=None)
@given(st.one_of(damaged(LARGE), st.binary(max_size=300)))
def test_damage_is_survived(data: bytes) -> None:
    survives(STRACE, data)
    survives(LTRACE, data)
