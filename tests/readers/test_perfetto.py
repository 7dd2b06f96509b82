# SPDX-License-Identifier: Apache-2.0
"""Perfetto's traces, compared with what the project's own classes read from the same bytes."""

from __future__ import annotations

import zlib
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.core.errors import UserError
from bootscope.readers.base import Options, Reading, Source
from bootscope.readers.proto_fields import DamagedError, packed
from bootscope.readers.registry import reader
from bootscope.readers.source import opened
from bootscope.readers.unpack import Budget

from .fuzzing import FIXTURES, check, damaged, survives

schema: Any = import_module("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
PERFETTO = reader("perfetto")
REAL = (FIXTURES / "perfetto" / "boot.pftrace").read_bytes()
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
MONOTONIC, BOOTTIME = 3, 6


def reading_of(data: bytes) -> Reading:
    given = opened("x", data, Budget()).source
    assert PERFETTO.sure(given) >= 90
    reading = PERFETTO.read(given, Options())
    check(reading)
    return reading


def trace() -> Any:
    """A trace with a first packet, which has a clock snapshot: MONOTONIC is 5 µs behind BOOTTIME."""
    made = schema.Trace()
    clocks = made.packet.add().clock_snapshot.clocks
    clocks.add(clock_id=BOOTTIME, timestamp=25_000)
    clocks.add(clock_id=MONOTONIC, timestamp=20_000)
    return made


def happened(made: Any, at: int, kind: int, name: str = "", **more: Any) -> Any:
    """A packet with an event of a program."""
    packet = made.packet.add(timestamp=at, trusted_packet_sequence_id=7, **more)
    packet.track_event.type = kind
    packet.track_event.track_uuid = 44
    if name:
        packet.track_event.name = name
    return packet


def test_a_real_trace_has_all_that_its_events_say() -> None:
    reading = reading_of(REAL)
    (boot,) = reading.boots
    parsed = schema.Trace.FromString(REAL)
    bundles = [packet.ftrace_events for packet in parsed.packet if packet.HasField("ftrace_events")]
    issued = [e.timestamp for b in bundles for e in b.event if e.HasField("block_rq_issue")]
    spans = [span for t in boot.tracks if t.kind == "storage" for span in t.spans]
    assert sorted(span.start_ns for span in spans) == sorted(issued)
    woken = sum(event.HasField("sched_wakeup") for bundle in bundles for event in bundle.event)
    assert sum(point.kind == "wake" for point in boot.points) == woken > 100
    assert [p.name for p in boot.points if p.kind == "mark"] == ["start of the application"]
    assert boot.facts["kernel"] == "6.1.0-56-cloud-arm64" and "v56.0" in boot.facts["tool"]
    assert len(parsed.packet) == reading.lines_total == reading.lines_understood
    assert boot.log.text(0) == "insmod-104 module_load: taints=0 name=virtio_blk"
    assert {track.title for track in boot.tracks if track.kind == "initcall"} == {"initcalls (task 104)"}


def test_cpu_time_of_a_real_trace_is_that_of_its_switches() -> None:
    (boot,) = reading_of(REAL).boots
    expected = []
    for cpu in (0, 1):
        now, running = 0, None
        for packet in schema.Trace.FromString(REAL).packet:
            bundle = packet.ftrace_events
            if packet.HasField("ftrace_events") and bundle.cpu == cpu and bundle.HasField("compact_sched"):
                columns, now = bundle.compact_sched, 0
                for later, pid in zip(columns.switch_timestamp, columns.switch_next_pid, strict=True):
                    now += later
                    if running and running[1]:
                        expected.append((cpu, running[0], now, running[1]))
                    running = (now, pid)
    found = [
        (int(track.ident[-1]), span.start_ns, span.end_ns, span.detail["pid"])
        for track in boot.tracks
        if track.kind == "cpu"
        for span in track.spans
    ]
    assert sorted(found) == sorted(expected) and len(found) > 200


def test_processes_that_there_were_are_a_table() -> None:
    table = next(t for t in reading_of(REAL).boots[0].tables if t.title == "processes that were seen")
    rows = {row[0]: row for row in table.rows}
    assert rows[1][2] == "/bin/busybox sh /init"
    assert rows[2][1:] == (0, "kthreadd")


def test_slices_of_programs_are_on_one_clock_with_the_kernel() -> None:
    made = trace()
    described = made.packet.add().track_descriptor
    described.uuid, described.name = 44, "systemd"
    happened(made, 1_000, BEGIN, "outer")
    packet = happened(made, 1_500, BEGIN)
    packet.track_event.name_iid = 3
    packet.interned_data.event_names.add(iid=3, name="inner")
    happened(made, 2_000, END)
    happened(made, 2_500, INSTANT, "ready", timestamp_clock_id=MONOTONIC)
    happened(made, 3_000, END)
    happened(made, 4_000, COUNTER)
    happened(made, 5_000, INSTANT, "lost", timestamp_clock_id=99)
    (boot,) = reading_of(made.SerializeToString()).boots
    (track,) = boot.tracks
    assert track.title == "systemd"
    assert [(s.name, s.start_ns, s.end_ns) for s in track.spans] == [
        ("outer", 1_000, 3_000),
        ("inner", 1_500, 2_000),
    ]
    assert [(point.name, point.at_ns) for point in boot.points] == [("ready", 7_500)]
    assert boot.facts["values of counters, left out"] == "1"
    assert boot.facts["slices on a clock that no snapshot relates, left out"] == "1"


def test_packed_packets_are_unpacked() -> None:
    inside, made = schema.Trace(), trace()
    happened(inside, 1_000, INSTANT, "first")
    happened(inside, 2_000, INSTANT, "second")
    made.packet.add().compressed_packets = zlib.compress(inside.SerializeToString())
    happened(made, 3_000, INSTANT, "third")
    (boot,) = reading_of(made.SerializeToString()).boots
    assert [point.name for point in boot.points] == ["first", "second", "third"]


def test_a_switch_tells_who_ran_and_how_it_was_left() -> None:
    made = trace()
    bundle = made.packet.add().ftrace_events
    bundle.cpu, bundle.lost_events = 2, True
    for at, was, left, after in ((100, 0, 0, 5), (180, 5, 256, 9), (300, 9, 2, 0)):
        switch = bundle.event.add(timestamp=at, pid=was).sched_switch
        switch.prev_comm, switch.prev_pid, switch.prev_state = f"task{was}", was, left
        switch.next_comm, switch.next_pid = f"task{after}", after
    reading = reading_of(made.SerializeToString())
    (track,) = reading.boots[0].tracks
    assert [(s.name, s.start_ns, s.end_ns, s.detail["then"]) for s in track.spans] == [
        ("task5", 100, 180, "R+"),
        ("task9", 180, 300, "D"),
    ]
    assert reading.repairs[0].what == "events were lost while tracing"


def test_a_trace_that_breaks_off_is_read_up_to_there() -> None:
    made = trace()
    for at in range(1, 5):
        happened(made, at, INSTANT, f"mark {at}")
    reading = reading_of(made.SerializeToString()[:-3])
    assert len(reading.boots[0].points) == 3
    assert "breaks off" in reading.repairs[0].what


@pytest.mark.parametrize(
    "data", [b"", b"hello\n", b"\n[    0.000000] Linux version\n[    1.0] x\n", b"\x0a\xff\xff"]
)
def test_something_else_is_refused(data: bytes) -> None:
    assert PERFETTO.sure(Source("x", data)) == 0
    with pytest.raises(UserError):
        PERFETTO.read(Source("x", data), Options())


def test_a_trace_without_a_boot_is_refused_with_what_to_record() -> None:
    with pytest.raises(UserError, match="without events of the kernel"):
        PERFETTO.read(Source("x", trace().SerializeToString()), Options())


@settings(max_examples=150, deadline=None)
@given(st.one_of(damaged(REAL, 8_192), st.binary(max_size=300)))
def test_damage_is_survived(data: bytes) -> None:
    survives(PERFETTO, data)


def varint(value: int) -> bytes:
    head = b""
    while value >= 0x80:
        head += bytes([value & 0x7F | 0x80])
        value >>= 7
    return head + bytes([value])


def message(tag: bytes, body: bytes) -> bytes:
    return tag + varint(len(body)) + body


def unusual(data: bytes) -> bytes:
    """The same trace, each event of the kernel with a number that nobody knows at its end."""
    packets = []
    for packet in schema.Trace.FromString(data).packet:
        body = b""
        if packet.HasField("ftrace_events"):
            events = [event.SerializeToString() + b"\x98\x06\x00" for event in packet.ftrace_events.event]
            packet.ftrace_events.ClearField("event")
            rest = packet.ftrace_events.SerializeToString()
            packet.ClearField("ftrace_events")
            body = message(b"\x0a", rest + b"".join(message(b"\x12", event) for event in events))
        packets.append(message(b"\x0a", packet.SerializeToString() + body))
    return b"".join(packets)


def same(data: bytes) -> bool:
    """Whether events of the usual form and others are read alike."""
    one, other = (PERFETTO.read(Source("x", form), Options()) for form in (data, unusual(data)))
    told = [(b.tracks, b.points, b.tables, b.facts, list(b.log)) for b in (one.boots[0], other.boots[0])]
    return told[0] == told[1] and one.missed == other.missed and one.repairs == other.repairs


def test_usual_events_are_read_as_others_are() -> None:
    assert same(REAL)


NUMBERS = st.integers(0, (1 << 64) - 1) | st.integers(0, 300) | st.integers(0, 1 << 40)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(NUMBERS, st.integers(-5, 40_000), st.integers(0, 200)), min_size=1, max_size=9))
def test_any_usual_events_are_read_as_others_are(events: list[tuple[int, int, int]]) -> None:
    made = trace()
    happened(made, 10, INSTANT, "x")
    bundle = made.packet.add().ftrace_events
    bundle.cpu = 1
    for at_ns, pid, size in events:
        event = bundle.event.add(timestamp=at_ns, pid=pid & (1 << 32) - 1)
        event.sched_wakeup.comm, event.sched_wakeup.pid = "x" * size, pid
    assert same(made.SerializeToString())


@given(st.lists(NUMBERS, max_size=8), st.integers(0, 80))
def test_packed_numbers(numbers: list[int], cut: int) -> None:
    data = b"".join(map(varint, numbers))
    assert packed(data, 0, len(data)) == numbers
    if data[:cut] and data[:cut][-1] >= 0x80:
        with pytest.raises(DamagedError):
            packed(data, 0, len(data[:cut]))
