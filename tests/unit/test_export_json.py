# SPDX-License-Identifier: Apache-2.0
"""The exports that are JSON: Chrome's trace events and speedscope's profiles."""

from __future__ import annotations

import json
from collections import defaultdict
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings

from bootscope.export import chrome, speedscope
from bootscope.export.base import Subject
from bootscope.export.lanes import lanes, ordered, self_times
from bootscope.timeline.trace import Span, Trace, Track

from .traces import HOSTILE_TRACE, SMALL, traces


def chrome_of(trace: Trace) -> dict[str, Any]:
    """The document, its numbers kept exact."""
    found: dict[str, Any] = json.loads(chrome.make(Subject(trace)), parse_float=Decimal)
    return found


def rows_of(document: dict[str, Any]) -> dict[tuple[int, int], list[tuple[Decimal, Decimal]]]:
    rows: dict[tuple[int, int], list[tuple[Decimal, Decimal]]] = defaultdict(list)
    for e in document["traceEvents"]:
        if e["ph"] == "X":
            rows[e["pid"], e["tid"]].append((Decimal(e["ts"]), Decimal(e["ts"]) + Decimal(e["dur"])))
    return rows


def check_nested(spans: list[tuple[Any, Any]]) -> None:
    """A span that starts within another ends within it."""
    still_open: list[Any] = []
    for start, end in spans:
        while still_open and still_open[-1] <= start:
            still_open.pop()
        assert not still_open or end <= still_open[-1]
        still_open.append(end)


def test_chrome_events_have_exact_microseconds_and_their_details() -> None:
    events = chrome_of(SMALL)["traceEvents"]
    (one,) = [e for e in events if e["name"] == "mmc_init"]
    assert (one["ts"], one["dur"], one["cat"]) == (Decimal("0.5"), Decimal("0.1"), "initcall")
    assert one["args"] == {"level": 6, "cost_ns": 50}
    assert b'"ts":0.5,"dur":0.1,' in chrome.make(Subject(SMALL))


def test_chrome_threads_are_named_and_ordered() -> None:
    events = chrome_of(SMALL)["traceEvents"]
    names = [(e["pid"], e["args"]["name"]) for e in events if e["name"] == "thread_name"]
    assert names == [
        (1, "phases"), (1, "initcalls"), (1, "storage"), (1, "storage (2)"), (2, "init"), (2, "mount"),
        (3, "milestones"), (3, "pins"),
    ]  # fmt: skip


def test_chrome_milestones_are_instants_of_the_whole_trace() -> None:
    instants = {e["name"]: e for e in chrome_of(SMALL)["traceEvents"] if e["ph"] == "i"}
    assert {n: (e["s"], e["ts"]) for n, e in instants.items()} == {
        "first-frame": ("g", 1), "kernel-entry": ("g", Decimal("0.4")), "PB8 high": ("t", Decimal("0.41")),
    }  # fmt: skip
    assert instants["kernel-entry"]["args"] == {"error_ns": 5}


@settings(max_examples=40)
@given(traces)
def test_no_chrome_thread_has_spans_that_overlap_in_part(trace: Trace) -> None:
    rows = rows_of(chrome_of(trace))
    assert sum(map(len, rows.values())) == sum(len(t.spans) for t in trace.tracks)
    for spans in rows.values():
        assert spans == sorted(spans, key=lambda s: (s[0], -s[1]))
        check_nested(spans)


def speedscope_of(trace: Trace) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(speedscope.make(Subject(trace)))
    return found


def check_speedscope(document: dict[str, Any]) -> None:
    """The rules of speedscope's format: known fields, frames that exist, balanced events in order."""
    frames = document["shared"]["frames"]
    assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    for profile in document["profiles"]:
        assert profile["unit"] == "nanoseconds"
        assert profile["startValue"] <= profile["endValue"]
        if profile["type"] == "sampled":
            assert len(profile["samples"]) == len(profile["weights"])
            assert all(frame < len(frames) for stack in profile["samples"] for frame in stack)
            assert sum(profile["weights"]) == profile["endValue"]
            continue
        assert profile["type"] == "evented"
        stack, last = [], profile["startValue"]
        for event in profile["events"]:
            assert last <= event["at"] <= profile["endValue"]
            last = event["at"]
            if event["type"] == "O":
                stack.append(event["frame"])
            else:
                assert stack.pop() == event["frame"]
        assert not stack


def test_speedscope_has_the_stacks_first_then_the_tracks() -> None:
    document = speedscope_of(SMALL)
    check_speedscope(document)
    names = [frame["name"] for frame in document["shared"]["frames"]]
    first = document["profiles"][0]
    assert [[names[i] for i in stack] for stack in first["samples"]] == [
        ["spl"],
        ["kernel", "idle"],
        ["kernel", "initcall kernel_init", "do_mount"],
    ]
    assert first["weights"] == [400, 200, 300]
    assert [p["name"] for p in document["profiles"][1:]] == [
        "phases", "initcalls", "storage", "storage (2)", "init", "mount",
    ]  # fmt: skip


@settings(max_examples=40)
@given(traces)
def test_any_trace_is_a_speedscope_file(trace: Trace) -> None:
    check_speedscope(speedscope_of(trace))


@pytest.mark.parametrize("make", [chrome.make, speedscope.make])
def test_a_hostile_trace_is_json_without_control_characters(make: Any) -> None:
    data = make(Subject(HOSTILE_TRACE, failure="\ud800", facts={"\ud800": "\0"}))
    json.loads(data)
    assert data.decode().strip().isprintable()


def test_lanes_of_a_track_that_nests_are_one() -> None:
    assert [len(lanes(track)) for track in SMALL.tracks] == [1, 1, 2, 1, 1]


def test_self_time_is_what_no_inner_span_covers() -> None:
    assert self_times([SMALL.tracks[1]]) == {
        ("initcalls", "kernel_init"): 150,
        ("initcalls", "kernel_init", "mmc_init"): 100,
        ("initcalls", "kernel_init", "nothing"): 0,
        ("initcalls", "kernel_init", "net_init"): 200,
    }


@settings(max_examples=40)
@given(traces)
def test_self_times_add_up_to_the_outermost_spans(trace: Trace) -> None:
    for track in trace.tracks:
        whole = 0
        for lane in lanes(track):
            reached: int | None = None
            for span in lane:
                if reached is None or span.start_ns >= reached:
                    whole, reached = whole + span.duration_ns, span.end_ns
        assert sum(self_times([track]).values()) == whole


def test_very_many_overlapping_spans_take_no_quadratic_time() -> None:
    stairs = Track("a", "other", "a", tuple(Span(i, 50_000 + i, "x") for i in range(20_000)))
    nested = Track("b", "other", "b", tuple(Span(i, 100_000 - i, "x") for i in range(20_000)))
    assert len(lanes(stairs)) == 20_000
    assert len(lanes(nested)) == 1
    assert sum(self_times([nested]).values()) == 100_000
    assert ordered(nested.spans)[0].duration_ns == 100_000
