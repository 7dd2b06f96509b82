# SPDX-License-Identifier: Apache-2.0
"""The whole boot as a trace: every track of the views, for the report and for other programs."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from bootscope.analysis import console_cost, critical, instruments, spent, storage, unit_jobs
from bootscope.analysis.all_views import rows_of
from bootscope.analysis.call_pairs import pairs
from bootscope.analysis.compare import SPLIT
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.functions import Stacks, label
from bootscope.analysis.initcalls import KINDS as CALLS
from bootscope.analysis.initcalls import level_of, name_of
from bootscope.analysis.kernel_activity import Call, Slice, Task
from bootscope.analysis.processes import script_lines
from bootscope.analysis.rows import as_table
from bootscope.analysis.stalls import stalls
from bootscope.analysis.view_names import MEMORY
from bootscope.analysis.waits import caller, reason
from bootscope.capture.record import PROBED, SYSCALL
from bootscope.loaders.registry import PROGRAMS
from bootscope.timeline.cpu_time import DELAYS
from bootscope.timeline.model import Phase
from bootscope.timeline.trace import Point, Span, Stack, Table, Trace, Track

CLOCK = "board time: nanoseconds from power-on, with storage and serial line as in the board profile"
_MAX_TEXT = 400


def trace(evidence: Evidence, stacks: Stacks, flame: tuple[Stack, ...]) -> Trace:
    """The trace of a recorded boot; `flame` holds its stacks."""
    tl = evidence.timeline
    lines = script_lines(evidence)
    tracks = [
        Track("phases", "phase", "phases", _sorted(_phase(p) for p in tl.phases)),
        Track("spent", "spent", "what the time went into", spent.spans(evidence)),
        Track("path", "path", f"critical path to {critical.goal(evidence)}", _path(evidence, stacks)),
        Track("loader", "initcall", "boot loader", _calls(evidence, tuple(f"{p.name}." for p in PROGRAMS))),
        Track("initcalls", "initcall", "initcalls", _calls(evidence, ("initcall",))),
        *_probes(evidence),
        Track("storage", "storage", "storage", _storage(evidence), overlaps=True),
        Track("console", "console", "console", _console(evidence)),
        Track("waits", "wait", "delay loops", _delays(evidence)),
        Track("idle", "wait", "CPU asleep", tuple(Span(s.start_ns, s.end_ns, "asleep") for s in tl.sleeps)),
        Track("irqs", "irq", "interrupts", _irqs(evidence)),
        *_cpus(evidence),
        *_function_calls(evidence),
        *unit_jobs.tracks(evidence),
        *_processes(evidence, stacks, lines),
    ]
    points = [Point(ns, name, "milestone") for name, ns in tl.milestones.items()]
    points += [Point(ns, change, "pin") for ns, change in tl.pins]
    return Trace(
        title=f"{evidence.run.system.name} on {evidence.run.board.name}",
        clock=CLOCK,
        total_ns=tl.total_ns,
        tracks=tuple(track for track in tracks if track.spans),
        points=tuple(sorted(points, key=lambda p: p.at_ns)),
        stacks=flame,
        stalls=stalls(evidence, stacks),
        sampled=stacks.sampled,
        tables=_tables(evidence, stacks),
    )


_TABLES = {"critical-path": 60, "initcalls": 30, "processes": 30, "storage": 30, "waits": 20, "floor": 20}
"""View -> most rows of it in the report; `bootscope show --view` has them all."""


_MEMORY_ROWS = 40


def _tables(evidence: Evidence, stacks: Stacks) -> tuple[Table, ...]:
    views = {name: rows_of(name, evidence, stacks) for name in _TABLES}
    named = (next(rows for rows in views[name] if rows.name == name) for name in _TABLES)
    memory = rows_of(MEMORY, evidence, stacks) if evidence.timing else ()
    tables = [as_table(rows, _MEMORY_ROWS) for rows in memory]
    tables += [as_table(rows, _TABLES[rows.name]) for rows in named]
    found = [table for table in tables if table]
    measured = instruments.table()
    return (*found, measured) if measured else tuple(found)


def _sorted(spans: Iterable[Span]) -> tuple[Span, ...]:
    return tuple(sorted(spans, key=lambda s: (s.start_ns, -s.end_ns)))


def _phase(p: Phase) -> Span:
    parts = {key: getattr(p, key) for key in SPLIT}
    return Span(p.start_ns, p.end_ns, p.name, {**parts, "found by": p.evidence})


def _path(evidence: Evidence, stacks: Stacks) -> tuple[Span, ...]:
    spans = []
    for row in critical.view(evidence, stacks).rows:
        start, length = int(row["start_ns"] or 0), int(row["length_ns"] or 0)
        what = f"{row['who']}: {row['what']}" if row["what"] else str(row["who"])
        keys = ("how", "inside", "cpu_ns", "storage_ns", "console_ns")
        detail = {key: value for key in keys if (value := row.get(key))}
        spans.append(Span(start, start + length, what, detail))
    return _sorted(spans)


def _calls(evidence: Evidence, kinds: tuple[str, ...]) -> tuple[Span, ...]:
    calls = (c for c in evidence.scene.of(*CALLS) if c.kind.startswith(kinds))
    return _sorted(_call(call, evidence) for call in calls)


def _call(call: Call, evidence: Evidence) -> Span:
    spent = evidence.ledger.of_call(call)
    detail: dict[str, str | int] = {
        "kind": call.kind,
        "in": evidence.who(call.task, call.start_ns),
        "cpu_ns": spent.cpu_ns,
        "storage_ns": spent.storage_ns,
        "console_ns": spent.console_ns,
    }
    if level := level_of(call, evidence):
        detail["level"] = level
    if call.result:
        detail["returned"] = call.result
    return Span(call.start_ns, call.end_ns, name_of(call, evidence), detail)


def _probes(evidence: Evidence) -> list[Track]:
    """Probes by their task: asynchronous ones overlap each other."""
    by_task: dict[Task, list[Call]] = {}
    for call in evidence.scene.of("probe"):
        by_task.setdefault(call.task, []).append(call)
    tracks = []
    for task, calls in by_task.items():
        who = evidence.who(task, calls[0].start_ns)
        spans = _sorted(_call(c, evidence) for c in calls)
        tracks.append(Track(f"probes-{task.number}", "probe", f"probes in {who}", spans, parent="initcalls"))
    return tracks


def _function_calls(evidence: Evidence) -> list[Track]:
    """Functions named by the user, and system calls, by the task that called them."""
    tracks = []
    for kind, title in ((PROBED, "probes in"), (SYSCALL, "system calls of")):
        by_task: dict[Task, list[Call]] = {}
        for call, _ in pairs(evidence, kind, takes_caller=kind == PROBED):
            by_task.setdefault(call.task, []).append(call)
        for task, calls in by_task.items():
            who = evidence.who(task, calls[0].start_ns)
            spans = _sorted(Span(c.start_ns, c.end_ns, c.text) for c in calls)
            tracks.append(Track(f"{kind.strip()}-{task.number}", "function", f"{title} {who}", spans))
    return tracks


def _storage(evidence: Evidence) -> tuple[Span, ...]:
    spans = []
    for a in storage.accesses(evidence):
        detail: dict[str, str | int] = {"bytes": a.size_bytes, "cost_ns": a.cost_ns, "for": a.who}
        if a.sector is not None:
            detail["sector"] = a.sector
        if a.again_bytes:
            detail["read before, bytes"] = a.again_bytes
        verb = "write" if a.write else "read"
        spans.append(Span(a.start_ns, a.start_ns + a.cost_ns, f"{verb} {a.what}", detail))
    return _sorted(spans)


def _console(evidence: Evidence) -> tuple[Span, ...]:
    spans = []
    for line in console_cost.lines(evidence):
        detail: dict[str, str | int] = {
            "bytes": line.bytes,
            "waited for the line_ns": line.wait_ns,
            "written by": line.who,
        }
        if line.level >= 0:
            detail["level"] = line.level
        end = evidence.clock.after(line.last)
        spans.append(Span(line.start_ns, end, line.text[:_MAX_TEXT], detail))
    return _sorted(spans)


def _delays(evidence: Evidence) -> tuple[Span, ...]:
    return _sorted(
        Span(
            c.start_ns, c.end_ns, f"delay in {caller(c, evidence)}", {"in": evidence.who(c.task, c.start_ns)}
        )
        for c in evidence.scene.of(*DELAYS)
    )


def _irqs(evidence: Evidence) -> tuple[Span, ...]:
    calls = evidence.scene.of("irq", "softirq")
    return _sorted(
        Span(c.start_ns, c.end_ns, "softirq" if c.kind == "softirq" else label(c, evidence)) for c in calls
    )


def _cpus(evidence: Evidence) -> list[Track]:
    """A track for each CPU that runs on its own."""
    (_, first), *others = evidence.slices_of_cpus.items()
    name = "CPU 0" if others else "CPU"
    more = [Track(f"cpu-{cpu}", "cpu", f"CPU {cpu}", _cpu(evidence, parts)) for cpu, parts in others]
    return [Track("cpu", "cpu", name, _cpu(evidence, first)), *more]


def _cpu(evidence: Evidence, slices: list[Slice]) -> tuple[Span, ...]:
    """Who had the CPU. The time before there are tasks is cut by the running program."""
    spans = []
    for part in slices:
        cuts = {p.start_ns for p in evidence.timeline.phases} if part.task.number == 0 else set()
        cuts |= {at_ns for at_ns, _ in part.task.names}
        inside = sorted(ns for ns in cuts if part.start_ns < ns < part.end_ns)
        for start, end in pairwise([part.start_ns, *inside, part.end_ns]):
            if end > start:
                spans.append(Span(start, end, evidence.who(part.task, start)))
    return tuple(spans)


def _processes(evidence: Evidence, stacks: Stacks, lines: dict[Task, str]) -> list[Track]:
    """A track for each task: when it runs, and what it sleeps for."""
    tracks = []
    for task in evidence.scene.tasks[1:]:
        parts = evidence.ledger.slices(task)
        if not parts:
            continue
        last = task.execs[-1] if task.execs else None
        detail: dict[str, str | int] = {"pid": task.pid}
        if last:
            detail["command"] = " ".join(last.arguments)
        if task in lines:
            detail["started by"] = lines[task]
        spans = [
            Span(start, end, name, {**detail, "state": "running"})
            for p in parts
            for start, end, name in task.named(p.start_ns, p.end_ns)
        ]
        for wait in evidence.waits_of.get(task, []):
            _, what = reason(wait, evidence, stacks)
            why: dict[str, str | int] = {"pid": task.pid, "state": "sleeping"}
            if wait.irq:
                why["woken by"] = wait.irq
            elif wait.waker:
                why["woken by"] = evidence.who(wait.waker, wait.woken_ns)
            spans.append(Span(wait.start_ns, wait.woken_ns, f"asleep in {what}", why))
        name = evidence.who(task, parts[-1].end_ns)
        parent = f"task-{task.parent.number}" if task.parent and task.parent.number else ""
        tracks.append(Track(f"task-{task.number}", "process", name, _sorted(spans), parent=parent))
    return tracks
