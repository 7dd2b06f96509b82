# SPDX-License-Identifier: Apache-2.0
"""Own times of spans, and processes by their CPU time, as imported logs tell them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bootscope.analysis.nesting import nested
from bootscope.analysis.process_rows import view
from bootscope.analysis.trace_rows import rows_of_trace
from bootscope.timeline.trace import Span, Trace, Track

MS = 1_000_000


def own(*tracks: Track) -> dict[str, int]:
    return {found.span.name: found.own_ns for found in nested(tracks)}


def test_a_probe_is_taken_off_the_initcall_that_it_lies_in() -> None:
    calls = Track("i", "initcall", "Initcalls", (Span(0, 100, "a_init"), Span(100, 300, "b_init")))
    probes = Track(
        "p", "probe", "Driver probes", (Span(10, 60, "x"), Span(120, 150, "y"), Span(290, 340, "z"))
    )
    # What ends after the initcall ran beside it.
    assert own(calls, probes) == {"a_init": 50, "b_init": 170, "x": 50, "y": 30, "z": 50}


def test_probes_that_ran_beside_each_other_are_taken_off_once() -> None:
    calls = Track("i", "initcall", "Initcalls", (Span(0, 100, "a_init"),))
    spans = (Span(10, 60, "x"), Span(20, 80, "y"))
    assert own(calls, Track("p", "probe", "Driver probes", spans, overlaps=True))["a_init"] == 30


def test_initcalls_of_another_process_keep_their_time() -> None:
    main = Track("i", "initcall", "Initcalls", (Span(0, 100, "a_init"),))
    other = Track("j", "initcall", "Initcalls of process 44", (Span(10, 50, "async_init"),))
    probes = Track("p", "probe", "Driver probes", (Span(20, 30, "x"),))
    assert own(main, other, probes) == {"a_init": 90, "async_init": 40, "x": 10}


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=40))
def test_own_times_are_never_negative_nor_longer_than_the_span(pairs: list[tuple[int, int]]) -> None:
    spans = tuple(
        Span(a, a + b, f"s{i}") for i, (a, b) in enumerate(sorted(pairs, key=lambda p: (p[0], -p[1])))
    )
    half = len(spans) // 2
    tracks = (
        Track("i", "initcall", "i", spans[:half]),
        Track("p", "probe", "p", spans[half:], overlaps=True),
    )
    for found in nested(tracks):
        assert 0 <= found.own_ns <= found.span.duration_ns


def trace(*tracks: Track) -> Trace:
    return Trace("t", "clock", 1000 * MS, tracks)


def test_processes_are_ranked_by_cpu_time_and_sleepers_are_counted() -> None:
    long = Track("1", "process", "idler (7)", (Span(0, 900 * MS, "sleeping", {"program": "idler"}),))
    spans = (Span(0, 50 * MS, "running", {"cpu_ns": 40 * MS}), Span(50 * MS, 70 * MS, "waiting for storage"))
    busy = Track("2", "process", "busy (8)", spans)
    (table,) = rows_of_trace("processes", trace(long, busy))
    assert [(row["what"], row["cpu_ns"], row["storage_ns"]) for row in table.rows] == [
        ("busy (8)", 40 * MS, 20 * MS)
    ]
    assert table.notes == ("1 that used no CPU time are left out",)
    assert table.sums == {"tasks": 2, "asleep": 1}


def test_cpu_time_is_that_of_the_processors_rows() -> None:
    life = Track("1", "process", "3 sh", (Span(0, 900 * MS, "sh", {"pid": 3, "ended": "exited"}),))
    cpu = Track(
        "cpu-0", "cpu", "CPU 0", (Span(0, 5 * MS, "sh", {"pid": 3}), Span(9, 3 * MS, "dd", {"pid": 4}))
    )
    found = view(trace(life, cpu))
    assert found
    assert [(row["what"], row["cpu_ns"]) for row in found.rows] == [("3 sh", 5 * MS), ("dd (4)", 3 * MS - 9)]


def test_a_life_alone_says_that_cpu_time_is_not_known() -> None:
    life = Track("1", "process", "3 sh", (Span(0, 900 * MS, "sh", {"pid": 3, "ended": "exited"}),))
    unit = Track("u", "service", "a.service", (Span(0, 9, "starting"),))
    processes, units = rows_of_trace("processes", trace(life, unit))
    assert "do not tell CPU time" in processes.notes[0]
    assert processes.rows[0]["cpu_ns"] is None
    assert units.title == "Units of t"
