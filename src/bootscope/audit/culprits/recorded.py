# SPDX-License-Identifier: Apache-2.0
"""A boot of an emulated board as the finders of culprits use it: how much of what the milestone waited for
was in each call itself, without its inner calls."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from bootscope.analysis import waits
from bootscope.analysis.critical import READY, RUNS, Step
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.initcalls import LOADER_KINDS
from bootscope.analysis.kernel_activity import Call, Task
from bootscope.analysis.whatif_plan import Ground
from bootscope.audit.culprits.model import Culprit

KERNEL = ("initcall", "probe")
SMALL = 200
"""What takes less than one 200th of a boot is no culprit."""
Segment = tuple[int, int, Call]


@dataclass(frozen=True, slots=True)
class Own:
    """Time in ns: on the CPU, and asleep. The time of devices is counted elsewhere."""

    cpu_ns: int = 0
    asleep_ns: int = 0

    @property
    def ns(self) -> int:
        """Both."""
        return self.cpu_ns + self.asleep_ns

    def __add__(self, other: Own) -> Own:
        return Own(self.cpu_ns + other.cpu_ns, self.asleep_ns + other.asleep_ns)


@dataclass(frozen=True)
class RecordedBoot:
    """A boot, with what was already computed of it for predictions."""

    evidence: Evidence
    ground: Ground

    def without_devices(self, culprit: Culprit) -> Culprit:
        """The same without the time of storage and console in its stretch, which is counted elsewhere."""
        ends = (culprit.start_ns, culprit.end_ns)
        storage_ns, console_ns = self.evidence.ledger.devices(*(index_at(self.evidence, ns) for ns in ends))
        return replace(culprit, cost_ns=max(0, culprit.cost_ns - storage_ns - console_ns))

    @cached_property
    def countdown(self) -> list[Call]:
        """The boot loader's delays while it waits for a key."""
        return waits.countdown(self.evidence)

    @cached_property
    def own(self) -> dict[Call, Own]:
        """Steps of boot loaders, initcalls, probes and the countdown, with the critical path's time in
        each."""
        found: dict[Call, Own] = defaultdict(Own)
        kinds, waits_for_key = {*LOADER_KINDS, *KERNEL}, set(self.countdown)
        for task, steps in by_task(self.ground.steps).items():
            calls = [c for c in self.evidence.calls_of(task) if c.kind in kinds or c in waits_for_key]
            for step, start, end, call in _common(steps, list(_innermost(calls))):
                found[call] += spent(self.evidence, step, start, end)
        return found


def by_task(steps: Sequence[Step]) -> dict[Task, list[Step]]:
    """The steps of each task in which it ran or slept, in order of time."""
    found: dict[Task, list[Step]] = defaultdict(list)
    for step in steps:
        if step.how != READY:
            found[step.task].append(step)
    return found


def spent(evidence: Evidence, step: Step, start_ns: int, end_ns: int) -> Own:
    """What the time of a step between two moments went into."""
    if step.how != RUNS:
        return Own(asleep_ns=end_ns - start_ns)
    first, last = (index_at(evidence, ns) for ns in (start_ns, end_ns))
    found = evidence.ledger.spent(step.task, start_ns, end_ns, first, last)
    return Own(max(0, end_ns - start_ns - found.storage_ns - found.console_ns))


def index_at(evidence: Evidence, time_ns: int) -> int:
    """The first record that begins at or after a moment. Called rarely, so no list is kept."""
    return bisect_left(range(len(evidence.records)), time_ns, key=evidence.clock.before)


def _innermost(calls: Sequence[Call]) -> Iterator[Segment]:
    """Stretches in which a call is the innermost one, in order; `calls` are outer before inner."""
    stack: list[Call] = []
    at_ns = 0
    for call in (*calls, None):
        while stack and (call is None or stack[-1].end_ns <= call.start_ns):
            top = stack.pop()
            yield at_ns, top.end_ns, top
            at_ns = max(at_ns, top.end_ns)
        if call:
            if stack:
                yield at_ns, call.start_ns, stack[-1]
            stack.append(call)
            at_ns = call.start_ns


def _common(steps: Sequence[Step], segments: Sequence[Segment]) -> Iterator[tuple[Step, int, int, Call]]:
    """The overlaps of steps and segments; both are in order of time."""
    at = 0
    for step in steps:
        while at < len(segments) and segments[at][1] <= step.start_ns:
            at += 1
        number = at
        while number < len(segments) and segments[number][0] < step.end_ns:
            start, end, call = segments[number]
            start, end = max(start, step.start_ns), min(end, step.end_ns)
            if end > start:
                yield step, start, end, call
            number += 1
