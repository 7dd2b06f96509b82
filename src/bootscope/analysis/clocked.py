# SPDX-License-Identifier: Apache-2.0
"""CPU time that a different clock rate leaves unchanged, from samples.

Delays with hooks are known to the timeline (timeline/cpu_time.py). This covers what has no hooks: loops that
poll a clock until enough time has passed, and what the CPU does while the boot waits for a sleep to end.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter

from bootscope.analysis.critical import SLEEPS
from bootscope.analysis.whatif_plan import KERNEL_PHASES, Gone, Ground, Plan, removed
from bootscope.capture.stream import Sample, StackSample
from bootscope.timeline.cpu_time import CpuTime

GATHERS_RANDOM = "try_to_generate_entropy"
"""Of Linux: it collects the jitter of its timer, one bit per tick (drivers/char/random.c of 6.12)."""


def unscaled_ns(ground: Ground, plan: Plan) -> int:
    """How long the CPU computes in loops that wait for a clock, or while the path to the end is asleep,
    without what a plan removes."""
    gone = Gone(plan.gone)
    saved = removed(plan, gone)
    sleeps = [(s.start_ns, s.end_ns) for s in ground.steps if s.how == SLEEPS]
    starts, before = [start for start, _ in sleeps], ground.evidence.clock.before
    loops = _in_loops(ground)
    found = 0
    for index, ns in _computed(ground).items():
        now = before(index)
        if now in gone:
            continue
        # A sample stands for the time before it.
        at = bisect_left(starts, now) - 1
        if index in loops or (at >= 0 and now <= sleeps[at][1]):
            found += max(0, ns - saved.get(index, 0))
    return found


def _computed(ground: Ground) -> dict[int, int]:
    """Record of a sample -> how long the CPU computed since the previous sample, in ns."""
    evidence, wanted = ground.evidence, {index for index, _ in ground.stacked}
    passed, found, last_ns = CpuTime(evidence.run.watch.hooks), dict[int, int](), 0
    for index, record in enumerate(evidence.records):
        passed.feed(record)
        if index in wanted:
            found[index], last_ns = passed.computing_ns - last_ns, passed.computing_ns
    return found


def _in_loops(ground: Ground) -> set[int]:
    """The samples in loops that wait for a clock: in Linux by name; in boot loaders, functions that read the
    clock in at least half of their samples."""
    clocks = ground.evidence.run.board.boot_loader.clocks
    found = set[int]()
    of: dict[int, tuple[str, str]] = {}
    asked, all_of = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for index, phase in ground.stacked:
        names = _names(ground, index, phase)
        if phase in KERNEL_PHASES:
            found |= {index} if GATHERS_RANDOM in names else set()
            continue
        asks = max((at for at, name in enumerate(names) if name in clocks), default=-1)
        if asks + 1 < len(names):
            own = of[index] = phase, names[asks + 1]
            all_of[own] += 1
            asked[own] += asks >= 0
    return found | {index for index, own in of.items() if asked[own] * 2 >= all_of[own]}


def _names(ground: Ground, index: int, phase: str) -> list[str]:
    """The functions of a sample, the innermost first; none if its stack is unknown."""
    record = ground.evidence.records[index]
    if isinstance(record, StackSample):
        return ground.stacks.functions(record, phase)[0]
    if isinstance(record, Sample):
        evidence, now = ground.evidence, ground.evidence.clock.before(index)
        return [evidence.names.name(phase, record.pc, evidence.slice_at(now).task, now).rpartition(" ")[2]]
    return []
