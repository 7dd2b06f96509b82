# SPDX-License-Identifier: Apache-2.0
"""Sleeps of the kernel's own threads that the boot waits for, outside of initcalls and probes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from bootscope.analysis.critical import SLEEPS, Step
from bootscope.analysis.kernel_activity import Task
from bootscope.analysis.waits import reason
from bootscope.audit.culprits.model import Culprit, Cure
from bootscope.audit.culprits.recorded import KERNEL, RecordedBoot

_CURE = Cure(
    "check what it waits for", ("kernel-async-probe", "kernel-driver-params", "kernel-remove-unused")
)


def find(boot: RecordedBoot) -> Iterator[Culprit]:
    """One for each function that sleeps, and who is in it."""
    groups: dict[tuple[str, str], list[Step]] = defaultdict(list)
    for step in boot.ground.steps:
        if step.how == SLEEPS and step.wait and _outside(boot, step.task, step.start_ns):
            groups[reason(step.wait, boot.evidence, boot.ground.stacks)].append(step)
    for (who, what), steps in groups.items():
        yield Culprit(
            kind="sleeps",
            what=f"the kernel waits in {what}",
            where=f"{who}, {len(steps)} times" if len(steps) > 1 else who,
            cost_ns=sum(s.end_ns - s.start_ns for s in steps),
            start_ns=steps[0].start_ns,
            end_ns=steps[-1].end_ns,
            seen_in="--view critical-path",
            cure=_CURE,
        )


def _outside(boot: RecordedBoot, task: Task, at_ns: int) -> bool:
    """Whether a task runs no program yet, and is in no initcall or probe."""
    calls = (c for c in boot.evidence.calls_of(task) if c.kind in KERNEL)
    early = task.kernel or not task.execs or at_ns < task.execs[0].at_ns
    return early and not any(c.start_ns <= at_ns < c.end_ns for c in calls)
