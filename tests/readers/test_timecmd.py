# SPDX-License-Identifier: Apache-2.0
"""`time` of shells and tools, on their output."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.core.errors import UserError
from bootscope.readers.base import Options, Source
from bootscope.readers.formats.timecmd import READERS

from .fuzzing import FIXTURES, damaged, read, source, survives

(TIME,) = READERS
FILES = sorted(path.name for path in (FIXTURES / "time").glob("*.txt"))
MS = 1_000_000

Row = tuple[str | int | None, ...]


def rows(data: bytes) -> tuple[Row, ...]:
    return TIME.read(Source("x", data), Options()).boots[0].tables[0].rows


@pytest.mark.parametrize("name", FILES)
def test_only_lines_of_the_programs_are_not_understood(name: str) -> None:
    assert TIME.sure(source("time", name)) >= 60
    assert [m.text for m in read(TIME, "time", name).missed] in ([], ["Terminated"], ["3819345984"])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bash.txt", (1, None, 1099 * MS, 240 * MS, 34 * MS, None)),
        ("bash-p.txt", (1, None, 750 * MS, 240 * MS, 30 * MS, None)),
        ("gnu.txt", (1, None, 260 * MS, 10 * MS, 0, "exited with non-zero status 3")),
        ("gnu-v.txt", (1, "./start.sh", 240 * MS, 10 * MS, 0, "exited with 3")),
        ("busybox.txt", (1, None, 220 * MS, 10 * MS, 0, "exited with non-zero status 3")),
        ("busybox-v.txt", (1, "./start.sh", 250 * MS, 10 * MS, 0, "exited with 3")),
        ("busybox-sh.txt", (1, None, 710 * MS, 230 * MS, 30 * MS, None)),
        ("zsh.txt", (1, "./start.sh > /dev/null", 250 * MS, 10 * MS, 10 * MS, None)),
        ("tcsh.txt", (1, None, 240 * MS, 9 * MS, 10 * MS, None)),
    ],
)
def test_times(name: str, expected: Row) -> None:
    assert read(TIME, "time", name).boots[0].tables[0].rows == (expected,)


def test_two_runs_in_one_file() -> None:
    found = read(TIME, "time", "two-runs.txt").boots[0].tables[0].rows
    assert [row[2] for row in found] == [1021 * MS, 138 * MS]


def test_hours_and_minutes() -> None:
    assert rows(b"real\t1m2.500s\nuser\t0m0,250s\nsys\t0m0.000s\n")[0][2:5] == (62_500 * MS, 250 * MS, 0)
    assert rows(b"real\t1h 2m 03s\nuser\t0m 0.00s\nsys\t0m 0.00s\n")[0][2] == 3_723_000 * MS
    gnu = b"0.01user 0.00system 1:02:03elapsed 6%CPU (0avgtext+0avgdata 2076maxresident)k\n"
    assert rows(gnu)[0][2] == 3_723_000 * MS


def test_further_figures_are_kept() -> None:
    figures = read(TIME, "time", "gnu-v.txt").boots[0].tables[1].rows
    assert len(figures) == 18 and (1, "Swaps", 0) in figures


def test_something_else_is_refused() -> None:
    with pytest.raises(UserError, match="line 1"):
        TIME.read(Source("x", b"hello\n"), Options())


ALL = b"".join(source("time", name).data for name in FILES)


@settings(max_examples=80, deadline=None)
@given(st.one_of(damaged(ALL), st.binary(max_size=200)))
def test_damage_is_survived(data: bytes) -> None:
    survives(TIME, data)
