# SPDX-License-Identifier: Apache-2.0
"""The critical path: what the milestone waited for, back to power-on, without gaps.

It is followed backwards from the milestone. A task had the CPU. Before that it slept until another task woke
it: the path goes on with the waker. Or it slept until an interrupt: the time went to what it had requested.
Or it was ready while others had the CPU. Before there are tasks, the boot loaders are the path.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter

from bootscope.analysis.evidence import Evidence
from bootscope.analysis.functions import Stacks, label
from bootscope.analysis.kernel_activity import Call, Slice, Task, Wait
from bootscope.analysis.rows import Cell, Column, Rows
from bootscope.analysis.waits import caller, reason, sleeper
from bootscope.loaders.model import Hooked
from bootscope.loaders.registry import hooks
from bootscope.timeline.cpu_time import DELAYS

RUNS, SLEEPS, READY = "runs", "sleeps", "ready"
_LABELLED = (
    "initcall",
    "probe",
    "work",
    *hooks(Hooked.COMMAND, Hooked.INITCALL, Hooked.PROBE),
    "module",
)
_COMMANDS = (*hooks(Hooked.COMMAND), "initcall", "work")
# Functions in which threads sleep that wait for requests of others.
_SERVERS = (
    "worker_thread",
    "kthread_worker_fn",
    "rescuer_thread",
    "smpboot_thread_fn",
    "irq_thread",
    "irq_wait_for_interrupt",
    "rcu_gp_kthread",
)
COLUMNS = (
    Column("start_ns", "start s", "at"),
    Column("length_ns", "length ms", "ns"),
    Column("phase", "phase", "text"),
    Column("who", "who", "text"),
    Column("how", "", "text"),
    Column("what", "what", "text"),
    Column("inside", "mostly", "text"),
    Column("cpu_ns", "CPU", "ns"),
    Column("storage_ns", "storage", "ns"),
    Column("console_ns", "console", "ns"),
    Column("steps", "steps", "count"),
)


@dataclass(frozen=True, slots=True)
class Step:
    """A stretch of the path on one task; `how` is RUNS, SLEEPS or READY (others had the CPU)."""

    start_ns: int
    end_ns: int
    task: Task
    how: str
    first: int = 0
    last: int = 0
    wait: Wait | None = None
    until: str = ""
    """The interrupt that ended the sleep."""
    cpu: int | None = None
    """The CPU that a READY step waited for."""
    behind: Wait | None = None
    """The wait of the task that served the sleeper, if another task's sleep ended this one's."""


def path(evidence: Evidence, stacks: Stacks, at_ns: int) -> list[Step]:
    """The steps from power-on to `at_ns`, without gaps or overlaps."""
    return _Walk(evidence, stacks).back(at_ns)


class _Walk:
    def __init__(self, evidence: Evidence, stacks: Stacks) -> None:
        self._evidence, self._stacks = evidence, stacks
        # Waits whose cause is being searched: the sleeper's, then its waker's, and so on.
        self._pending: list[Wait] = []
        # The CPU on which the path goes on afterwards.
        self._cpu = 0

    def back(self, at_ns: int) -> list[Step]:
        steps: list[Step] = []
        last = self._evidence.slice_at(max(0, at_ns - 1))
        task, self._cpu = last.task, last.cpu
        now = at_ns
        while now > 0:
            part = self._running_before(task, now)
            if part is None:
                now, task, found = self._born(task, now)
            elif part.end_ns < now:
                now, task, found = self._not_running(task, part, now)
            else:
                found = [Step(part.start_ns, now, task, RUNS, part.first, part.last)]
                now, self._cpu = part.start_ns, part.cpu
            steps += found
        return [s for s in steps[::-1] if s.end_ns > s.start_ns]

    def _running_before(self, task: Task, now: int) -> Slice | None:
        """The last slice of a task that began before a moment."""
        parts = self._evidence.ledger.slices(task)
        at = bisect_left(parts, now, key=lambda s: s.start_ns) - 1
        return parts[at] if at >= 0 else None

    def _born(self, task: Task, now: int) -> tuple[int, Task, list[Step]]:
        """Before its first slice a task waited for the CPU, from when its parent made it."""
        begin = min(now, task.start_ns)
        first = self._evidence.scene.tasks[0]
        parent = task.parent or first
        if parent is task or begin == now == 0:
            return 0, first, [Step(0, now, first, RUNS, 0, 0)]
        return begin, parent, [Step(begin, now, task, READY, cpu=self._cpu)]

    def _not_running(self, task: Task, part: Slice, now: int) -> tuple[int, Task, list[Step]]:
        """Between two slices: asleep, or ready while others ran."""
        wait = self._wait_at(task, part, now)
        if wait is None or wait.waker_index < 0:
            return part.end_ns, task, [Step(part.end_ns, now, task, READY, cpu=self._cpu)]
        woken = min(now, wait.woken_ns)
        ready = Step(woken, now, task, READY, cpu=self._cpu)
        if not (wait.irq or wait.waker is None or wait.waker.idles or wait.waker is task):
            if self._pending and self._pending[-1].start_ns >= woken:
                self._pending.clear()
            self._pending.append(wait)
            return woken, wait.waker, [ready]
        first = self._asked_by(wait)
        if first:
            # This task serves a device on request: it was woken for what the sleeper had requested of that
            # device, and the time before it belongs to the sleeper.
            self._pending.clear()
            if first.start_ns >= woken:
                return woken, first.task, [ready]  # the device was done before the sleeper slept
            asleep = Step(first.start_ns, woken, first.task, SLEEPS, wait=first, until=wait.irq, behind=wait)
            return first.start_ns, first.task, [ready, asleep]
        asleep = Step(wait.start_ns, woken, task, SLEEPS, wait=wait, until=wait.irq)
        return wait.start_ns, task, [ready, asleep]

    def _asked_by(self, wait: Wait) -> Wait | None:
        """The wait of the task that a serving task's wait ended for; None if it served nobody."""
        pending = self._pending
        while len(pending) > 1 and pending[-1].start_ns < pending[-2].start_ns:
            pending.pop()  # a server that waits for another server
        if not pending:
            return None
        served = wait.start_ns <= pending[-1].start_ns
        return pending[-1] if served or sleeper(wait, self._evidence, self._stacks) in _SERVERS else None

    def _wait_at(self, task: Task, part: Slice, now: int) -> Wait | None:
        waits = self._evidence.waits_of.get(task, [])
        at = bisect_left(waits, now, key=lambda w: w.start_ns) - 1
        return waits[at] if at >= 0 and waits[at].start_ns >= part.end_ns - 1 else None


def goal(evidence: Evidence) -> str:
    """Where the path of a whole recording leads: to its milestone if the boot reached it, else to its end."""
    until = evidence.run.until
    return until if until in evidence.timeline.milestones else "the end of the recording"


def path_end(evidence: Evidence, milestone: str | None) -> int:
    """When the path to a milestone ends (default: the end of the recording), in ns."""
    return evidence.timeline.milestones.get(milestone or "", evidence.timeline.total_ns)


def view(
    evidence: Evidence, stacks: Stacks, milestone: str | None = None, steps: Iterable[Step] | None = None
) -> Rows:
    """The path to a milestone (default: the end of the recording), in order of time; `steps` if they are
    already known."""
    at_ns = path_end(evidence, milestone)
    steps = path(evidence, stacks, at_ns) if steps is None else steps
    rows = _merged([row for step in steps for row in _rows(step, evidence, stacks)])
    sums = Counter[str]()
    for row in rows:
        sums[f"{row['how']}_ns"] += int(row["length_ns"] or 0)
    return Rows(
        "critical-path",
        f"Critical path to {milestone or goal(evidence)}",
        COLUMNS,
        tuple(rows),
        "in order of time",
        ("Adjacent steps below 1 ms are merged under their most common name.",),
        {**sums, "total_ns": at_ns},
        weight="length_ns",
    )


def _rows(step: Step, evidence: Evidence, stacks: Stacks) -> Iterator[dict[str, Cell]]:
    if step.how == RUNS:
        for start, end, first, last, (what, inside) in activity(step, evidence):
            spent = evidence.ledger.spent(step.task, start, end, first, last)
            yield _row(step, evidence, start, end, what) | {
                "inside": inside,
                "cpu_ns": max(0, spent.cpu_ns),
                "storage_ns": spent.storage_ns,
                "console_ns": spent.console_ns,
            }
    elif step.wait:
        who, what = reason(step.wait, evidence, stacks)
        woken = f" (until {step.until})" if step.until else ""
        row = _row(step, evidence, step.start_ns, step.end_ns, f"{what}{woken}")
        yield row | {"who": who}
    else:
        others = _others(step, evidence)
        yield _row(step, evidence, step.start_ns, step.end_ns, f"CPU with {others}" if others else "")


def _row(step: Step, evidence: Evidence, start: int, end: int, what: str) -> dict[str, Cell]:
    return {
        "start_ns": start,
        "length_ns": end - start,
        "phase": evidence.phase_at(start),
        "who": evidence.who(step.task, start),
        "how": step.how,
        "what": what,
        "inside": "",
        "cpu_ns": 0,
        "storage_ns": 0,
        "console_ns": 0,
    }


def _others(step: Step, evidence: Evidence) -> str:
    found = Counter[str]()
    at = step.start_ns
    while at < step.end_ns:
        part = evidence.slice_at(at, step.cpu)
        end = min(part.end_ns, step.end_ns)
        found[evidence.who(part.task, at)] += end - at
        at = max(end, at + 1)
    return ", ".join(name for name, _ in found.most_common(3))


def activity(step: Step, evidence: Evidence) -> Iterator[tuple[int, int, int, int, tuple[str, str]]]:
    """(start, end, first and last record, what) for a stretch in which a task ran.

    It is cut where initcalls, probes, commands, delays and phases begin and end.
    """
    calls = [
        c
        for c in evidence.calls_of(step.task)
        if c.kind in (*_LABELLED, *DELAYS) and c.start_ns < step.end_ns and c.end_ns > step.start_ns
    ]
    edges = {step.start_ns, step.end_ns}
    edges |= {e for c in calls for e in (c.start_ns, c.end_ns) if step.start_ns < e < step.end_ns}
    edges |= {p.start_ns for p in evidence.timeline.phases if step.start_ns < p.start_ns < step.end_ns}
    open_calls: list[Call] = []
    at = 0
    for start, end in pairwise(sorted(edges)):
        while at < len(calls) and calls[at].start_ns <= start:
            open_calls.append(calls[at])
            at += 1
        open_calls = [c for c in open_calls if c.end_ns > start]
        yield start, end, evidence.index_at(start), evidence.index_at(end), _what(open_calls, evidence)


def _what(calls: list[Call], evidence: Evidence) -> tuple[str, str]:
    """(the initcall, probe, work or command that a task was in; what ran inside it, if anything)."""
    labelled = [c for c in calls if c.kind in _LABELLED]
    spins = [c for c in calls if c.kind in DELAYS][:1]
    # Scripts nest commands and workers nest probes: the innermost command, and the outermost probe in it.
    commands = [i for i, c in enumerate(labelled) if c.kind in _COMMANDS]
    at = commands[-1] if commands else 0
    inner = [label(c, evidence) for c in labelled[at + 1 :]]
    inner += [f"delay in {caller(c, evidence)}" for c in spins]
    return label(labelled[at], evidence) if labelled else "", inner[-1] if inner else ""


_SMALL_NS = 1_000_000
_NAMES = ("who", "how", "what", "inside")
_SUMMED = ("length_ns", "cpu_ns", "storage_ns", "console_ns")


def _merged(rows: list[dict[str, Cell]]) -> list[dict[str, Cell]]:
    """Joins neighbours in one context, and short ones of one task, to keep the path readable."""
    alike = groupby(rows, itemgetter("who", "how", "phase", "what"))
    contexts = [_context(list(group)) for _, group in alike]

    def together(row: dict[str, Cell]) -> Cell:
        # Short steps within one phase are shown as one, whatever their task.
        return row["phase"] if int(row["length_ns"] or 0) < _SMALL_NS else row["start_ns"]

    return [_run(list(run)) for _, run in groupby(contexts, together)]


def _context(group: list[dict[str, Cell]]) -> dict[str, Cell]:
    """One step in one context, with what took most of its time, if anything stands out."""
    sums = {key: sum(int(row[key] or 0) for row in group) for key in _SUMMED}
    inside = Counter[str]()
    for row in group:
        inside[str(row["inside"])] += int(row["length_ns"] or 0)
    named = {name: ns for name, ns in inside.items() if name and 4 * ns >= sums["length_ns"]}
    return group[0] | sums | {"inside": max(named, key=lambda name: named[name], default=""), "steps": 1}


def _run(run: list[dict[str, Cell]]) -> dict[str, Cell]:
    """Short steps as one, named after the task and context with most of their time."""
    if len(run) == 1:
        return run[0]
    totals = Counter[tuple[Cell, ...]]()
    for row in run:
        totals[tuple(row[name] for name in _NAMES)] += int(row["length_ns"] or 0)
    names = dict(zip(_NAMES, totals.most_common(1)[0][0], strict=True))
    sums = {key: sum(int(row[key] or 0) for row in run) for key in _SUMMED}
    return run[0] | sums | names | {"steps": len(run)}
