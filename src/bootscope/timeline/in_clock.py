# SPDX-License-Identifier: Apache-2.0
"""What devices took in a boot whose clock already contains their time (guest-clock=board).

Nothing is added to such a boot. Its times are split into what the CPU did and what it waited for, so that all
views work as for any other boot: records get the times that they would have without waits, and each wait
becomes a cost. There are two kinds of wait:

- the CPU polled a device that was not ready (capture/records.py, Waited)
- the CPU slept while the card was busy
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

import msgspec

from bootscope.boards.profile import Board
from bootscope.capture.record import RunInfo
from bootscope.capture.stream import Idle, Record, Waited
from bootscope.devices.model import DeviceEvent
from bootscope.timeline.costs import Cost, CostKind, transfers_ns

Busy = list[tuple[int, int]]


def split_waits(
    records: list[Record], events: Iterable[DeviceEvent], run: RunInfo
) -> tuple[list[Record], list[Cost]]:
    """The records without the time of devices, and that time as costs, both in ns and in stream order."""
    busy = _card_busy(records, events, run.board)
    ends = [end for _, end in busy]
    moved: list[Record] = []
    found: list[Cost] = []
    taken_ns = 0
    for index, record in enumerate(records):
        kind: CostKind = "storage"
        ns = 0
        if isinstance(record, Waited):
            kind = "storage" if run.watch.devices.get(record.device) == run.board.storage else "console"
            ns = record.duration_ns
        elif isinstance(record, Idle):
            ns = _overlap_ns(busy, ends, record.time_ns - record.duration_ns, record.time_ns)
            record = msgspec.structs.replace(record, duration_ns=record.duration_ns - ns)
        if ns:
            taken_ns += ns
            found.append(Cost(index, kind, ns))
        moved.append(msgspec.structs.replace(record, time_ns=record.time_ns - taken_ns))
    return moved, found


def _card_busy(records: list[Record], events: Iterable[DeviceEvent], board: Board) -> Busy:
    """When the card worked, in ns of the guest's clock: stretches in order, apart from each other."""
    found: Busy = []
    last_ns = 0
    for index, ns in transfers_ns(events, board).items():
        start_ns = max(last_ns, records[index].time_ns)
        last_ns = start_ns + ns
        found.append((start_ns, last_ns))
    return found


def _overlap_ns(busy: Busy, ends: list[int], start_ns: int, end_ns: int) -> int:
    """How much of a stretch of time the card was busy."""
    total_ns = 0
    for first, last in busy[bisect_right(ends, start_ns) :]:
        if first >= end_ns:
            break
        total_ns += max(0, min(last, end_ns) - max(first, start_ns))
    return total_ns
