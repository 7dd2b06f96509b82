# SPDX-License-Identifier: Apache-2.0
"""Processes: which parent started which command, and how its time was spent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bootscope.analysis.cpu_accounting import Spent
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.kernel_activity import Slice, Task
from bootscope.analysis.rows import Cell, Column, Rows

COLUMNS = (
    Column("name", "process", "text"),
    Column("pid", "pid", "count"),
    Column("start_ns", "start s", "at"),
    Column("life_ns", "life ms", "ns"),
    Column("cpu_ns", "CPU", "ns"),
    Column("storage_ns", "storage", "ns"),
    Column("console_ns", "console", "ns"),
    Column("waiting_ns", "asleep", "ns"),
    Column("runnable_ns", "wants CPU", "ns"),
    Column("command", "command", "text"),
    Column("started_by", "started by", "text"),
)


@dataclass(frozen=True, slots=True)
class _Window:
    """The stretch of the boot that is shown: all of it, or a phase."""

    start_ns: int
    end_ns: int
    phase: str | None

    def inside(self, start_ns: int, end_ns: int) -> int:
        """How much of a stretch lies in the window."""
        return max(0, min(self.end_ns, end_ns) - max(self.start_ns, start_ns))


def view(evidence: Evidence, phase: str | None = None) -> Rows:
    """Every task that the kernel ran, those with the most CPU and device time first.

    With a phase named, all figures are about that phase.
    """
    window = _Window(0, evidence.timeline.total_ns, None)
    if found := evidence.timeline.phase(phase):
        window = _Window(found.start_ns, found.end_ns, found.name)
    lines = script_lines(evidence)
    sleeping: dict[Task, int] = defaultdict(int)
    for wait in evidence.scene.waits:
        sleeping[wait.task] += window.inside(wait.start_ns, wait.woken_ns)
    idle: dict[Slice, int] = defaultdict(int)
    for sleep in evidence.timeline.sleeps if evidence.scene.cpus == 1 else ():
        idle[evidence.slice_at(sleep.start_ns)] += window.inside(sleep.start_ns, sleep.end_ns)
    for cpu, sleeps in enumerate(evidence.timeline.cpu_sleeps):
        for sleep in sleeps:
            idle[evidence.slice_at(sleep.end_ns - 1, cpu)] += window.inside(sleep.start_ns, sleep.end_ns)
    rows = []
    for name, task, parts in _lives(evidence):
        spent = sum((_spent(part, evidence, window) for part in parts), Spent())
        if not spent.running_ns:
            continue
        row = _row(task, parts, evidence, window)
        asleep = sum(idle[part] for part in parts)
        row |= _shares(row, spent, asleep, asleep if task.idles else sleeping[task])
        row["started_by"] = lines.get(task) or row["started_by"]
        rows.append(row | ({"name": name, "runnable_ns": 0} if name else {}))
    rows.sort(key=lambda r: -int(r["busy_ns"] or 0))
    return Rows(
        "processes",
        "Processes and kernel threads",
        COLUMNS,
        tuple(rows),
        "most time on the CPU and its devices first",
        (),
        {"tasks": len(rows), "total_ns": window.end_ns - window.start_ns},
    )


def _lives(evidence: Evidence) -> Iterator[tuple[str, Task, list[Slice]]]:
    """(name if it differs from the task's, task, its slices).

    The first task has two lives: everything up to the first switch, and then it is the idle task.
    """
    first, *others = evidence.scene.tasks
    parts = evidence.ledger.slices(first)
    yield "boot loaders and kernel start" if evidence.sees_tasks else "the whole boot", first, parts[:1]
    yield "idle", first, parts[1:]
    for task in others:
        yield "", task, evidence.ledger.slices(task)


def _row(task: Task, parts: list[Slice], evidence: Evidence, window: _Window) -> dict[str, Cell]:
    """What is known of a task that had the CPU, except how its time was spent."""
    start, end = task.start_ns, evidence.timeline.total_ns if task.end_ns is None else task.end_ns
    if task.number == 0:
        start, end = parts[0].start_ns, parts[-1].end_ns
    last_ns = min(window.end_ns, parts[-1].end_ns)
    execs = [e for e in task.execs if e.at_ns <= window.end_ns]
    return {
        "name": evidence.who(task, last_ns),
        "pid": task.pid,
        "parent": task.parent.pid if task.parent else None,
        "kernel": int(task.kernel),
        "phase": window.phase or evidence.phase_at(start),
        "start_ns": start,
        "end_ns": end,
        "life_ns": window.inside(start, max(end, parts[-1].end_ns)),
        "command": " ".join(execs[-1].arguments) if execs else "",
        "started_by": evidence.who(task.parent, task.start_ns) if task.parent else "",
    }


def _spent(part: Slice, evidence: Evidence, window: _Window) -> Spent:
    if window.phase is None:
        return evidence.ledger.of_slice(part)
    start, end = max(part.start_ns, window.start_ns), min(part.end_ns, window.end_ns)
    if start >= end:
        return Spent()
    first, last = evidence.index_at(start), evidence.index_at(end)
    if end == evidence.timeline.total_ns:
        last = len(evidence.records)
    return evidence.ledger.spent(part.task, start, end, first, last)


def _shares(row: dict[str, Cell], spent: Spent, idle_ns: int, waiting_ns: int) -> dict[str, Cell]:
    """How the time of a task's life was spent; for `idle_ns` it had the CPU, which slept."""
    life = int(row["life_ns"] or 0)
    return {
        "busy_ns": spent.running_ns - idle_ns,
        "cpu_ns": spent.cpu_ns - idle_ns,
        "storage_ns": spent.storage_ns,
        "console_ns": spent.console_ns,
        "waiting_ns": waiting_ns,
        "runnable_ns": max(0, life - spent.running_ns - spent.held_ns - waiting_ns),
    }


def script_lines(evidence: Evidence) -> dict[Task, str]:
    """Task -> `script:line` that started it, if a script did and the line is known."""
    found: dict[Task, str] = {}
    reached: dict[Task, int] = defaultdict(int)
    for task in evidence.scene.tasks:
        script = _script(task.parent, evidence.scripts) if task.parent and task.execs else None
        if not script or not task.parent:
            continue
        command = task.execs[0].arguments
        number = _line_of(evidence.scripts[script].splitlines(), command, reached[task.parent])
        if number:
            reached[task.parent] = number
            found[task] = f"{script}:{number}"
    return found


def _script(task: Task, scripts: Mapping[str, str]) -> str | None:
    """The script that a task runs: the last thing it executed, or a shell's first argument."""
    while task.parent and not task.execs:
        task = task.parent
    if not task.execs:
        return None
    last = task.execs[-1]
    for candidate in (last.file, *last.arguments[:2]):
        if candidate in scripts:
            return candidate
    return "/etc/inittab" if task.pid == 1 and "/etc/inittab" in scripts else None


def _line_of(lines: list[str], command: tuple[str, ...], after: int) -> int:
    """The line (from 1) that matches a command best; the first such one from line `after` on, or 0."""
    best, best_line = 0, 0
    wanted = [command[0], command[0].rpartition("/")[2]]
    for number, line in enumerate(lines, start=1):
        code = line.strip()
        if not code or (code.startswith("#") and number > 1):
            continue
        words = code.replace(";", " ").replace("&", " ").replace(":", " ").split()
        named = any(word in words for word in wanted)
        # A command in a variable can be recognised only by its arguments.
        hidden = any(word.startswith(("$", '"$')) for word in words) and len(command) > 1
        score = 4 * named + sum(argument in words for argument in command[1:]) + (hidden and not named)
        score = score if named or (hidden and score > 1) else 0
        if score * 2 + (number >= after) > best:
            best, best_line = score * 2 + (number >= after), number if score else best_line
    return best_line
