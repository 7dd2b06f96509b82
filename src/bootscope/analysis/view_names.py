# SPDX-License-Identifier: Apache-2.0
"""What the views of a boot are called, and what may be asked of them; all_views.py makes them."""

from __future__ import annotations

from bootscope.core.errors import unknown
from bootscope.timeline.model import Timeline

CRITICAL_PATH = "critical-path"
MEMORY = "memory"
"""A view that only boots have whose caches were counted."""
SILENCES = "silences"
NAMES = (
    "initcalls",
    "functions",
    "processes",
    "storage",
    "console",
    "waits",
    SILENCES,
    CRITICAL_PATH,
    "floor",
)
UNITS = "units"
"""A view that only boots with systemd have."""
PROBES = "probes"
"""A view that only boots have of which functions were asked for: `record --probe`."""
SYSCALLS = "syscalls"
"""A view that only boots have whose system calls were recorded: `record --syscalls`."""
SIZES = "sizes"
"""Bytes of the programs; nothing that takes time, so no part of a report."""
CPUS = "cpus"
"""A view that only boots of several CPUs have."""


def check_milestone(timeline: Timeline, milestone: str) -> None:
    """Raises UserError for a milestone that the boot does not have."""
    if milestone not in timeline.milestones:
        raise unknown("milestone", milestone, list(timeline.milestones))


def check_phase(timeline: Timeline, phase: str | None) -> None:
    """Raises UserError for a phase that the boot does not have."""
    phases = [p.name for p in timeline.phases]
    if phase is not None and phase not in phases:
        raise unknown("phase", phase, phases)
