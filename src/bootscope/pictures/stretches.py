# SPDX-License-Identifier: Apache-2.0
"""The longest rows of a view of `bootscope show` as bars: initcalls, processes, units, silences, the critical
path. Their figures are the same as in the view's JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bootscope.analysis.rows import Cell, Rows, most
from bootscope.analysis.view_names import CRITICAL_PATH, SILENCES, UNITS
from bootscope.core.errors import UserError
from bootscope.core.text import span
from bootscope.export.text import plain
from bootscope.pictures import gantt, phases
from bootscope.pictures.canvas import Canvas
from bootscope.pictures.subject import Boot
from bootscope.timeline.trace import Trace

MOST = 25
_MOST_SILENCES = 12
DEVICE = ".device"
"""Units that only wait for a device to appear: they would hide those that do work."""


@dataclass(frozen=True, slots=True)
class Look:
    """How a view is drawn: the cells that name a row, those with the length of its bar (the first one present
    is used), and the figures beside it (cell, heading)."""

    title: str
    names: tuple[str, ...]
    lengths: tuple[str, ...]
    figures: tuple[tuple[str, str], ...]
    colour: str


LOOKS = {
    "initcalls": Look(
        "Longest initcalls and driver probes", ("what",), ("total_ns",),
        (("path_ns", "boot waited"), ("self_ns", "itself"), ("total_ns", "total")), "initcall",
    ),
    "processes": Look(
        "Processes that took most", ("name", "what"), ("life_ns", "total_ns"),
        (("cpu_ns", "CPU"), ("life_ns", "life"), ("total_ns", "life")), "process",
    ),
    UNITS: Look(
        "Units of systemd that took longest to start", ("what",), ("total_ns",),
        (("total_ns", "took"),), "service",
    ),
    SILENCES: Look(
        "Longest silences of the console", ("reason", "before"), ("length_ns",),
        (("length_ns", "length"),), "wait",
    ),
    CRITICAL_PATH: Look(
        "Critical path", ("who", "what"), ("length_ns", "total_ns"),
        (("length_ns", "length"), ("total_ns", "took")), "path",
    ),
}  # fmt: skip


def draw(canvas: Canvas, boot: Boot, view: str) -> list[str]:
    """Draws the longest rows of a view, in order of time. Raises UserError if the boot has none."""
    look = LOOKS[view]
    known = lengths(boot.trace) if view == UNITS else []
    if known and not any(track.kind == "service" for track in boot.trace.tracks):
        return _ranked(canvas, known)
    placed = [rows for rows in boot.tables(view) if any(_placed(row, look) for row in rows.rows)]
    if not placed:
        raise UserError(f"this boot has no {view} with times", hint="bootscope show lists what it has")
    rows = placed[-1] if view == CRITICAL_PATH else placed[0]
    found = [row for row in most(rows, len(rows.rows)) if _placed(row, look)]
    with_bars = [row for row in found if view != UNITS or not str(row["what"]).endswith(DEVICE)] or found
    longest = _longest(rows, with_bars)[: _MOST_SILENCES if view == SILENCES else MOST]
    shown = sorted(longest, key=lambda row: _number(row, "start_ns"))
    drawn = [_row(row, look, view) for row in shown]
    keys = _keys(shown, look)
    low = min(part.start_ns for row in drawn for part in row.parts)
    high = max(part.end_ns for row in drawn for part in row.parts)
    marks = phases.marks(boot.trace, low, high)
    gantt.draw(canvas, drawn, low, high, [dict(look.figures)[key] for key in keys], marks)
    left_out, devices = len(with_bars) - len(shown), len(found) - len(with_bars)
    notes = [f"{left_out:,} more are not drawn"] if left_out else []
    notes += [f"{devices:,} units that wait for a device are not drawn"] if devices else []
    return [*notes, boot.clock]


def _longest(rows: Rows, found: Sequence[Mapping[str, Cell]]) -> Sequence[Mapping[str, Cell]]:
    """The rows by weight, the heaviest first, for a list in order of time; a ranking as it is."""
    return sorted(found, key=lambda row: -_number(row, rows.weight)) if rows.weight else found


def _number(row: Mapping[str, Cell], key: str) -> int:
    value = row.get(key)
    return value if isinstance(value, int) else 0


def _placed(row: Mapping[str, Cell], look: Look) -> bool:
    """Whether a row's beginning and length are known."""
    return isinstance(row.get("start_ns"), int) and any(isinstance(row.get(k), int) for k in look.lengths)


def _keys(rows: Sequence[Mapping[str, Cell]], look: Look) -> list[str]:
    """The figures that these rows have, at most two."""
    found = [key for key, _ in look.figures if any(isinstance(row.get(key), int) for row in rows)]
    return [*found[:1], *found[-1:]] if len(found) > 1 else found


def _row(row: Mapping[str, Cell], look: Look, view: str) -> gantt.Row:
    keys = _keys([row], look)
    name = _name(row, look, view)
    start_ns = _number(row, "start_ns")
    length = next(_number(row, key) for key in look.lengths if isinstance(row.get(key), int))
    figures = tuple(span(_number(row, key)) for key in keys)
    told = ", ".join(f"{dict(look.figures)[key]} {words}" for key, words in zip(keys, figures, strict=True))
    part = gantt.Part(start_ns, start_ns + max(0, length), look.colour, f"{name}: {told}")
    return gantt.Row(name, (part,), figures)


def _name(row: Mapping[str, Cell], look: Look, view: str) -> str:
    names = [plain(str(row[key])) for key in look.names if row.get(key)]
    if view == SILENCES and not row.get("reason"):
        return f"after: {names[0]}" if names else "reason not known"
    return ": ".join(names) if view == CRITICAL_PATH else "".join(names[:1])


def lengths(trace: Trace) -> list[tuple[str, int]]:
    """Units of which only the length is known, from `systemd-analyze blame`, the longest first."""
    table = next((t for t in trace.tables if t.columns == ("unit", "ns")), None)
    found = [(str(row[0]), row[1]) for row in table.rows] if table else []
    return sorted(((name, ns) for name, ns in found if isinstance(ns, int)), key=lambda item: -item[1])


def _ranked(canvas: Canvas, known: Sequence[tuple[str, int]]) -> list[str]:
    """Rows with unknown beginnings, by length, all starting at zero."""
    rows = [
        gantt.Row(plain(name), (gantt.Part(0, ns, "service", f"{plain(name)}: {span(ns)}"),), (span(ns),))
        for name, ns in known[:MOST]
    ]
    gantt.draw(canvas, rows, 0, known[0][1], ("took",))
    left_out = len(known) - len(rows)
    said = "lengths only: it is not known when each began"
    return [said, *([f"{left_out:,} shorter ones are not drawn"] if left_out else [])]
