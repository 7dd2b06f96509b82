# SPDX-License-Identifier: Apache-2.0
"""From counts to time: the cost of each kind of event on a core, in picoseconds."""

from __future__ import annotations

from dataclasses import dataclass
from operator import mul

from bootscope.core.settings import Sourced
from bootscope.cores.counts import Count, Counts
from bootscope.cores.profile import Classes, Core, Unaligned

_PS_A_SECOND = 10**12
_PS = 1000
ISSUE = (
    *(Count.TAKEN, Count.MISPREDICTED, Count.MULTIPLY, Count.DIVIDE, Count.SHIFT, Count.SCALED),
    *(Count.MORE_REGISTERS, Count.LOAD_USE, Count.NARROW_USE, Count.SPLIT_LOAD, Count.SPLIT_STORE),
)
"""Parts of issuing instructions, not of waiting for memory."""
PARTS: dict[str, tuple[Count, ...]] = {
    "l2": (Count.FETCH_L2, Count.LOAD_L2, Count.STORE_L2),
    "read": (Count.FETCH_MEMORY, Count.LOAD_MEMORY, Count.LOAD_STREAM, Count.STORE_FILL),
    "written": (Count.WRITTEN,),
    "walk": (Count.WALK_CODE, Count.WALK_DATA),
    "uncached": (Count.UNCACHED_FETCH, Count.UNCACHED_LOAD, Count.UNCACHED_STORE, Count.SRAM),
    "device": (Count.DEVICE_LOAD, Count.DEVICE_STORE),
}
"""The parts of waiting for memory; they add up to all of it."""
_CLASSES = {
    Count.MULTIPLY: "multiply_millicycles",
    Count.DIVIDE: "divide_millicycles",
    Count.SHIFT: "shift_millicycles",
    Count.SCALED: "scaled_millicycles",
    Count.MORE_REGISTERS: "register_millicycles",
    Count.LOAD_USE: "load_use_millicycles",
    Count.NARROW_USE: "narrow_use_millicycles",
}


@dataclass(frozen=True)
class Price:
    """A core's costs, in picoseconds: of an instruction, and of each kind of event."""

    instruction_ps: int
    event_ps: tuple[int, ...]

    def memory_ps(self, counts: Counts) -> int:
        """Waiting for memory and devices."""
        every: int = sum(map(mul, counts, self.event_ps))
        return every - self.more_ps(counts)

    def more_ps(self, counts: Counts) -> int:
        """The time that branches, classes of instructions and split accesses add to that of instructions."""
        return sum(counts[kind] * self.event_ps[kind] for kind in ISSUE)

    def part_ps(self, counts: Counts, part: str) -> int:
        """One of PARTS of :meth:`memory_ps`."""
        return sum(counts[kind] * self.event_ps[kind] for kind in PARTS[part])


def price(core: Core) -> Price:
    """The costs of a core."""
    costs = core.costs
    hz = costs.clock_hz.value

    def millicycles(number: int) -> int:
        return number * _PS_A_SECOND // (1000 * hz)

    def ns(figure: Sourced) -> int:
        return figure.value * _PS

    second = costs.second_hit_cycles
    hit = millicycles(1000 * second.value) if isinstance(second, Sourced) else 0
    walk = millicycles(1000 * costs.walk_cycles.value)
    each = {
        Count.FETCH_L2: hit,
        Count.LOAD_L2: hit,
        Count.FETCH_MEMORY: ns(costs.read_ns),
        Count.LOAD_MEMORY: ns(costs.read_ns),
        # These are among those above.
        Count.LOAD_STREAM: ns(costs.stream_read_ns) - ns(costs.read_ns),
        Count.STORE_FILL: ns(costs.store_fill_ns),
        Count.WRITTEN: ns(costs.written_line_ns),
        Count.WALK_CODE: walk,
        Count.WALK_DATA: walk,
        Count.UNCACHED_FETCH: ns(costs.uncached_fetch_ns),
        Count.UNCACHED_LOAD: ns(costs.uncached_load_ns),
        Count.UNCACHED_STORE: ns(costs.uncached_store_ns),
        Count.SRAM: ns(costs.sram_ns),
        Count.DEVICE_LOAD: ns(costs.device_load_ns),
        Count.DEVICE_STORE: ns(costs.device_store_ns),
        Count.TAKEN: millicycles(costs.taken_branch_millicycles.value),
        Count.MISPREDICTED: millicycles(1000 * costs.mispredicted_cycles.value),
    }
    if isinstance(core.unaligned, Unaligned):
        each[Count.SPLIT_LOAD] = millicycles(1000 * core.unaligned.load_cycles.value)
        each[Count.SPLIT_STORE] = millicycles(1000 * core.unaligned.store_cycles.value)
    if isinstance(core.classes, Classes):
        for kind, name in _CLASSES.items():
            each[kind] = millicycles(getattr(core.classes, name).value)
    return Price(millicycles(costs.instruction_millicycles.value), tuple(each.get(kind, 0) for kind in Count))
