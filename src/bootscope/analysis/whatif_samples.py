# SPDX-License-Identifier: Apache-2.0
"""What if some functions took less time? Predicted from stack samples."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Container, Iterable
from fractions import Fraction

from bootscope.analysis.kernel_activity import Task
from bootscope.analysis.whatif_plan import KERNEL_PHASES, Ground, Plan
from bootscope.capture.stream import Record, Sample, StackSample


def briefer(
    plan: Plan, stays: Iterable[tuple[Iterable[str], Fraction]], tasks: Container[Task] | None = None
) -> int:
    """Removes a share of each stack sample with certain functions in it; returns the number of such samples.

    `stays`: (names of functions, the share of their time that stays); the first entry with a function of the
    call path counts. With `tasks`, only samples of these count.
    """
    evidence, samples = plan.ground.evidence, plan.ground.stacked
    shares = [(frozenset(names), share) for names, share in stays]
    spans = [span for names, _ in shares for name in names for span in evidence.names.spans(name)]
    phases = {p.name: p for p in evidence.timeline.phases}
    counts = Counter(phase for _, phase in samples)
    hits = 0
    kernel = evidence.arch.kernel.first_address
    for index, phase in samples:
        addresses = plan.ground.addresses.get(index, [])
        if not _may_hold(evidence.records[index], kernel if phase in KERNEL_PHASES else 0, addresses, spans):
            continue
        if tasks is not None and evidence.slice_at(evidence.clock.before(index)).task not in tasks:
            continue
        path = _path(plan.ground, index, phase)
        share = next((share for names, share in shares if path & names), None)
        if share is not None:
            plan.sample(index, int(phases[phase].cpu_ns // counts[phase] * (1 - share)))
            hits += 1
    return hits


def _may_hold(record: Record, users: int, addresses: list[int], spans: list[tuple[int, int]]) -> bool:
    """Whether a sample with these addresses may be of code in `spans`, or of a user program, which lie below
    `users`; certainty costs a hundred times as much."""
    if not isinstance(record, StackSample) or record.pc < users:
        return True
    return any(bisect_left(addresses, start) < bisect_right(addresses, end) for start, end in spans)


def _path(ground: Ground, index: int, phase: str) -> frozenset[str]:
    """The functions of a sample's call path, also without the suffixes that compilers add; only the innermost
    if the program is not unwound."""
    evidence, names = ground.evidence, list[str]()
    record = evidence.records[index]
    if isinstance(record, StackSample):
        names, _ = ground.stacks.functions(record, phase)
    if not names and isinstance(record, Sample | StackSample):
        now = evidence.clock.before(index)
        named = evidence.names.name(phase, record.pc, evidence.slice_at(now).task, now)
        names = [named.rpartition(" ")[2]]
    return frozenset(part for name in names for part in (name, name.partition(".")[0]))
