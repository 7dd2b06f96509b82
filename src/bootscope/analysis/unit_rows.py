# SPDX-License-Identifier: Apache-2.0
"""systemd's units of a boot, and the chain of units that started one after the other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from bootscope.analysis import unit_jobs
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.rows import Cell, Column, Rows
from bootscope.analysis.unit_tasks import unit_at
from bootscope.core.errors import UserError
from bootscope.core.text import visible
from bootscope.readers.systemd_units import CHAIN_TITLE, LAST_BEFORE, WAITS_FOR
from bootscope.timeline.trace import Span, Trace, Track

UNITS = (
    Column("what", "unit", "text"),
    Column("kind", "kind", "text"),
    Column("start_ns", "start s", "at"),
    Column("ready_ns", "active s", "at"),
    Column("total_ns", "took ms", "ns"),
    Column("waited_for", "waited for", "text"),
    Column("wait_ns", "wait ms", "ns"),
)
CHAIN = (
    Column("what", "unit", "text"),
    Column("gap_ns", "gap ms", "ns"),
    Column("start_ns", "start s", "at"),
    Column("ready_ns", "active s", "at"),
    Column("total_ns", "took ms", "ns"),
)
TOLD = (
    Column("what", "unit", "text"),
    Column("start_ns", "start s", "at"),
    Column("total_ns", "took ms", "ns"),
)
_KINDS = re.compile(r"\.(service|socket|device|mount|automount|swap|target|path|timer|slice|scope)$")
RECORDED = (*UNITS, Column("result", "result", "text"))
_TARGETS = ("graphical.target", "multi-user.target", "default.target")


def units(trace: Trace) -> Rows:
    """Each unit that was started, the longest first. Raises UserError if the logs show none."""
    rows = _ranked(trace.tracks)
    if not rows:
        raise UserError(
            "the imported data has no units of systemd",
            hint="import the output of: systemctl show '*', or: systemd-analyze plot",
        )
    return Rows("units", f"Units of {visible(trace.title, 80)}", UNITS, tuple(rows), "longest first")


def recorded(evidence: Evidence) -> Rows:
    """Each unit whose job ended in a recorded boot, the longest first. Raises UserError if there is none."""
    known = unit_jobs.jobs(evidence) if unit_jobs.recorded(evidence) else unit_jobs.Jobs()
    rows = _ranked(unit_jobs.tracks(evidence, known))
    if not rows:
        raise UserError(
            "this recording has no units of systemd", hint="--view processes shows what each process did"
        )
    phased = [row | {"phase": evidence.phase_at(int(row["start_ns"] or 0))} for row in rows]
    notes = [
        "start: PID 1 makes the unit's control group, or says that it starts it; active: PID 1 says that its "
        "job is over",
        "waited for: the last of the units that it is ordered after, by its unit files",
    ]
    open_jobs = [job.unit for job in known.jobs.values() if job.end_ns is None and job.said_ns is not None]
    if open_jobs:
        notes.append(f"still starting when the recording ended: {', '.join(open_jobs)}")
    title = f"Units of {evidence.run.system.name}"
    return Rows("units", title, RECORDED, tuple(phased), "longest first", tuple(notes))


def chain_to(evidence: Evidence, milestone: str, at_ns: int) -> Rows | None:
    """The chain before the unit that a moment belongs to, back to systemd's start; None without units."""
    if not unit_jobs.recorded(evidence):
        return None
    jobs = unit_jobs.jobs(evidence)
    known = {str(row["what"]): row for row in _units(unit_jobs.tracks(evidence, jobs))}
    known = {name: row for name, row in known.items() if int(row["ready_ns"] or 0) <= at_ns}
    goal = unit_at(evidence, jobs, at_ns)
    if goal not in known:
        return None
    rows = _walked(known, goal)
    rows = [*_before_units(evidence, jobs, rows), *rows]
    notes = (
        "each unit is ordered after the one above it, by its unit files: the last of those that was active",
        "gap: from then on until PID 1 began with the unit",
    )
    title = f"Units on the way to {visible(milestone)}"
    both = [row | {"both_ns": int(row["gap_ns"] or 0) + int(row["total_ns"] or 0)} for row in rows]
    return Rows("critical-chain", title, CHAIN, tuple(both), "in order of time", notes, weight="both_ns")


def _before_units(
    evidence: Evidence, jobs: unit_jobs.Jobs, rows: list[dict[str, Cell]]
) -> Iterator[dict[str, Cell]]:
    """systemd itself, up to the moment when its jobs are queued."""
    manager = next((task for task in evidence.scene.tasks if task.pid == 1), None)
    execs = [e.at_ns for e in manager.execs if e.at_ns <= (jobs.queued_ns or 0)] if manager else []
    if jobs.queued_ns is None or not execs:
        return
    began = execs[-1]
    rows[0]["gap_ns"] = int(rows[0]["start_ns"] or 0) - jobs.queued_ns
    yield {
        "what": "systemd reads its units",
        "start_ns": began,
        "ready_ns": jobs.queued_ns,
        "total_ns": jobs.queued_ns - began,
        "gap_ns": None,
    }


def _ranked(tracks: Iterable[Track]) -> list[dict[str, Cell]]:
    return sorted(_units(tracks), key=lambda row: (-int(row["total_ns"] or 0), str(row["what"])))


def chain(trace: Trace) -> Rows:
    """The chain before the default target, or else the last unit, as far back as the logs show; in order of
    time. A long gap before a unit shows that it waited for something else.

    Uses systemd's own chain if only that is known. Raises UserError if neither is.
    """
    known = {str(row["what"]): row for row in _units(trace.tracks)}
    title = f"Critical chain of {visible(trace.title, 80)}"
    if any(row["after"] for row in known.values()):
        rows = _walked(known)
        note = "each unit is ordered after the one above it (After=), the last of those that was active"
        return Rows("critical-path", title, CHAIN, tuple(rows), "in order of time", (note,))
    told = next((t for t in trace.tables if t.title.startswith(CHAIN_TITLE)), None)
    if not told:
        raise UserError(
            "the imported data does not tell which unit waited for which",
            hint="import the output of: systemctl show '*', or: systemd-analyze critical-chain",
        )
    begins_ns = next((p.at_ns for p in trace.points if p.name == "systemd"), 0)
    listed = [
        {"what": name, "start_ns": None if at is None else begins_ns + int(at), "total_ns": took}
        for _depth, name, at, took in reversed(told.rows)
    ]
    note = "systemd's own chain: the order of units, which need not be the cause of a wait"
    return Rows("critical-path", title, TOLD, tuple(listed), "in order of time", (note,))


def _units(tracks: Iterable[Track]) -> Iterator[dict[str, Cell]]:
    tracks = tuple(tracks)
    waits = {t.parent: t.spans[0] for t in tracks if t.kind == "wait" and t.parent and t.spans}
    for track in tracks:
        kind = _KINDS.search(track.title)
        starting = next((s for s in track.spans if s.name == "starting"), None)
        if track.kind != "service" or not kind or not starting:
            continue
        wait: Span | None = waits.get(track.ident)
        yield {
            "what": track.title,
            "kind": kind[1],
            "start_ns": starting.start_ns,
            "ready_ns": starting.end_ns,
            "total_ns": starting.duration_ns,
            "waited_for": str(wait.detail.get(WAITS_FOR, "")) if wait else "",
            "wait_ns": wait.duration_ns if wait else None,
            "after": str(starting.detail.get(LAST_BEFORE, "")),
            "result": str(starting.detail.get("result", "")),
        }


def _walked(known: dict[str, dict[str, Cell]], goal: str = "") -> list[dict[str, Cell]]:
    """From a unit, else the default target, else the unit that was active last, back along the order."""
    last = max(known, key=lambda name: int(known[name]["ready_ns"] or 0))
    name = goal or next((target for target in _TARGETS if target in known), last)
    path: list[dict[str, Cell]] = []
    left = dict(known)
    while name in left:
        row = left.pop(name)
        name = str(row["after"])
        ready_ns = known[name]["ready_ns"] if name in known else None
        gap_ns = None if ready_ns is None else int(row["start_ns"] or 0) - int(ready_ns)
        path.append({**row, "gap_ns": gap_ns})
    return path[::-1]
