# SPDX-License-Identifier: Apache-2.0
"""The views that `bootscope show --view` knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from bootscope.analysis import (
    console_cost,
    cpu_rows,
    critical,
    critical_sums,
    functions,
    hook_coverage,
    initcalls,
    lower_bound,
    memory_rows,
    probe_rows,
    processes,
    silence_rows,
    storage,
    syscalls,
    unit_rows,
    waits,
)
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.functions import Stacks
from bootscope.analysis.kernel_activity import Task
from bootscope.analysis.rows import Rows, in_phase
from bootscope.analysis.view_names import (
    CPUS,
    CRITICAL_PATH,
    MEMORY,
    NAMES,
    PROBES,
    SILENCES,
    SIZES,
    SYSCALLS,
    UNITS,
    check_milestone,
    check_phase,
)
from bootscope.core.errors import unknown

# The makers of summed-up views get the phase; the rows of the others have one each.
_MAKERS: dict[str, Callable[[Evidence, Stacks, str | None], tuple[Rows, ...]]] = {
    "initcalls": lambda e, s, p: (initcalls.view(e, _path(e, s)),),
    "functions": lambda e, s, p: (functions.view(e, s.all()),),
    "processes": lambda e, s, p: (processes.view(e, p),),
    "storage": lambda e, s, p: storage.view(e, p),
    "console": lambda e, s, p: console_cost.view(e, p),
    "waits": lambda e, s, p: (waits.view(e, s),),
    SILENCES: lambda e, s, p: (silence_rows.view(e.timeline),),
    CRITICAL_PATH: lambda e, s, p: (
        *(_chain(e, critical.goal(e), e.timeline.total_ns) if p is None else ()),
        *critical_sums.views(e, s, phase=p),
    ),
    "floor": lambda e, s, p: (lower_bound.view(e),),
    UNITS: lambda e, s, p: (unit_rows.recorded(e),),
    PROBES: lambda e, s, p: probe_rows.view(e, p),
    SYSCALLS: lambda e, s, p: syscalls.view(e, p),
    SIZES: lambda e, s, p: _sizes(e),
    CPUS: lambda e, s, p: (cpu_rows.view(e, p),),
    MEMORY: lambda e, s, p: memory_rows.view(e, p),
}


def _sizes(evidence: Evidence) -> tuple[Rows, ...]:
    # No other view loads what reads programs.
    from bootscope.analysis import size_rows

    return size_rows.view(evidence)


def _path(evidence: Evidence, stacks: Stacks) -> Iterator[tuple[int, int, Task]]:
    """The task of each stretch of the critical path, in order of time."""
    steps = critical.path(evidence, stacks, evidence.timeline.total_ns)
    return ((start, end, task) for start, end, task, *_ in critical_sums.shares(steps, evidence))


def _chain(evidence: Evidence, milestone: str, at_ns: int) -> tuple[Rows, ...]:
    """The units that ran before a milestone, if there are any."""
    chain = unit_rows.chain_to(evidence, milestone, at_ns)
    return (chain,) if chain else ()


def path_to(milestone: str, evidence: Evidence, stacks: Stacks) -> tuple[Rows, ...]:
    """The critical path to a milestone other than the last. Raises UserError for an unknown one."""
    check_milestone(evidence.timeline, milestone)
    missing = hook_coverage.notes(CRITICAL_PATH, evidence)
    chain = _chain(evidence, milestone, evidence.timeline.milestones[milestone])
    tables = (*chain, *critical_sums.views(evidence, stacks, milestone))
    return tuple(replace(rows, notes=(*missing, *rows.notes)) for rows in tables)


def rows_of(name: str, evidence: Evidence, stacks: Stacks, phase: str | None = None) -> tuple[Rows, ...]:
    """The tables of a view, of one phase if named. Raises UserError for an unknown view or phase."""
    if name not in _MAKERS:
        raise unknown("view", name, list(NAMES))
    check_phase(evidence.timeline, phase)
    missing = hook_coverage.notes(name, evidence)
    return tuple(
        replace(rows, rows=in_phase(rows.rows, phase), notes=(*missing, *rows.notes))
        for rows in _MAKERS[name](evidence, stacks, phase)
    )
