# SPDX-License-Identifier: Apache-2.0
"""What if some functions took less time? Told from samples of the stack."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container, Iterable
from fractions import Fraction

from bootscope.analysis.evidence import Evidence
from bootscope.analysis.functions import Stacks
from bootscope.analysis.kernel_activity import Task
from bootscope.analysis.whatif_plan import KERNEL_PHASES, Plan
from bootscope.capture.stream import Record, Sample, StackSample


def briefer(
    plan: Plan,
    evidence: Evidence,
    stacks: Stacks,
    names: Iterable[str],
    share_of: Callable[[frozenset[str]], Fraction | None],
    tasks: Container[Task] | None = None,
) -> int:
    """Takes a share out of each sample of the stack that has one of `names`; returns how many there were.

    `share_of` maps the functions of a call path to the share that stays, None for all of it; with `tasks`
    only samples of these count.
    """
    spans = [span for name in names for span in evidence.names.spans(name)]
    phases = {p.name: p for p in evidence.timeline.phases}
    samples = plan.ground.stacked
    counts: dict[str, int] = {}
    for _, phase in samples:
        counts[phase] = counts.get(phase, 0) + 1
    hits = 0
    kernel = evidence.arch.kernel.first_address
    for index, phase in samples:
        addresses = plan.ground.addresses.get(index, [])
        if not _may_hold(evidence.records[index], kernel if phase in KERNEL_PHASES else 0, addresses, spans):
            continue
        if tasks is not None and evidence.slice_at(evidence.clock.before(index)).task not in tasks:
            continue
        share = share_of(_path(evidence, stacks, index, phase))
        if share is not None:
            plan.sample(index, int(phases[phase].cpu_ns // counts[phase] * (1 - share)))
            hits += 1
    return hits


def _may_hold(record: Record, users: int, addresses: list[int], spans: list[tuple[int, int]]) -> bool:
    """Whether a sample with these addresses may be of code in `spans`, or of a user program, which lie below
    `users`; finding out costs a hundred times as much."""
    if not isinstance(record, StackSample):
        return True
    if record.pc < users:
        return True
    return any(bisect_left(addresses, start) < bisect_right(addresses, end) for start, end in spans)


def _path(evidence: Evidence, stacks: Stacks, index: int, phase: str) -> frozenset[str]:
    """The functions of a sample's call path, without what compilers add to their names; of a program that
    is not unwound the innermost alone."""
    record = evidence.records[index]
    names: list[str] = []
    if isinstance(record, StackSample):
        names, _ = stacks.functions(record, phase)
    if not names and isinstance(record, Sample | StackSample):
        now = evidence.clock.before(index)
        named = evidence.names.name(phase, record.pc, evidence.slice_at(now).task, now)
        names = [named.rpartition(" ")[2]]
    return frozenset(part for name in names for part in (name, name.partition(".")[0]))
