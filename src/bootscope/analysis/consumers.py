# SPDX-License-Identifier: Apache-2.0
"""What the time of a boot went into, ranked: functions, sleep, storage, console, fixed costs."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bootscope.timeline.model import Phase

if TYPE_CHECKING:
    # Who reads consumers out of an index has no use for what makes them.
    from bootscope.analysis.evidence import Evidence


@dataclass(frozen=True, slots=True)
class Consumer:
    """`ns` of board time went into `what` (of kind cpu, idle, storage, console, fixed) in a phase."""

    phase: str
    kind: str
    what: str
    ns: int


def phase_at(phases: tuple[Phase, ...], time_ns: int) -> Phase:
    """The phase that a time of the boot lies in."""
    at = bisect_right([phase.start_ns for phase in phases], time_ns) - 1
    return phases[max(0, at)]


def not_cpu(phase: Phase) -> tuple[tuple[str, str, int], ...]:
    """(kind, in words, ns) of what a phase went into besides CPU and storage."""
    return (
        ("console", "waiting for the serial line", phase.console_ns),
        ("idle", "CPU asleep", phase.idle_ns),
        ("fixed", "power-up and ROM", phase.fixed_ns),
    )


def consumers(evidence: Evidence) -> list[Consumer]:
    """All consumers, largest first. Those of one phase add up to the phase.

    CPU time is shared out by samples of the program counter, so its parts are estimates (their sum
    is not); everything else is exact.
    """
    from bootscope.analysis.functions import self_times

    found = [Consumer(phase, "cpu", name, ns) for (phase, name), ns in self_times(evidence).items()]
    found += _storage(evidence)
    for phase in evidence.timeline.phases:
        found += [Consumer(phase.name, kind, what, ns) for kind, what, ns in not_cpu(phase)]
    return sorted((c for c in found if c.ns), key=lambda c: -c.ns)


def _storage(evidence: Evidence) -> list[Consumer]:
    from bootscope.analysis.storage import accesses

    sums: dict[tuple[str, str], int] = defaultdict(int)
    for access in accesses(evidence):
        verb = "writing" if access.write else "reading"
        # By the phase in which the command was given, as the timeline counts it.
        phase = evidence.phase_at(evidence.clock.before(access.index))
        sums[phase, f"{verb} {access.what}"] += access.cost_ns
    return [Consumer(phase, "storage", what, ns) for (phase, what), ns in sums.items()]
