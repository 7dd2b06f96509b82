# SPDX-License-Identifier: Apache-2.0
"""What device events cost on the real board.

QEMU's serial port and card take no time, those of the board do. So every event gets a cost, kept beside it
and never mixed into its stamp:

- A storage command costs what its controller says (devices/): latency + bytes / bandwidth.
- A console byte enters the port's queue, which the line empties (devices/serial.py).

    board_ns(e) = virtual_ns(e) + power_on_ns + sum of the costs of the events at or before e
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from bootscope.boards.profile import Board
from bootscope.capture.stream import Record
from bootscope.devices.model import ConsoleByte, DeviceEvent, StorageCommand
from bootscope.devices.serial import LineQueue

CostKind = Literal["storage", "console"]


@dataclass(frozen=True, slots=True)
class Cost:
    """`ns` of board time that record number `index` adds."""

    index: int
    kind: CostKind
    ns: int


class CostModel:
    """Assigns costs to device events, one after the other; `added_ns` is the sum so far."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._storage_ns = _storage_costs(board)
        self._queues: dict[str, LineQueue] = {}
        self.added_ns = board.power_on_ns.value

    def add(self, event: DeviceEvent, virtual_ns: int) -> int:
        """The cost in ns of the next event, which happens at `virtual_ns`; 0 if it is free."""
        if isinstance(event, ConsoleByte):
            queue = self._queues.get(event.device)
            if queue is None:
                depth_bytes = self._board.console_called(event.device).fifo_bytes.value
                queue = self._queues[event.device] = LineQueue(depth_bytes)
            ns = queue.put(virtual_ns + self.added_ns, event.byte_ns)
        elif isinstance(event, StorageCommand):
            ns = self._storage_ns(event)
        else:
            return 0
        self.added_ns += ns
        return ns


def transfers_ns(events: Iterable[DeviceEvent], board: Board) -> dict[int, int]:
    """Record of each command with data -> how long the board's storage works on it, in ns."""
    cost_ns = _storage_costs(board)
    return {event.index: cost_ns(event) for event in events if isinstance(event, StorageCommand)}


def _storage_costs(board: Board) -> Callable[[StorageCommand], int]:
    """The cost in ns of a command of the board's storage."""
    storage, card = board.storage_device, board.card
    return lambda event: storage.event_ns(event, card)


def costs(records: list[Record], events: Iterable[DeviceEvent], board: Board) -> list[Cost]:
    """The costs of `events`, in stream order, without those that are zero."""
    add = CostModel(board).add
    return [
        Cost(event.index, "console" if isinstance(event, ConsoleByte) else "storage", ns)
        for event in events
        if (ns := add(event, records[event.index].time_ns))
    ]


def costs_ns(records: list[Record], events: Iterable[DeviceEvent], board: Board) -> Iterator[tuple[int, int]]:
    """(record, ns) of each event, like :func:`costs`, but including zeros; for callers that only add up."""
    add = CostModel(board).add
    return ((event.index, add(event, records[event.index].time_ns)) for event in events)


def waits_for_transfers(events: Iterable[DeviceEvent], found: Iterable[Cost]) -> dict[int, int]:
    """Record of a command with data -> what the boot waited for storage, in ns, from it to the next one."""
    commands = [event.index for event in events if isinstance(event, StorageCommand)]
    waited: dict[int, int] = {}
    for cost in found:
        at = bisect_right(commands, cost.index) - 1
        if cost.kind == "storage" and at >= 0:
            waited[commands[at]] = waited.get(commands[at], 0) + cost.ns
    return waited


class BoardClock:
    """Board time of any record of a boot."""

    def __init__(self, records: list[Record], found: list[Cost], power_on_ns: int) -> None:
        self._records = records
        self._indexes = [cost.index for cost in found]
        self._sums = list(accumulate((cost.ns for cost in found), initial=power_on_ns))

    def after(self, index: int) -> int:
        """The end of record `index`: its own cost included."""
        return self._records[index].time_ns + self._sums[bisect_right(self._indexes, index)]

    def before(self, index: int) -> int:
        """The start of record `index`: its own cost not included."""
        return self._records[index].time_ns + self._sums[bisect_left(self._indexes, index)]
