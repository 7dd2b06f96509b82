# SPDX-License-Identifier: Apache-2.0
"""Traces in the Common Trace Format as babeltrace2 prints them, beside perf's text of the same recording."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.core.errors import UserError
from bootscope.readers.babeltrace_fields import EventFields, Field
from bootscope.readers.base import Boot, Options, Source
from bootscope.readers.registry import reader
from bootscope.readers.source import opened
from bootscope.readers.unpack import Budget
from bootscope.timeline.trace import Span

from .fuzzing import FIXTURES, check, damaged, survives

BABELTRACE, PERF = reader("babeltrace"), reader("perf-script")
FOLDER = FIXTURES / "babeltrace"


def boot_of(name: str) -> Boot:
    given = opened(name, (FOLDER / name).read_bytes(), Budget()).source
    chosen = PERF if name.startswith("perf") else BABELTRACE
    assert chosen.sure(given) >= 90
    reading = chosen.read(given, Options())
    check(reading)
    assert not reading.missed
    return reading.boots[0]


def text(*lines: str) -> Boot:
    reading = BABELTRACE.read(Source("x", "".join(f"{line}\n" for line in lines).encode()), Options())
    check(reading)
    assert not reading.missed
    return reading.boots[0]


def test_the_same_recording_gives_the_same_as_perfs_text() -> None:
    ours, perf = boot_of("cycles.txt.gz"), boot_of("perf-script.txt.gz")
    assert [track.ident for track in ours.tracks] == [track.ident for track in perf.tracks]
    for one, other in zip(ours.tracks, perf.tracks, strict=True):
        places = [(span.start_ns, span.end_ns) for span in one.spans]
        assert places == [(span.start_ns, span.end_ns) for span in other.spans], one.ident
    # perf adds to the names of kernel threads what they do.
    assert [(p.at_ns, p.name.partition(" wakes ")[2]) for p in ours.points] == [
        (p.at_ns, p.name.partition(" wakes ")[2]) for p in perf.points
    ]
    assert {track.kind for track in ours.tracks} == {"cpu", "process", "storage", "irq"}
    assert ours.clock.name == "kernel" and ours.clock.resolution_ns == 1


def test_times_of_day_are_on_no_clock_of_the_kernel() -> None:
    reading = BABELTRACE.read(Source("x", (FOLDER / "day.txt").read_bytes()), Options())
    assert reading.boots[0].clock.name == "counter"
    assert "--clock-cycles" in reading.questions[0]


def test_a_night_does_not_turn_time_back() -> None:
    first = "[23:59:59.999999000] (+?.?????????) board ready: { cpu_id = 0 }, { }"
    later = "[00:00:00.000001000] (+0.000002000) board ready: { cpu_id = 0 }, { }"
    boot = text(first, later)
    assert boot.log.at_ns[1] - boot.log.at_ns[0] == 2_000


def test_lttngs_names_of_fields_are_known() -> None:
    boot = text(
        "[00000000001000000000] (+????????????) board sched_switch: { cpu_id = 1 }, "
        '{ prev_comm = "swapper/1", prev_tid = 0, prev_prio = 20, prev_state = 0, '
        'next_comm = "kworker \\"x\\"", next_tid = 7, next_prio = 20 }',
        "[00000000001000001000] (+000000001000) board block_rq_issue: { cpu_id = 1 }, "
        '{ dev = 266338304, sector = 64, nr_sector = 8, bytes = 4096, tid = 7, rwbs = 12, comm = "dd" }',
        "[00000000001000001500] (+000000000500) board irq_softirq_entry: { cpu_id = 1 }, { vec = 4 }",
        "[00000000001000001700] (+000000000200) board irq_softirq_exit: { cpu_id = 1 }, { vec = 4 }",
        "[00000000001000002000] (+000000000500) board block_rq_complete: { cpu_id = 1 }, "
        "{ dev = 266338304, sector = 64, nr_sector = 8, error = 0 }",
        "[00000000001000003000] (+000000001000) board sched_process_fork: { cpu_id = 1 }, "
        '{ parent_comm = "sh", parent_tid = 7, parent_pid = 7, child_comm = "sh", child_tid = 8 }',
        "[00000000001000004000] (+000000001000) board sched_switch: { cpu_id = 1 }, "
        '{ prev_comm = "kworker \\"x\\"", prev_tid = 7, prev_state = ( "D" : container = 2 ), '
        'next_comm = "swapper/1", next_tid = 0, next_prio = 20 }',
    )
    spans = {track.ident: track.spans for track in boot.tracks}
    assert spans["cpu-1"] == (Span(1_000_000_000, 1_000_004_000, 'kworker "x"', {"pid": 7, "then": "D"}),)
    assert spans["irq-1"][0].name == "softirq 4 BLOCK"
    (request,) = spans["storage-254,0"]
    assert request.detail == {"bytes": 4096, "sector": 64, "by": 'kworker "x" (7)', "kind": "RA"}
    assert {"process-7", "process-8"} <= set(spans)


def test_other_events_are_lines() -> None:
    boot = text('[12.000000001] board my_app:ready: { cpu_id = 0 }, { frame = 3, what = "first" }')
    assert boot.log.text(0) == '<...>-0 ready: { cpu_id = 0 }, { frame = 3, what = "first" }'
    assert boot.log.at_ns[0] == 12_000_000_001


def test_a_task_that_is_called_as_a_number_is_no_frame() -> None:
    lines = (
        "   dd  812 [001]    66.083964085: sched:sched_process_exec: filename=/usr/bin/dd pid=812\n"
        "   dd  812 [001]    66.155548790: sched:sched_process_exit: comm=dd pid=812 prio=120\n"
    )
    (boot,) = PERF.read(Source("x", lines.encode()), Options()).boots
    (life,) = (track for track in boot.tracks if track.kind == "process")
    assert life.spans[-1].name == "/usr/bin/dd" and life.spans[-1].detail["ended"] == "exited"


def test_something_else_is_refused() -> None:
    with pytest.raises(UserError, match="output of babeltrace2"):
        BABELTRACE.read(Source("x", b"hello\n"), Options())


ALL = (FOLDER / "day.txt").read_bytes()


@settings(max_examples=100, deadline=None)
@given(st.one_of(damaged(ALL), st.binary(max_size=300)))
def test_damage_is_survived(data: bytes) -> None:
    survives(BABELTRACE, data)


DAY = (FOLDER / "day.txt").read_bytes()
NAMES = ("cpu_id", "common_pid", "comm", "pid", "prev_comm", "next_pid", "dev", "rwbs")
WANTED = tuple(Field((name.replace("pid", "tid"), name), str) for name in NAMES)


@settings(max_examples=100, deadline=None)
@given(damaged(DAY) | damaged(b'a: { comm = "x\\"y", pid = 0x5, dev = ( "z" : container = 3 ) }\n' * 3))
def test_fields_by_a_learnt_layout_are_those_that_any_search_finds(data: bytes) -> None:
    learnt, plain = (EventFields(lambda name: WANTED, lambda name, values: list(values)) for _ in range(2))
    for line in (DAY + data).decode("utf-8", "replace").split("\n"):
        head, _, rest = line.partition("{")
        name = head[-20:]
        if name.isascii() and rest.isascii():
            quick = learnt.quick(name.encode(), rest.encode())
            assert quick in (None, plain.of(name, rest))
        assert learnt.of(name, rest) == plain.of(name, rest)
