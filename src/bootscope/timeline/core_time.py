# SPDX-License-Identifier: Apache-2.0
"""Virtual time as it would be on a core with caches and memory.

Virtual time is instructions times a tick. With the results of a counting pass (capture/counted.py) the same
instructions take

    instructions x base time + branches + waits for caches, memory and devices

Three kinds of virtual time stay the same: sleeps of the CPU, loops that wait for a clock, and loops that poll
a device or a clock of the CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from operator import add

import msgspec

from bootscope.capture.counted import Counted, Entry, is_event
from bootscope.capture.record import RunInfo
from bootscope.capture.stream import Idle, Record, Sample
from bootscope.cores.counts import NONE, Count, Counts
from bootscope.cores.price import Price, price
from bootscope.cores.profile import Core
from bootscope.timeline.cpu_time import CpuTime

_PS = 1000


@dataclass(frozen=True)
class Timing:
    """A core, and its counts in one boot. They are read on first use, which takes a second and raises
    UserError when they are damaged; `digest` identifies them."""

    core: Core
    read: Callable[[], Counted]
    digest: bytes = b""

    @cached_property
    def counted(self) -> Counted:
        """The counts."""
        return self.read()

    @cached_property
    def price(self) -> Price:
        """The core's costs."""
        return price(self.core)


@dataclass(frozen=True)
class Spread:
    """Times of a boot on a core: the new virtual time of each record, the time waited for memory and devices
    up to it, and the time of loops that wait for a clock or poll a device, which is the same on every core.
    All in ns."""

    records: list[Record]
    memory_ns: list[int]
    clocked_ns: list[int]


@dataclass(slots=True)
class _Stretch:
    """Records from one entry to the next: the virtual time since the first in which the CPU computed, and
    that which passes equally on any CPU; and the counts."""

    computing_ns: list[int] = field(default_factory=list)
    steady_ns: list[int] = field(default_factory=list)
    counts: Counts = NONE


def on_core(records: list[Record], run: RunInfo, timing: Timing) -> Spread:
    """The records with their virtual times as they would be on a core."""
    prices, tick_ns = timing.price, run.board.tick_ns
    steady_ns = cpu_ps = memory_ps = polled_ps = 0
    times: list[int] = []
    memory: list[int] = []
    clocked: list[int] = []
    slept = accumulate(record.duration_ns if isinstance(record, Idle) else 0 for record in records)
    for part in _stretches(records, run, timing.counted.entries):
        whole_ps, waits_ps, asking_ps = _cost(part, prices, tick_ns)
        computing = part.computing_ns[-1] or 1
        for done_ns, still_ns in zip(part.computing_ns, part.steady_ns, strict=True):
            # Within a stretch, everything is spread evenly.
            times.append(steady_ns + still_ns + (cpu_ps + whole_ps * done_ns // computing) // _PS)
            memory.append((memory_ps + waits_ps * done_ns // computing) // _PS)
            asked_ns = (polled_ps + asking_ps * done_ns // computing) // _PS
            clocked.append(max(0, steady_ns + still_ns - next(slept)) + asked_ns)
        steady_ns += part.steady_ns[-1]
        cpu_ps += whole_ps
        memory_ps += waits_ps
        polled_ps += asking_ps
    moved = [msgspec.structs.replace(r, time_ns=ns) for r, ns in zip(records, times, strict=True)]
    return Spread(moved, memory, clocked)


def _cost(part: _Stretch, prices: Price, tick_ns: int) -> tuple[int, int, int]:
    """The time that the computing of a stretch takes, in ps, the part of that waiting for memory, and the
    part polling a device or a clock."""
    computing_ns = part.computing_ns[-1]
    if not computing_ns:
        # It waits for a clock, so that waiting for memory adds nothing.
        return 0, 0, 0
    polled_ns = min(part.counts[Count.POLLED_NS], computing_ns)
    waits_ps = prices.memory_ps(part.counts)
    issue_ps = (computing_ns - polled_ns) // tick_ns * prices.instruction_ps + prices.more_ps(part.counts)
    return issue_ps + waits_ps + polled_ns * _PS, waits_ps, polled_ns * _PS


def _stretches(records: list[Record], run: RunInfo, entries: Sequence[Entry]) -> Iterator[_Stretch]:
    """The records, split where an entry of counts ends."""
    passed = CpuTime(run.watch.hooks)
    ends = joined(records, entries)
    part, computing, steady = _Stretch(), 0, 0
    for index, record in enumerate(records):
        passed.feed(record)
        part.computing_ns.append(passed.computing_ns - computing)
        part.steady_ns.append(passed.steady_ns - steady)
        if index in ends:
            part.counts = ends[index]
            yield part
            part, computing, steady = _Stretch(), passed.computing_ns, passed.steady_ns
    if part.computing_ns:
        yield part


def joined(records: list[Record], entries: Sequence[Entry]) -> dict[int, Counts]:
    """The counts up to each record: entries of events belong to events, those of samples in between to the
    samples there, in order. Counts of samples that a recording lacks are added to the next entry."""
    found: dict[int, Counts] = {}
    at = events = 0
    for index, record in enumerate(records):
        before = at
        if is_event(record):
            events += 1
            while at < len(entries) and entries[at].events < events:
                at += 1
            at += at < len(entries) and (entries[at].events, entries[at].sample) == (events, False)
        elif isinstance(record, Sample):
            at += at < len(entries) and (entries[at].events, entries[at].sample) == (events, True)
        if at > before:
            found[index] = _sum(entries[before:at])
    if records and at < len(entries):
        last = len(records) - 1
        found[last] = _sum([*entries[at:], Entry(0, False, found.get(last, NONE))])
    return found


def _sum(entries: Sequence[Entry]) -> Counts:
    counts = entries[0].counts
    for entry in entries[1:]:
        counts = tuple(map(add, counts, entry.counts))
    return counts
