# SPDX-License-Identifier: Apache-2.0
"""The critical path summed up by task, whatever the order of the steps."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise

from bootscope.analysis.critical import READY, RUNS, SLEEPS, Step, path, path_end, view
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.functions import Stacks
from bootscope.analysis.kernel_activity import Task
from bootscope.analysis.rows import Cell, Column, Rows

COLUMNS = (
    Column("who", "who", "text"),
    Column("length_ns", "total ms", "ns"),
    Column("share_ppm", "share", "share"),
    Column("runs_ns", "runs", "ns"),
    Column("sleeps_ns", "sleeps", "ns"),
    Column("ready_ns", "holds others up", "ns"),
    Column("tasks", "tasks", "count"),
)
_PID = re.compile(r"\[\d+\]$")


def views(
    evidence: Evidence, stacks: Stacks, milestone: str | None = None, phase: str | None = None
) -> tuple[Rows, Rows]:
    """(the path to a milestone by task, the longest first; the path), of one phase if named."""
    steps = path(evidence, stacks, path_end(evidence, milestone))
    rows = view(evidence, stacks, milestone, steps)
    return _by_who(rows.title, _clipped(shares(steps, evidence), evidence, phase), phase), rows


Share = tuple[int, int, Task, str, str]
"""Start and end of a stretch, its task, the task's name, and how: it ran, slept, or had the CPU for which the
path was READY."""


def shares(steps: Iterable[Step], evidence: Evidence) -> Iterator[Share]:
    """The task of each moment of a path, in order of time."""
    for step in steps:
        if step.how != READY:
            for start, end in pairwise(_phase_edges(step, evidence)):
                yield start, end, step.task, evidence.who(step.task, start), step.how
            continue
        at = step.start_ns
        while at < step.end_ns:
            part = evidence.slice_at(at, step.cpu)
            end = max(at + 1, min(part.end_ns, step.end_ns))
            yield at, end, part.task, evidence.who(part.task, at), READY
            at = end


def _phase_edges(step: Step, evidence: Evidence) -> list[int]:
    """Start and end of a step, and where to cut it: the boot loaders are one task with a name per phase."""
    starts = [p.start_ns for p in evidence.timeline.phases if step.start_ns < p.start_ns < step.end_ns]
    return [step.start_ns, *(starts if step.task.number == 0 else ()), step.end_ns]


def _clipped(found: Iterable[Share], evidence: Evidence, phase: str | None) -> Iterator[Share]:
    """The parts that lie in a phase; everything without one."""
    window = evidence.timeline.phase(phase)
    for start, end, task, who, how in found:
        if window:
            start, end = max(start, window.start_ns), min(end, window.end_ns)
        if end > start:
            yield start, end, task, who, how


def _by_who(title: str, found: Iterable[Share], phase: str | None) -> Rows:
    spent: dict[str, Counter[str]] = defaultdict(Counter)
    tasks: dict[str, set[Task]] = defaultdict(set)
    for start, end, task, who, how in found:
        # Threads of the same name do the same kind of work.
        name = _PID.sub("", who)
        spent[name][how] += end - start
        tasks[name].add(task)
    whole = sum(sum(times.values()) for times in spent.values())
    ranked = sorted(spent, key=lambda name: (-sum(spent[name].values()), name))
    rows = tuple(_row(name, spent[name], len(tasks[name]), whole, phase) for name in ranked)
    note = "Holds others up: it had the CPU while the next step of the path was ready to run."
    return Rows(
        "critical-path-by-who", f"{title}, by who", COLUMNS, rows, "most first", (note,), {"total_ns": whole}
    )


def _row(name: str, times: Counter[str], tasks: int, whole: int, phase: str | None) -> dict[str, Cell]:
    total = sum(times.values())
    row: dict[str, Cell] = {
        "who": name,
        "length_ns": total,
        "share_ppm": total * 1_000_000 // whole,
        "runs_ns": times[RUNS],
        "sleeps_ns": times[SLEEPS],
        "ready_ns": times[READY],
        "tasks": tasks,
    }
    return row | ({"phase": phase} if phase else {})
