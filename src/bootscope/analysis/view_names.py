# SPDX-License-Identifier: Apache-2.0
"""The names of a boot's views, and checks of what may be requested of them; all_views.py makes them."""

from __future__ import annotations

from bootscope.core.errors import unknown
from bootscope.timeline.model import Timeline

CRITICAL_PATH = "critical-path"
MEMORY = "memory"
"""Only for boots whose caches were counted."""
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
"""Only for boots with systemd."""
PROBES = "probes"
"""Only for boots recorded with functions to watch: `record --probe`."""
SYSCALLS = "syscalls"
"""Only for boots whose system calls were recorded: `record --syscalls`."""
SIZES = "sizes"
"""Bytes of the programs; no times, so not in reports."""
CPUS = "cpus"
"""Only for boots of several CPUs."""


def check_milestone(timeline: Timeline, milestone: str) -> None:
    """Raises UserError for a milestone that the boot does not have."""
    if milestone not in timeline.milestones:
        raise unknown("milestone", milestone, list(timeline.milestones))


def check_phase(timeline: Timeline, phase: str | None) -> None:
    """Raises UserError for a phase that the boot does not have."""
    phases = [p.name for p in timeline.phases]
    if phase is not None and phase not in phases:
        raise unknown("phase", phase, phases)
