# SPDX-License-Identifier: Apache-2.0
"""What device events cost, and the clock that their costs make."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from bootscope.capture.stream import Record, Sample
from bootscope.devices.model import ConsoleByte, PinChange, StorageCommand
from bootscope.devices.serial import LineQueue
from bootscope.timeline.build import events_of
from bootscope.timeline.costs import BoardClock, Cost, CostModel, costs

from .builders import BYTE_NS, POWER_ON_NS, board, card_read, run_info, typed

DEPTH = 16


def found_costs(records: list[Record]) -> list[Cost]:
    run = run_info()
    return costs(records, events_of(records, run), run.board)


# ---- storage ----


def test_a_command_costs_its_latency_and_its_bytes() -> None:
    card = board(bandwidth=10_000_000, latency_ns=500_000).card
    assert card.cost_ns(0) == 500_000
    assert card.cost_ns(1_000_000) == 500_000 + 100_000_000


def test_a_part_of_a_nanosecond_is_left_out() -> None:
    card = board(bandwidth=3, latency_ns=0).card
    assert card.cost_ns(1) == 333_333_333
    assert card.cost_ns(2) == 666_666_666


@given(st.integers(0, 1 << 40), st.integers(1, 1 << 40), st.integers(0, 1 << 40))
def test_storage_costs_are_exact_integers(size: int, bandwidth: int, latency: int) -> None:
    ns = board(bandwidth, latency).card.cost_ns(size) - latency
    assert ns * bandwidth <= size * 1_000_000_000 < (ns + 1) * bandwidth


# ---- serial line ----


def test_bytes_are_free_while_there_is_room() -> None:
    queue = LineQueue(DEPTH)
    assert [queue.put(0, 100) for _ in range(DEPTH)] == [0] * DEPTH


def test_a_full_queue_costs_exactly_the_wait_for_a_place() -> None:
    queue = LineQueue(DEPTH)
    for _ in range(DEPTH):
        queue.put(1_000, 100)
    assert queue.put(1_030, 100) == 70
    assert queue.put(1_100, 100) == 100


def test_the_queue_drains_while_the_cpu_works() -> None:
    queue = LineQueue(DEPTH)
    for _ in range(DEPTH):
        queue.put(0, 100)
    # Five bytes have left by now: five places are free, the sixth byte must wait for the next.
    assert [queue.put(500, 100) for _ in range(6)] == [0, 0, 0, 0, 0, 100]


def test_an_idle_line_starts_anew() -> None:
    queue = LineQueue(1)
    assert queue.put(0, 100) == 0
    assert queue.put(1_000_000, 100) == 0
    assert queue.put(1_000_000, 100) == 100


def test_bytes_in_the_queue_keep_the_speed_they_were_given_with() -> None:
    queue = LineQueue(2)
    queue.put(0, 1_000)
    queue.put(0, 1_000)
    assert queue.put(0, 10) == 1_000
    assert queue.put(1_000, 10) == 1_000
    assert queue.put(2_000, 10) == 10


@given(st.integers(1, 200), st.integers(1, 32), st.integers(1, 1_000_000))
def test_bytes_given_at_once_cost_all_but_the_depth(count: int, depth: int, byte_ns: int) -> None:
    queue, now_ns = LineQueue(depth), 0
    for _ in range(count):
        now_ns += queue.put(now_ns, byte_ns)
    assert now_ns == max(0, count - depth) * byte_ns


@given(st.binary(max_size=120))
def test_text_given_at_once_costs_all_but_the_fifo(text: bytes) -> None:
    total_ns = sum(cost.ns for cost in found_costs(typed(text)))
    assert total_ns == max(0, len(text) - DEPTH) * BYTE_NS


@given(st.lists(st.integers(0, 3 * BYTE_NS), min_size=1, max_size=60))
def test_the_line_is_never_faster_than_its_speed(gaps_ns: list[int]) -> None:
    """From the first byte to the last, all but a queue full must have gone over the line."""
    records: list[Record] = []
    now_ns = 0
    for gap_ns in gaps_ns:
        now_ns += gap_ns
        records += typed(b"x", now_ns)
    clock = BoardClock(records, found_costs(records), 0)
    took_ns = clock.after(len(records) - 1) - clock.before(0)
    assert took_ns >= (len(records) - DEPTH) * BYTE_NS
    assert all(cost.ns <= BYTE_NS for cost in found_costs(records))


# ---- the model ----


def test_costs_of_one_kind_give_the_other_time_to_drain() -> None:
    model = CostModel(board(bandwidth=1_000_000_000, latency_ns=DEPTH * BYTE_NS))
    byte, block = ConsoleByte(0, "uart0", 65, BYTE_NS), StorageCommand(0, "mmc0", 18, 0, 0, False)
    assert [model.add(byte, 0) for _ in range(DEPTH)] == [0] * DEPTH
    assert model.add(block, 0) == DEPTH * BYTE_NS
    assert [model.add(byte, 0) for _ in range(DEPTH)] == [0] * DEPTH
    assert model.add(byte, 0) == BYTE_NS


def test_the_sum_begins_with_power_on_and_grows_with_each_cost() -> None:
    model = CostModel(board(bandwidth=1_000_000_000, latency_ns=5))
    assert model.added_ns == POWER_ON_NS
    model.add(StorageCommand(0, "mmc0", 18, 0, 7, False), 0)
    assert model.added_ns == POWER_ON_NS + 12


def test_what_costs_nothing_is_no_cost() -> None:
    model = CostModel(board(bandwidth=10**12, latency_ns=0))
    assert model.add(StorageCommand(0, "mmc0", 18, 0, 512, False), 0) == 0
    assert model.add(PinChange(0, "pio", ("PA0",), ()), 0) == 0
    assert model.added_ns == POWER_ON_NS


def test_two_ports_have_a_queue_each() -> None:
    base = board()
    model = CostModel(msgspec.structs.replace(base, devices={**base.devices, "uart1": base.devices["uart0"]}))
    for name in ("uart0", "uart1"):
        assert [model.add(ConsoleByte(0, name, 65, 100), 0) for _ in range(DEPTH)] == [0] * DEPTH


def test_each_cost_carries_the_index_of_the_record_that_causes_it() -> None:
    records = [*typed(b"x" * (DEPTH + 1)), Sample(0, 1), *card_read(0, 9, 512)]
    assert [(cost.index, cost.kind) for cost in found_costs(records)] == [
        (DEPTH, "console"),
        (DEPTH + 4, "storage"),
    ]


# ---- the clock ----


def test_before_leaves_the_records_own_cost_out_and_after_takes_it_in() -> None:
    records: list[Record] = [Sample(t, 0) for t in (0, 10, 10, 20)]
    clock = BoardClock(records, [Cost(1, "storage", 100), Cost(2, "console", 1_000)], 5)
    assert [clock.before(i) for i in range(4)] == [5, 15, 115, 1125]
    assert [clock.after(i) for i in range(4)] == [5, 115, 1115, 1125]


def test_two_costs_of_one_record_both_count() -> None:
    clock = BoardClock([Sample(3, 0)], [Cost(0, "storage", 100), Cost(0, "console", 10)], 0)
    assert (clock.before(0), clock.after(0)) == (3, 113)
