# SPDX-License-Identifier: Apache-2.0
"""The Perfetto export, read back with Perfetto's own description of the format."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings

from bootscope.export.base import Subject
from bootscope.export.lanes import ordered
from bootscope.export.perfetto import make
from bootscope.export.proto import varint
from bootscope.timeline.trace import Span, Trace, Track

from .traces import HOSTILE_TRACE, SMALL, traces

trace_pb2 = pytest.importorskip(
    "perfetto.protos.perfetto.trace.perfetto_trace_pb2", reason="the perfetto package is not installed"
)
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


@dataclass
class Slice:
    name: str
    start: int
    end: int
    depth: int
    detail: dict[str, str | int] = field(default_factory=dict)


@dataclass
class Read:
    """What a reader that keeps to Perfetto's rules makes of a file."""

    tracks: dict[int, Any] = field(default_factory=dict)
    slices: dict[int, list[Slice]] = field(default_factory=lambda: defaultdict(list))
    instants: dict[int, list[tuple[int, str]]] = field(default_factory=lambda: defaultdict(list))
    counts: dict[int, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))

    def named(self, name: str) -> int:
        (uuid,) = [u for u, d in self.tracks.items() if d.name == name and not d.HasField("process")]
        return uuid

    def path(self, uuid: int) -> list[str]:
        here = self.tracks[uuid]
        return [
            *(self.path(here.parent_uuid) if here.parent_uuid else []),
            here.name or here.thread.thread_name,
        ]


def read(data: bytes) -> Read:
    found, last = Read(), 0
    names: dict[int, str] = {}
    keys: dict[int, str] = {}
    stacks: defaultdict[int, list[Slice]] = defaultdict(list)
    packets = trace_pb2.Trace.FromString(data).packet
    assert packets[0].sequence_flags == 1
    assert (
        packets[0].trace_packet_defaults.timestamp_clock_id
        == packets[0].clock_snapshot.primary_trace_clock
        == 6
    )
    for packet in packets:
        assert packet.trusted_packet_sequence_id == 1
        names.update({e.iid: e.name for e in packet.interned_data.event_names})
        keys.update({e.iid: e.name for e in packet.interned_data.debug_annotation_names})
        if packet.HasField("track_descriptor"):
            described = packet.track_descriptor
            assert described.uuid not in found.tracks
            assert not described.parent_uuid or described.parent_uuid in found.tracks
            found.tracks[described.uuid] = described
        if not packet.HasField("track_event"):
            continue
        event, now = packet.track_event, packet.timestamp
        assert now >= last, "packets are in order of time"
        assert event.track_uuid in found.tracks
        last, stack = now, stacks[event.track_uuid]
        if event.type == BEGIN:
            detail = {keys[a.name_iid]: a.string_value or a.int_value for a in event.debug_annotations}
            one = Slice(names[event.name_iid], now, -1, len(stack), detail)
            stack.append(one)
            found.slices[event.track_uuid].append(one)
        elif event.type == END:
            stack.pop().end = now
        elif event.type == INSTANT:
            found.instants[event.track_uuid].append((now, names[event.name_iid]))
        else:
            assert event.type == COUNTER
            found.counts[event.track_uuid].append((now, event.counter_value))
    assert not any(stacks.values()), "every begin has its end"
    return found


@pytest.fixture(scope="module")
def small() -> Read:
    return read(make(Subject(SMALL)))


def test_spans_keep_times_nesting_and_details(small: Read) -> None:
    initcalls = small.slices[small.named("initcalls")]
    assert [(s.name, s.start, s.end, s.depth) for s in initcalls] == [
        ("kernel_init", 450, 900, 0),
        ("mmc_init", 500, 600, 1),
        ("nothing", 600, 600, 1),
        ("net_init", 700, 900, 1),
    ]
    assert initcalls[1].detail == {"level": 6, "cost_ns": 50}


def test_what_overlaps_gets_a_row_of_its_own(small: Read) -> None:
    first, second = small.named("storage"), small.named("storage (2)")
    assert [s.name for s in small.slices[first] + small.slices[second]] == ["read A", "read B"]
    assert small.path(second) == ["stock on cubieboard", "storage", "storage (2)"]


def test_tracks_stand_in_our_order_below_the_boot(small: Read) -> None:
    ranks = [small.tracks[small.named(n)].sibling_order_rank for n in ("phases", "initcalls", "storage")]
    assert ranks == sorted(ranks) and len(set(ranks)) == 3
    assert small.tracks[1].child_ordering == 3
    assert small.path(small.named("initcalls")) == ["stock on cubieboard", "initcalls"]


def test_processes_are_processes_with_their_number(small: Read) -> None:
    pids = {d.process.process_name: d.process.pid for d in small.tracks.values() if d.HasField("process")}
    assert pids == {"init": 1, "mount": 7}
    threads = {u: d.thread for u, d in small.tracks.items() if d.HasField("thread")}
    assert {(t.pid, t.tid, t.thread_name) for t in threads.values()} == {(1, 1, "init"), (7, 7, "mount")}
    assert [s.name for u in threads for s in small.slices[u]] == ["running", "waiting for disk"]


def test_milestones_are_instants_and_bytes_are_counted(small: Read) -> None:
    assert small.instants[small.named("milestones")] == [(400, "kernel-entry"), (1000, "first-frame")]
    counter = small.named("storage: bytes so far")
    assert small.counts[counter] == [(300, 512), (400, 1536)]
    assert small.tracks[counter].counter.unit == 3


def test_the_clock_is_told(small: Read) -> None:
    assert "clock: board time from power-on" in small.tracks[1].description


def test_a_trace_that_begins_before_zero_is_moved_and_says_so() -> None:
    moved = read(make(Subject(Trace("t", "c", 10, (Track("a", "other", "a", (Span(-7, 3, "x"),)),)))))
    assert [(s.start, s.end) for s in moved.slices[moved.named("a")]] == [(0, 10)]
    assert "7 ns later" in moved.tracks[1].description


@pytest.mark.parametrize("value", [0, 127, 128, 300, (1 << 63) - 1, -1, -(1 << 63)])
def test_varints_are_those_of_protocol_buffers(value: int) -> None:
    annotation = trace_pb2.DebugAnnotation.FromString(b"\x20" + varint(value))
    assert annotation.int_value == value


def test_a_hostile_trace_is_still_a_trace() -> None:
    found = read(make(Subject(HOSTILE_TRACE, failure="\ud800", facts={"\ud800": "\0"})))
    texts = [s.name for row in found.slices.values() for s in row] + [d.name for d in found.tracks.values()]
    assert all(text.isprintable() for text in texts)


@settings(max_examples=40)
@given(traces)
def test_any_trace_gives_balanced_rows_that_hold_every_span(trace: Trace) -> None:
    found = read(make(Subject(trace)))
    assert sum(map(len, found.slices.values())) == sum(len(t.spans) for t in trace.tracks)
    lengths = sorted(s.end - s.start for row in found.slices.values() for s in row)
    assert lengths == sorted(s.duration_ns for t in trace.tracks for s in ordered(t.spans))
