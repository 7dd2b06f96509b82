# SPDX-License-Identifier: Apache-2.0
"""Processes of an imported boot by CPU time; those that only slept are counted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from bootscope.analysis.rows import Cell, Column, Rows
from bootscope.core.text import visible
from bootscope.timeline.trace import Span, Trace, Track

COLUMNS = (
    Column("what", "process", "text"),
    Column("cpu_ns", "CPU ms", "ns"),
    Column("start_ns", "start s", "at"),
    Column("total_ns", "life ms", "ns"),
    Column("storage_ns", "storage ms", "ns"),
    Column("runnable_ns", "wants CPU ms", "ns"),
)
_ALIVE, _WANTS, _STORAGE = "alive", ("waiting for a CPU", "runnable"), "waiting for storage"


def view(trace: Trace, phase: str | None = None) -> Rows | None:
    """The table; of the processes that began in a phase, if named. None if the logs show no process."""
    rows = [*_of_processes(trace), *_of_processors(trace)]
    if not rows:
        return None
    phases = trace.spans("phase")
    for row in rows:
        start_ns = int(row["start_ns"] or 0)
        row["phase"] = next((p.name for p in reversed(phases) if p.start_ns <= start_ns), "")
    rows = [row for row in rows if phase is None or row["phase"] == phase]
    told = any(row["cpu_ns"] is not None for row in rows)
    busy = [row for row in rows if row["cpu_ns"]] if told else rows
    busy.sort(key=lambda row: (-int(row["cpu_ns"] or 0), -int(row["total_ns"] or 0), str(row["what"])))
    return Rows(
        "processes",
        f"Processes of {visible(trace.title, 80)}",
        COLUMNS,
        tuple(busy),
        "most CPU time first" if told else "longest life first",
        tuple(_notes(len(rows) - len(busy), told)),
        {"tasks": len(rows), "asleep": len(rows) - len(busy)},
    )


def _notes(asleep: int, told: bool) -> Iterator[str]:
    if not told:
        yield "these logs do not tell CPU time: a process that lived long may have slept"
    elif asleep:
        yield f"{asleep} that used no CPU time are left out"


def _of_processes(trace: Trace) -> Iterator[dict[str, Cell]]:
    by_pid = _ran(trace)
    for track in trace.tracks:
        if track.kind == "process" and track.spans:
            yield _row(track, by_pid)


def _row(track: Track, by_pid: Mapping[int, int]) -> dict[str, Cell]:
    start_ns, end_ns = track.spans[0].start_ns, max(s.end_ns for s in track.spans)
    pid = track.spans[0].detail.get("pid")
    sampled = [s for s in track.spans if s.name == _ALIVE or "pid" not in s.detail]
    cpu_ns = _sampled_ns(sampled) if sampled else None
    if isinstance(pid, int) and by_pid:
        cpu_ns = by_pid.get(pid, 0)
    return {
        "what": track.title,
        "track": track.title,
        "pid": pid if isinstance(pid, int) else None,
        "start_ns": start_ns,
        "end_ns": end_ns,
        "total_ns": end_ns - start_ns,
        "cpu_ns": cpu_ns,
        "storage_ns": _sum(track.spans, (_STORAGE,)),
        "runnable_ns": _sum(track.spans, _WANTS),
    }


def _sampled_ns(spans: Iterable[Span]) -> int:
    """CPU time by samples: stated per stretch, or once for the whole life."""
    figures = [(s.name, int(s.detail.get("cpu_ns", 0))) for s in spans]
    return max((ns for name, ns in figures if name == _ALIVE), default=0) or sum(ns for _, ns in figures)


def _sum(spans: Iterable[Span], names: tuple[str, ...]) -> int:
    return sum(s.duration_ns for s in spans if s.name in names)


def _ran(trace: Trace) -> dict[int, int]:
    """Pid -> ns on any CPU, if the logs show who had it."""
    found: dict[int, int] = defaultdict(int)
    for span in trace.spans("cpu"):
        pid = span.detail.get("pid")
        if isinstance(pid, int):
            found[pid] += span.duration_ns
    return found


def _of_processors(trace: Trace) -> Iterator[dict[str, Cell]]:
    """Processes that only the CPUs' rows show."""
    known = {s.detail.get("pid") for s in trace.spans("process")}
    spans: dict[int, list[Span]] = defaultdict(list)
    for span in trace.spans("cpu"):
        pid = span.detail.get("pid")
        if isinstance(pid, int) and pid not in known:
            spans[pid].append(span)
    for pid, own in spans.items():
        start_ns, end_ns = min(s.start_ns for s in own), max(s.end_ns for s in own)
        name = f"{own[-1].name} ({pid})"
        yield {
            "what": name,
            "track": name,
            "pid": pid,
            "start_ns": start_ns,
            "end_ns": end_ns,
            "total_ns": end_ns - start_ns,
            "cpu_ns": sum(s.duration_ns for s in own),
        }
