# SPDX-License-Identifier: Apache-2.0
"""The views of a boot that is known only as a trace: what other tools' logs show of it."""

from __future__ import annotations

from collections import defaultdict

from bootscope.analysis import process_rows, unit_rows
from bootscope.analysis.nesting import Nested, nested
from bootscope.analysis.rows import Cell, Column, Rows
from bootscope.analysis.view_names import CRITICAL_PATH, UNITS
from bootscope.core.errors import UserError, unknown
from bootscope.timeline.trace import Trace

_KINDS = {
    "initcalls": ("initcall", "probe"),
    "processes": ("service",),
    "storage": ("storage",),
    "console": ("console",),
    "waits": ("wait",),
}
_TITLES = {"processes": "Units"}
"""What a view calls its spans, if not by its own name."""
SPANS = (
    Column("what", "what", "text"),
    Column("track", "track", "text"),
    Column("start_ns", "start s", "at"),
    Column("total_ns", "total ms", "ns"),
    Column("self_ns", "self ms", "ns"),
    Column("inside", "inside", "text"),
    Column("detail", "", "text"),
)
FUNCTIONS = (
    Column("what", "function", "text"),
    Column("self_ns", "self ms", "ns"),
    Column("total_ns", "total ms", "ns"),
)


def rows_of_trace(name: str, trace: Trace, phase: str | None = None) -> tuple[Rows, ...]:
    """The table of a view, of one phase if named.

    Raises UserError if these logs show nothing of it, and for a phase that they do not have.
    """
    if phase is not None:
        _check_phase(name, trace, phase)
    if name in (UNITS, CRITICAL_PATH):
        table = unit_rows.units(trace) if name == UNITS else unit_rows.chain(trace)
        return (table,)
    rows = _functions(trace) if name == "functions" else _spans(name, trace)
    processes = process_rows.view(trace, phase) if name == "processes" else None
    if not rows and not processes:
        raise UserError(
            f"the imported data has no {name}",
            hint="bootscope show without --view lists what it has",
        )
    rows = [row for row in rows if phase is None or row["phase"] == phase]
    rows.sort(key=lambda row: (-int(row["self_ns"] or 0), str(row["what"])))
    columns = FUNCTIONS if name == "functions" else SPANS
    title = f"{_TITLES.get(name, name.capitalize())} of {trace.title}"
    table = Rows(name, title, columns, tuple(rows), "longest self time first")
    return (*((processes,) if processes else ()), *((table,) if rows or not processes else ()))


def _check_phase(name: str, trace: Trace, phase: str) -> None:
    known = [s.name for t in trace.tracks if t.kind == "phase" for s in t.spans]
    if phase not in known:
        raise unknown("phase", phase, list(dict.fromkeys(known)))
    if name == "functions":
        raise UserError("the imported data does not say in which phase a function ran")
    if name in (UNITS, CRITICAL_PATH):
        raise UserError("units of systemd are shown for the whole boot", hint="leave out --phase")


def _spans(name: str, trace: Trace) -> list[dict[str, Cell]]:
    tracks = [track for track in trace.tracks if track.kind in _KINDS.get(name, ())]
    return [_row(found, trace) for found in nested(tracks)]


def _row(found: Nested, trace: Trace) -> dict[str, Cell]:
    span = found.span
    phases = next((t.spans for t in trace.tracks if t.kind == "phase"), ())
    phase = next((p.name for p in reversed(phases) if p.start_ns <= span.start_ns), "")
    return {
        "what": span.name,
        "track": found.track.title,
        "phase": phase,
        "start_ns": span.start_ns,
        "end_ns": span.end_ns,
        "total_ns": span.duration_ns,
        "self_ns": found.own_ns,
        "inside": found.inside.span.name if found.inside else "",
        "detail": ", ".join(f"{key} {value}" for key, value in span.detail.items()),
    }


def _functions(trace: Trace) -> list[dict[str, Cell]]:
    own: dict[str, int] = defaultdict(int)
    total: dict[str, int] = defaultdict(int)
    for stack in trace.stacks:
        own[stack.frames[-1]] += stack.ns
        for frame in set(stack.frames):
            total[frame] += stack.ns
    return [{"what": name, "self_ns": own.get(name, 0), "total_ns": ns} for name, ns in total.items()]
