# SPDX-License-Identifier: Apache-2.0
"""What the time of a boot was spent on, one record each; ranking.py makes them."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from bootscope.timeline.model import Phase


@dataclass(frozen=True, slots=True)
class Consumer:
    """`ns` of board time were spent on `what` (of kind cpu, idle, storage, console, fixed) in a phase."""

    phase: str
    kind: str
    what: str
    ns: int


def phase_at(phases: tuple[Phase, ...], time_ns: int) -> Phase:
    """The phase that a time of the boot lies in."""
    at = bisect_right([phase.start_ns for phase in phases], time_ns) - 1
    return phases[max(0, at)]


def not_cpu(phase: Phase) -> tuple[tuple[str, str, int], ...]:
    """(kind, in words, ns) of what a phase spent on anything but CPU and storage."""
    return (
        ("console", "waiting for the serial line", phase.console_ns),
        ("idle", "CPU asleep", phase.idle_ns),
        ("fixed", "power-up and ROM", phase.fixed_ns),
    )
