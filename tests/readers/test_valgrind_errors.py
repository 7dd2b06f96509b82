# SPDX-License-Identifier: Apache-2.0
"""Logs of valgrind's Memcheck, Helgrind and DRD, on their output for one program with known mistakes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.core.errors import UserError
from bootscope.readers.base import Boot, Options, Reading, Source
from bootscope.readers.formats.valgrind_errors import MAX_ROWS, READERS

from .fuzzing import FIXTURES, check, damaged, read, source, survives

FOLDER = "valgrind-errors"
(READER,) = READERS
LOGS = sorted(path.name for path in (FIXTURES / FOLDER).glob("*.txt"))
BEHIND = "Address 0x4a41050 is 0 bytes after a block of size 16 alloc'd"
INSIDE = "Address 0x4a41180 is 0 bytes inside a block of size 4"
JUMP = "Conditional jump or move depends on uninitialised value(s)"
FREE = "Invalid free() / delete / delete[] / realloc()"
RACE = "Possible data race during"
RACE_WITH = "This conflicts with a previous write of size 4 by thread #2"
Row = tuple[str | int | None, ...]


def boot_of(name: str) -> Boot:
    reading = read(READER, FOLDER, name)
    assert reading.missed == []
    return reading.boots[0]


def tables(name: str) -> dict[str, tuple[Row, ...]]:
    return {table.title: table.rows for table in boot_of(name).tables}


def of(text: str) -> Reading:
    reading = READER.read(Source("x", text.encode()), Options())
    check(reading)
    return reading


def errors(text: str) -> tuple[Row, ...]:
    return of(text).boots[0].tables[0].rows


@pytest.mark.parametrize("name", LOGS)
def test_logs_are_known_and_read_whole(name: str) -> None:
    assert READER.sure(source(FOLDER, name)) == (90 if name == "memcheck-q.txt" else 97)
    boot_of(name)


def test_memcheck() -> None:
    boot = boot_of("memcheck.txt")
    assert boot.clock.name == "none" and boot.points == []
    assert boot.facts == {
        "tool": "memcheck", "valgrind": "3.19.0", "command": "./faults",
        "errors": "8 from 5 contexts, 0 suppressed",
    }  # fmt: skip
    assert [(t.title, t.columns) for t in boot.tables] == [
        ("errors", ("pid", "error", "times", "where", "more")),
        ("leaks", ("pid", "kind", "bytes", "of them indirect", "blocks", "where")),
        ("leaks by kind", ("pid", "kind", "bytes", "blocks")),
        ("processes", ("pid", "parent", "command", "errors", "contexts", "suppressed", "allocations", "frees",
                       "bytes allocated")),
    ]  # fmt: skip
    assert tables("memcheck.txt") == {
        "errors": (
            (14891, "Invalid read of size 4", None, "read_behind (faults.c:14)", BEHIND),
            (14891, JUMP, None, "undecided (faults.c:22)", None),
            # The program's own line, not memmove, which valgrind puts in the place of the C library's.
            (14891, "Invalid write of size 8", None, "copy_behind (faults.c:30)", f"{INSIDE} alloc'd"),
            (14891, FREE, None, "copy_behind (faults.c:32)", f"{INSIDE} free'd"),
        ),
        "leaks": ((14891, "definitely lost", 1032, 1024, 1, "lose (faults.c:37)"),),
        "leaks by kind": (
            (14891, "definitely lost", 8, 1),
            (14891, "indirectly lost", 1024, 1),
            (14891, "possibly lost", 0, 0),
            (14891, "still reachable", 0, 0),
            (14891, "suppressed", 0, 0),
        ),
        "processes": ((14891, None, "./faults", 8, 5, 0, 8, 7, 5184),),
    }


def test_time_stamps_make_errors_moments() -> None:
    boot = boot_of("memcheck-time.txt")
    assert (boot.clock.name, boot.clock.zero) == ("host", "the start of the program")
    assert boot.tables[0].columns[1] == "time ms"
    assert [row[1] for row in boot.tables[0].rows] == [2618, 2632, 2633, 2633]
    assert [(p.at_ns, p.name) for p in boot.points] == [
        (2_618_000_000, "Invalid read of size 4: read_behind (faults.c:14)"),
        (2_632_000_000, f"{JUMP}: undecided (faults.c:22)"),
        (2_633_000_000, "Invalid write of size 8: copy_behind (faults.c:30)"),
        (2_633_000_000, f"{FREE}: copy_behind (faults.c:32)"),
        (2_896_000_000, "error summary: 8 errors from 5 contexts (suppressed: 0 from 0)"),
    ]
    assert tables("memcheck-time.txt")["leaks"] == (
        (15185, "indirectly lost", 1024, 0, 1, "lose (faults.c:38)"),
        (15185, "definitely lost", 1032, 1024, 1, "lose (faults.c:37)"),
    )


def test_all_figures_of_a_stamp_count() -> None:
    text = "==01:02:03:04.005 7== Invalid read of size 4\n==01:02:03:04.006 7==    at 0x1: f (a.c:1)\n"
    assert [p.at_ns for p in of(text).boots[0].points] == [((26 * 60 + 3) * 60 + 4) * 10**9 + 5_000_000]


def test_processes_are_told_apart_and_counts_belong_to_errors_told_before() -> None:
    found = tables("memcheck-fork.txt")
    assert [row[:4] for row in found["errors"]] == [
        (15624, "Invalid read of size 4", 3, "read_behind (faults.c:14)"),
        (15624, JUMP, 1, "undecided (faults.c:22)"),
        (15624, "Invalid write of size 8", 2, "copy_behind (faults.c:30)"),
        (15624, FREE, 1, "copy_behind (faults.c:32)"),
    ]
    assert [row[0] for row in found["leaks"]] == [15624, 15543]
    assert found["processes"] == (
        (15543, None, "./faults fork", 1, 1, 0, 2, 0, 1032),
        (15624, None, None, 8, 5, 0, 8, 7, 5184),
    )
    assert "errors" not in boot_of("memcheck-fork.txt").facts


def test_a_program_that_another_started_has_a_clock_of_its_own() -> None:
    reading = read(READER, FOLDER, "memcheck-exec-time.txt")
    boot = reading.boots[0]
    assert [(r.what, r.count, r.first_line) for r in reading.repairs] == [
        ("times counted from the start of another program, in the table only", 5, 6)
    ]
    assert [row[:2] for row in boot.tables[0].rows] == [(16184, at) for at in (1638, 1642, 1644, 1644)]
    assert [p.at_ns for p in boot.points] == [5_350_000_000]
    banner = "==7== Memcheck, a memory error detector\n==7== Command: {}\n==7== \n"
    both = of(banner.format("sh a") + banner.format("./a")).boots[0].tables[-1].rows
    assert [row[:3] for row in both] == [(7, None, "sh a"), (7, None, "./a")]


def test_quiet_with_suppressions_to_copy() -> None:
    found = tables("memcheck-q.txt")
    assert [row[3:] for row in found["errors"]] == [
        ("read_behind (faults.c:14)", BEHIND),
        ("undecided (faults.c:22)", "Uninitialised value was created by a heap allocation"),
        ("copy_behind (faults.c:30)", f"{INSIDE} alloc'd"),
        ("copy_behind (faults.c:32)", f"{INSIDE} free'd"),
    ]
    assert found["processes"] == ((16444, *[None] * 8),)


def test_helgrind() -> None:
    lock = 'Address 0x10c0c0 is 0 bytes inside data symbol "a"'
    wanted = (
        (f"{RACE} read of size 4 at 0x10C0A0 by thread #3", "count (faults.c:45)", RACE_WITH),
        (f"{RACE} write of size 4 at 0x10C0A0 by thread #3", "count (faults.c:45)", RACE_WITH),
        ('Thread #1: lock order "0x10C0C0 before 0x10C100" violated', "race (faults.c:59)", None),
        ("Thread #1 unlocked a not-locked lock at 0x10C0C0", "race (faults.c:64)", lock),
    )
    assert tables("helgrind.txt") == {
        "errors": tuple((17017, what, None, where, more) for what, where, more in wanted),
        "processes": ((17017, None, "./faults race", 4, 4, 0, None, None, None),),
    }
    timed = boot_of("helgrind-time.txt")
    assert timed.facts["tool"] == "helgrind"
    assert [row[1:3] for row in timed.tables[0].rows] == list(
        zip((1558, 1558, 1567, 1567), (what for what, _, _ in wanted), strict=True)
    )


def test_drd() -> None:
    assert boot_of("drd-s.txt").facts["tool"] == "drd"
    section = "Allocation context: BSS section of /tmp/demo/faults"
    unlocked = "Mutex not locked by calling thread: mutex 0x10c0c0, recursion count 0, owner 1."
    assert tables("drd-s.txt") == {
        "errors": (
            (17209, "Conflicting load by thread 3 at 0x0010c0a0 size 4", 1, "count (faults.c:45)", section),
            (17209, "Conflicting store by thread 3 at 0x0010c0a0 size 4", 1, "count (faults.c:45)", section),
            (17209, unlocked, 1, "race (faults.c:64)", None),
        ),
        "processes": ((17209, None, "./faults race", 3, 3, 6, None, None, None),),
    }


def test_what_ended_a_program_is_an_error_and_a_warning_is_none() -> None:
    found = errors(
        "==7== Warning: set address range perms: large range [0x1, 0x2) (defined)\n"
        "==7== Thread 2 worker:\n==7== Invalid write of size 1\n==7==    at 0x1: f (a.c:1)\n==7== \n==7== \n"
        "==7== Process terminating with default action of signal 11 (SIGSEGV)\n"
        "==7==  Access not within mapped region at address 0x0\n==7==    at 0x1: g (a.c:2)\n"
    )
    assert found == (
        (7, "Invalid write of size 1", None, "f (a.c:1)", None),
        (7, "Process terminating with default action of signal 11 (SIGSEGV)", None, "g (a.c:2)", None),
    )


def test_output_of_the_program_is_not_understood_and_parents_are_told() -> None:
    reading = of(
        "==7== Parent PID: 6\nhello\n==7== ERROR SUMMARY: 0 errors from 0 contexts (suppressed: 0 from 0)\n"
    )
    assert [miss.text for miss in reading.missed] == ["hello"]
    assert reading.boots[0].tables[-1].rows[0][:2] == (7, 6)


def test_texts_and_tables_are_bounded() -> None:
    long = "==7== {0}{1}\n==7==    at 0x1: {1}\n==7==  {1}\n==7== \n"
    errors = "".join(long.format(n, "x" * (5000 if n < 5 else 5)) for n in range(MAX_ROWS + 2))
    processes = "".join(f"=={n}== \n" for n in range(100, 100 + MAX_ROWS + 5))
    reading = of(errors + processes)
    rows = reading.boots[0].tables[0].rows
    assert len(rows) == MAX_ROWS and all(len(str(cell)) <= 300 for row in rows for cell in row)
    assert len(reading.boots[0].tables[-1].rows) == MAX_ROWS and len(reading.missed) == 6
    assert [(r.what, r.count) for r in reading.repairs] == [("errors not kept, behind 10,000", 2)]


@pytest.mark.parametrize("name", LOGS)
def test_a_log_cut_behind_any_line_is_read(name: str) -> None:
    lines = source(FOLDER, name).data.splitlines(keepends=True)
    for end in range(len(lines)):
        survives(READER, b"".join(lines[:end]))
        survives(READER, b"".join(lines[end:]))
        # No line needs those behind it.
        if end:
            assert READER.read(Source("x", b"".join(lines[:end])), Options()).missed == []


def test_something_else_is_refused() -> None:
    with pytest.raises(UserError, match="line 1"):
        READER.read(Source("x", b"hello\n"), Options())


def test_other_logs_with_such_marks_are_not_these() -> None:
    for text in (
        "==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x1\n    #0 0x1 in main a.c:3\n",
        "==7== Callgrind, a call-graph generating cache profiler\n==7== Command: ./a\n==7== \n",
        "==7== Massif, a heap profiler\n==7== Command: ./a\n",
        "[    0.000000] Linux version 6.1\n" * 9 + "==7== Memcheck, a memory error detector\n",
        "==7== \n==7== \n",
        "",
    ):
        assert READER.sure(Source("x", text.encode())) == 0


ALL = b"".join(source(FOLDER, name).data for name in LOGS)


@settings(max_examples=60, deadline=None)
@given(st.one_of(damaged(ALL), st.binary(max_size=200)))
def test_damage_is_survived(data: bytes) -> None:
    survives(READER, data)
