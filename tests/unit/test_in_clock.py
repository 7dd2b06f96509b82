# SPDX-License-Identifier: Apache-2.0
"""Boots whose clock passed with the devices' time: what is taken out of the records, and becomes a cost."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from bootscope.capture.record import RunInfo
from bootscope.capture.stream import Idle, Record, Sample, Waited
from bootscope.devices.model import StorageCommand
from bootscope.timeline.build import events_of
from bootscope.timeline.costs import BoardClock, Cost, transfers_ns, waits_for_transfers
from bootscope.timeline.in_clock import split_waits

from .builders import POWER_ON_NS, board, card_read, run_info

LATENCY_NS, BANDWIDTH = 1_000, 1_000_000_000


def made() -> RunInfo:
    return msgspec.structs.replace(run_info(), board=board(BANDWIDTH, LATENCY_NS))


def number_of(run: RunInfo, device: str) -> int:
    return next(number for number, name in run.watch.devices.items() if name == device)


def costs_of(records: list[Record]) -> tuple[list[Record], list[Cost]]:
    run = made()
    return split_waits(records, events_of(records, run), run)


def test_a_wait_is_a_cost_and_no_time_of_the_cpu() -> None:
    run = made()
    console, card = number_of(run, run.board.console), number_of(run, run.board.storage)
    records: list[Record] = [
        Sample(100, 0x1000),
        Waited(500, console, 300),
        Sample(600, 0x1000),
        Waited(1_000, card, 50),
        Sample(1_100, 0x1000),
    ]
    moved, found = costs_of(records)
    assert [r.time_ns for r in moved] == [100, 200, 300, 650, 750]
    assert found == [Cost(1, "console", 300), Cost(3, "storage", 50)]


def test_a_sleep_is_a_cost_while_the_card_works_and_idle_after_that() -> None:
    command = card_read(1_000, 0, 1_000)
    (read,) = (e for e in events_of(command, made()) if isinstance(e, StorageCommand))
    took_ns = transfers_ns([read], made().board)[read.index]
    began_ns = command[read.index].time_ns
    assert took_ns == LATENCY_NS + 1_000
    slept_from_ns, awake_ns = began_ns + 200, began_ns + took_ns + 700
    idle = Idle(awake_ns, awake_ns - slept_from_ns)
    moved, found = costs_of([*command, idle])
    assert found == [Cost(len(command), "storage", took_ns - 200)]
    last = moved[-1]
    assert isinstance(last, Idle) and last.duration_ns == 700
    assert last.time_ns == awake_ns - (took_ns - 200)


def test_a_sleep_while_the_card_rests_is_idle() -> None:
    moved, found = costs_of([Idle(5_000, 3_000)])
    assert found == [] and moved == [Idle(5_000, 3_000)]


def test_waits_belong_to_the_transfer_before_them() -> None:
    run = made()
    card = number_of(run, run.board.storage)
    first, second = card_read(1_000, 0, 512), card_read(9_000, 1, 512)
    records = [*first, Waited(3_000, card, 500), Waited(4_000, card, 250), *second, Waited(9_900, card, 70)]
    moved, found = costs_of(records)
    commands = [e for e in events_of(records, run) if isinstance(e, StorageCommand)]
    assert waits_for_transfers(commands, found) == {commands[0].index: 750, commands[1].index: 70}
    assert len(moved) == len(records)


steps = st.lists(
    st.tuples(st.sampled_from(("sample", "console", "card", "idle", "read")), st.integers(1, 5_000)),
    max_size=40,
)


@given(steps)
def test_nothing_is_lost_and_nothing_goes_back(plan: list[tuple[str, int]]) -> None:
    """Board time of each record is its time in the guest's clock, plus the time before power was good."""
    run, records, now = made(), list[Record](), 0
    for what, ns in plan:
        now += ns
        if what == "read":
            records += card_read(now, 0, 512)
            now = records[-1].time_ns
        elif what == "sample":
            records.append(Sample(now, 0x1000))
        elif what == "idle":
            records.append(Idle(now, ns))
        else:
            device = run.board.console if what == "console" else run.board.storage
            records.append(Waited(now, number_of(run, device), ns))
    moved, found = costs_of(records)
    clock = BoardClock(moved, found, POWER_ON_NS)
    assert [clock.after(i) for i in range(len(moved))] == [r.time_ns + POWER_ON_NS for r in records]
    times = [r.time_ns for r in moved]
    assert times == sorted(times)
    assert all(r.duration_ns >= 0 for r in moved if isinstance(r, Idle))
