# SPDX-License-Identifier: Apache-2.0
"""What the time of a boot was spent on, ranked."""

from __future__ import annotations

from collections import defaultdict

from bootscope.analysis.consumers import Consumer, not_cpu
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.functions import self_times
from bootscope.analysis.storage import accesses


def consumers(evidence: Evidence) -> list[Consumer]:
    """All consumers, largest first. Those of one phase add up to the phase.

    CPU time is divided by samples of the program counter, so its parts are estimates (their sum is exact);
    everything else is exact.
    """
    found = [Consumer(phase, "cpu", name, ns) for (phase, name), ns in self_times(evidence).items()]
    found += _storage(evidence)
    for phase in evidence.timeline.phases:
        found += [Consumer(phase.name, kind, what, ns) for kind, what, ns in not_cpu(phase)]
    return sorted((c for c in found if c.ns), key=lambda c: -c.ns)


def _storage(evidence: Evidence) -> list[Consumer]:
    sums: dict[tuple[str, str], int] = defaultdict(int)
    for access in accesses(evidence):
        verb = "writing" if access.write else "reading"
        # By the phase in which the command was given, as in the timeline.
        phase = evidence.phase_at(evidence.clock.before(access.index))
        sums[phase, f"{verb} {access.what}"] += access.cost_ns
    return [Consumer(phase, "storage", what, ns) for (phase, what), ns in sums.items()]
