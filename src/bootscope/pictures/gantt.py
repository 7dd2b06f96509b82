# SPDX-License-Identifier: Apache-2.0
"""Rows of bars over an axis of time: a name on the left, bars at their times, figures on the right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bootscope.pictures import axis
from bootscope.pictures.canvas import SIZE, SMALL, STUB, Canvas
from bootscope.pictures.measure import fit_middle, width

ROW, BAR = 28, 18
_NAME_SHARE = 0.3
"""The part of a picture's width that names may take."""
_GAP = 14


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a row in a colour; `bound` says how its length is known (see :meth:`Canvas.bar`)."""

    start_ns: int
    end_ns: int
    colour: str
    title: str
    bound: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A row: its name, its parts, and figures for the columns on the right."""

    name: str
    parts: tuple[Part, ...]
    figures: tuple[str, ...] = ()
    bold: bool = False
    title: str = ""


@dataclass(frozen=True, slots=True)
class Mark:
    """A point in time with a name, drawn through all rows."""

    at_ns: int
    name: str


def draw(
    canvas: Canvas,
    rows: Sequence[Row],
    low_ns: int,
    high_ns: int,
    heads: Sequence[str] = (),
    marks: Sequence[Mark] = (),
) -> None:
    """Draws the rows from `canvas.y` down; `heads` are headings of the figures."""
    columns = _columns(canvas, rows, heads)
    names = _names(canvas, rows)
    right = (columns[0][0] - columns[0][1] if columns else canvas.right) - _GAP
    scale = axis.Axis(low_ns, high_ns, canvas.left + names, right - STUB)
    top = canvas.y + 28 + mark_rows(canvas, scale, marks)
    bottom = top + len(rows) * ROW + 4
    axis.draw(canvas, scale, top, bottom, [scale.x(mark.at_ns) for mark in marks])
    for (x, _), head in zip(columns, heads, strict=False):
        canvas.text(x, top - 7, head, size=SMALL, fill="quiet", anchor="end")
    for at, row in enumerate(rows):
        _row(canvas, row, top + 4 + at * ROW, scale, names, columns)
    draw_marks(canvas, scale, marks, top, bottom)
    canvas.y = bottom


def _columns(canvas: Canvas, rows: Sequence[Row], heads: Sequence[str]) -> list[tuple[float, float]]:
    """Right edge and width of each column of figures, from left to right."""
    count = max((len(row.figures) for row in rows), default=0)
    found: list[tuple[float, float]] = []
    x = canvas.right
    for at in reversed(range(count)):
        texts = [(row.figures[at], row.bold) for row in rows if at < len(row.figures)]
        widest = max(width(words, SIZE, bold) for words, bold in texts)
        wide = max(widest, width(heads[at], SMALL) if at < len(heads) else 0)
        found.append((x, wide))
        x -= wide + _GAP
    return found[::-1]


def _names(canvas: Canvas, rows: Sequence[Row]) -> float:
    """The width of the names' column."""
    widest = max((width(row.name[:200], SIZE, row.bold) for row in rows), default=0)
    return min(widest, canvas.width * _NAME_SHARE) + _GAP


def _row(
    canvas: Canvas, row: Row, y: float, scale: axis.Axis, names: float, columns: list[tuple[float, float]]
) -> None:
    base = y + BAR - 4
    canvas.text(canvas.left, base, row.name, bold=row.bold, room=names - _GAP, cut=fit_middle)
    for part in row.parts:
        x = scale.x(part.start_ns)
        canvas.bar(x, y, scale.x(part.end_ns) - x, BAR, part.colour, part.title, part.bound)
    for (x, _), words in zip(columns, row.figures, strict=False):
        canvas.text(x, base, words, anchor="end", bold=row.bold)


def _places(canvas: Canvas, scale: axis.Axis, marks: Sequence[Mark]) -> list[tuple[Mark, float, int]]:
    """The positions of the names of marks: position and line. Names that do not fit are left out."""
    free = [float("-inf")] * 3
    found = []
    for mark in sorted(marks, key=lambda m: m.at_ns):
        wide = width(mark.name[:60], SMALL) + 8
        left = scale.x(mark.at_ns) + 4
        if left + wide > canvas.right:
            left = max(canvas.left, scale.x(mark.at_ns) - wide)
        line = next((n for n, reached in enumerate(free) if reached <= left), None)
        if line is not None:
            free[line] = left + wide
            found.append((mark, left, line))
    return found


def mark_rows(canvas: Canvas, scale: axis.Axis, marks: Sequence[Mark]) -> float:
    """The height of the names of marks."""
    return 15 * (1 + max((line for _, _, line in _places(canvas, scale, marks)), default=-1))


def draw_marks(canvas: Canvas, scale: axis.Axis, marks: Sequence[Mark], top: float, bottom: float) -> None:
    for mark, left, line in _places(canvas, scale, marks):
        x, y = scale.x(mark.at_ns), top - 24 - 15 * line
        canvas.line(x, y - 10, x, bottom, "mark", 1.2)
        canvas.text(left, y, mark.name, size=SMALL, fill="mark", room=canvas.right - left)
