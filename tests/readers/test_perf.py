# SPDX-License-Identifier: Apache-2.0
"""perf script and perf report, on their output."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.core.errors import UserError
from bootscope.readers.base import Boot, Options, Source
from bootscope.readers.formats.perf import READERS

from .fuzzing import FIXTURES, check, damaged, read, source, survives

SCRIPT, REPORT = READERS
FILES = sorted(path.name for path in (FIXTURES / "perf").glob("*.txt"))


def reader_of(name: str):  # type: ignore[no-untyped-def]
    return SCRIPT if name.startswith("script") else REPORT


def boot_of(name: str) -> Boot:
    reading = read(reader_of(name), "perf", name)
    assert len(reading.boots) == 1
    return reading.boots[0]


@pytest.mark.parametrize("name", FILES)
def test_every_line_is_understood(name: str) -> None:
    assert reader_of(name).sure(source("perf", name)) >= 90
    other = REPORT if reader_of(name) is SCRIPT else SCRIPT
    assert other.sure(source("perf", name)) == 0
    assert read(reader_of(name), "perf", name).missed == []


def test_samples_become_stacks_with_the_time_they_count() -> None:
    boot = boot_of("script-g.txt")
    # 109 samples of 500,000 ns each
    assert sum(stack.ns for stack in boot.stacks) == 109 * 500_000
    path = ("work", "__libc_start_call_main", "main", "mix")
    assert next(s.ns for s in boot.stacks if s.frames == path) == 84 * 500_000
    assert boot.tables[0].rows[0] == ("mix", "/tmp/demo/work", 84, 42_000_000, 43_000_000)


def test_recursion_counts_once_in_the_total() -> None:
    row = next(row for row in boot_of("script-g.txt").tables[0].rows if row[0] == "fibonacci")
    assert row[2:] == (4, 2_000_000, 2_000_000)


def test_samples_without_a_period_stand_for_the_gap_between_them() -> None:
    boot = boot_of("script-fields.txt")
    assert boot.facts["time of a sample"].startswith("499956 ns")
    assert sum(stack.ns for stack in boot.stacks) == 109 * 499_956


def test_cycles_are_not_taken_for_time() -> None:
    data = b"".join(
        b"app 7 [000] 1.%03d000:  999999 cycles:u:  ffff main+0x1 (/app)\n" % ms for ms in range(5)
    )
    boot = SCRIPT.read(Source("x", data), Options()).boots[0]
    assert [(s.frames, s.ns) for s in boot.stacks] == [(("app", "main"), 5_000_000)]


def test_samples_without_stacks() -> None:
    boot = boot_of("script-flat.txt")
    assert sum(stack.ns for stack in boot.stacks) == 42 * 250_000
    assert all(len(stack.frames) == 2 for stack in boot.stacks)


def test_events_become_processes() -> None:
    boot = boot_of("script-events.txt")
    lives = {t.spans[-1].name: t for t in boot.tracks if t.kind == "process"}
    assert lives["/usr/bin/mkdir"].parent == lives["./start.sh"].ident
    assert lives["/usr/bin/mkdir"].spans[-1].duration_ns == 15487_496_694_000 - 15487_492_895_000
    assert boot.stacks == []


def test_reports_are_tables_with_times_where_the_event_counts_time() -> None:
    table = boot_of("report-self.txt").tables[0]
    assert table.columns == ("Overhead", "Command", "Shared Object", "Symbol", "Overhead ns")
    assert table.rows[0] == ("77.06%", "work", "work", "[.] mix", 54_500_000 * 7706 // 10_000)
    table = boot_of("report-symbol-n.txt").tables[0]
    assert dict(zip(table.columns, table.rows[2], strict=True)) == {
        "Children": "78.90%", "Self": "77.06%", "Samples": 84, "Symbol": "[.] mix",
        "IPC   [IPC Coverage]": "-      -", "Children ns": 43_000_500, "Self ns": 41_997_700,
    }  # fmt: skip


def test_drawn_call_graphs_are_told_and_not_read() -> None:
    reading = read(REPORT, "perf", "report-g.txt")
    assert "perf script" in reading.questions[0]
    assert reading.boots[0].facts["lines of call graphs, not read"] == "630"


def test_something_else_is_refused() -> None:
    for reader in READERS:
        with pytest.raises(UserError, match="line 1"):
            reader.read(Source("x", b"hello world\n"), Options())


TEXT = b"".join(source("perf", name).data[:6000] for name in FILES)


@settings(max_examples=80, deadline=None)
@given(st.one_of(damaged(TEXT), st.binary(max_size=300)))
def test_damage_is_survived(data: bytes) -> None:
    survives(SCRIPT, data)
    survives(REPORT, data)


def test_a_reading_holds_what_every_reading_holds() -> None:
    check(SCRIPT.read(Source("x", b"a 1 1.000000: sched:x: y\n" * 3), Options()))
