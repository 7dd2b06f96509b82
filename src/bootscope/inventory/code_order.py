# SPDX-License-Identifier: Apache-2.0
"""The kernel's functions in the order in which a boot first ran them, for `kernel.function_order`.

Counts of caches show every function of a boot; without them, only functions hit by samples are known.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from bootscope.analysis.timing import core_counted, find_timing
from bootscope.capture import objects
from bootscope.capture.stream import Sample
from bootscope.core.errors import UserError
from bootscope.core.text import span
from bootscope.cores.counts import Count
from bootscope.inventory.inventory import Inventory
from bootscope.inventory.recorded import Recorded, Unrecorded
from bootscope.timeline.core_time import Timing

SETTING = "kernel.function_order"
_FETCHES = (Count.FETCH_L2, Count.FETCH_MEMORY)
_SYMBOL = re.compile(r"^([0-9a-f]{8,16}) (\w) (\S+)$", re.MULTILINE)
_CODE = ("t", "T", "w", "W")
_FIRST, _END = "_stext", "__init_begin"
"""Code between them stays in memory. Code for set-up only is elsewhere, and is freed."""
_UP_TO_DATE = 99
"""An existing order is kept while its functions execute at least this percentage of the instructions."""


@dataclass
class Ran:
    """A function: when it first ran, and how often or how much."""

    first: int
    weight: int


def functions_in_order(known: Inventory) -> str:
    """Names of functions that ran, in order of their first run, separated by spaces; the system's existing
    order where that fits this kernel. Raises UserError without a recorded boot."""
    if not isinstance(known, Recorded):
        raise Unrecorded("which functions of the kernel a boot runs is not known without a recording")
    ran = functions_that_ran(known)
    if not ran:
        raise UserError("the boot does not show which functions of the kernel ran")
    now = known.settings.get(SETTING, "")
    there = set(now.split())
    covered = sum(function.weight for name, function in ran.items() if name in there)
    if covered * 100 >= _UP_TO_DATE * sum(function.weight for function in ran.values()):
        return now
    return " ".join(sorted(ran, key=lambda name: (ran[name].first, name)))


def functions_that_ran(facts: Recorded) -> dict[str, Ran]:
    """The functions of the kernel outside of its set-up code, by name."""
    text = facts.view.evidence.load(objects.KERNEL_SYMBOLS).decode("utf-8", "replace")
    symbols = sorted((int(m[1], 16), m[3]) for m in _SYMBOL.finditer(text) if m[2] in _CODE)
    named = {m[3]: int(m[1], 16) for m in _SYMBOL.finditer(text)}
    low = named.get(_FIRST, facts.view.evidence.arch.kernel.first_address)
    high = named.get(_END, 1 << 64)
    starts = [address for address, _ in symbols]
    found: dict[str, Ran] = {}
    for address, first, weight in _seen(facts):
        at = bisect_right(starts, address) - 1
        if low <= address < high and at >= 0:
            ran = found.setdefault(symbols[at][1], Ran(first, 0))
            ran.first = min(ran.first, first)
            ran.weight += weight
    return found


def counted(facts: Recorded) -> Timing | None:
    """The counts of the boot: for the core that it is viewed with, or else for the only one."""
    seen = facts.view
    core = seen.core or core_counted(seen.run)
    return find_timing(seen.run, seen.boot, core) if core else None


def _seen(facts: Recorded) -> Iterator[tuple[int, int, int]]:
    """(address, time of the first run, weight) of code that ran."""
    timing = counted(facts)
    if timing:
        for blocks in timing.counted.parts:
            yield from ((block.address, block.first_ns, block.instructions) for block in blocks)
        return
    records = facts.view.evidence.records
    yield from ((r.pc, index, 1) for index, r in enumerate(records) if isinstance(r, Sample))


def misses(facts: Recorded) -> str:
    """The cost of instruction fetches of the kernel's code that miss the first cache, in words; empty where
    that was not counted, or is zero."""
    timing = counted(facts)
    if timing is None:
        return ""
    first = facts.view.evidence.arch.kernel.first_address
    inside = [block.counts for blocks in timing.counted.parts for block in blocks if block.address >= first]
    times = [sum(counts[kind] for counts in inside) for kind in _FETCHES]
    ns = sum(n * timing.price.event_ps[kind] for n, kind in zip(times, _FETCHES, strict=True)) // 1000
    told = f"kernel code: {times[0]:,} lines from the second cache, {times[1]:,} from memory: {span(ns)}"
    return told if any(times) else ""


FOUND = {"functions_in_order": functions_in_order}
"""Placeholders, and functions for their values in a system."""
