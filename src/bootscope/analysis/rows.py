# SPDX-License-Identifier: Apache-2.0
"""A view of a boot: rows with named cells, and notes for its readers.

The terminal, JSON and the report show the same rows. A cell's name carries its unit (`_ns`, `bytes`);
names are stable, and part of the JSON output.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from bootscope.core.errors import unknown
from bootscope.timeline.trace import Table

Cell = str | int | None


@dataclass(frozen=True, slots=True)
class Column:
    """A column: the key of its cells, a heading, and how to show them.

    `kind` is `ns` (a time, shown in ms), `at` (a moment, shown in s), `bytes`, `count`, `text` or
    `share` (parts per million of the whole).
    """

    key: str
    title: str
    kind: str


@dataclass(frozen=True)
class Rows:
    """A view: `rows` are ranked or in order of time; `order` says which, in words."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Mapping[str, Cell], ...]
    order: str
    notes: tuple[str, ...] = ()
    sums: Mapping[str, int] = field(default_factory=dict)
    """Totals of the whole view, by name with unit."""
    weight: str = ""
    """The cell that decides which rows in order of time are shown if not all can be."""


def most(rows: Rows, top: int) -> tuple[Mapping[str, Cell], ...]:
    """`top` rows of a view: the first ones of a ranking, the largest ones of a list in order of time."""
    if not rows.weight:
        return rows.rows[:top]
    ranked = sorted(range(len(rows.rows)), key=lambda n: -int(rows.rows[n][rows.weight] or 0))
    return tuple(rows.rows[n] for n in sorted(ranked[:top]))


def sort(tables: Iterable[Rows], name: str) -> tuple[Rows, ...]:
    """Ranks the tables that have the column `name`, given as its heading or cell name: the largest or longest
    first, moments from the earliest, texts alphabetically. Tables without it stay as they are.

    Raises UserError if no table has it.
    """
    tables = tuple(tables)
    columns = {heard: column for rows in tables for column in rows.columns for heard in _heard(column)}
    if _plain(name) not in columns:
        offered = dict.fromkeys(column_name(column) for rows in tables for column in rows.columns)
        raise unknown("column", name, [each for each in offered if each])
    return tuple(_sorted(rows, _plain(name)) for rows in tables)


def column_name(column: Column) -> str:
    """A column's name on the command line: its heading without the unit."""
    return _plain(_UNIT_OF_HEADING.sub("", column.title))


_UNIT_OF_HEADING = re.compile(r" (ms|s)$")
_UNIT_OF_KEY = re.compile(r"_(ns|bytes|ppm)$")


def _heard(column: Column) -> set[str]:
    """All names that select a column."""
    keys = {column.key, _UNIT_OF_KEY.sub("", column.key)}
    return {column_name(column), *map(_plain, (*keys, column.title))} - {""}


def _plain(name: str) -> str:
    return re.sub(r"[ _]", "-", name.strip().lower())


def _sorted(rows: Rows, name: str) -> Rows:
    column = next((c for c in rows.columns if name in _heard(c)), None)
    if column is None:
        return rows
    rising = column.kind in ("text", "at")
    known = [row for row in rows.rows if row.get(column.key) not in (None, "")]
    known.sort(key=lambda row: _rank(row[column.key], column.kind), reverse=not rising)
    unknown_rows = [row for row in rows.rows if row.get(column.key) in (None, "")]
    first = {"text": "by letter", "at": "earliest first"}.get(column.kind, "largest first")
    order = f"by {column_name(column)}, {first}"
    return replace(rows, rows=(*known, *unknown_rows), order=order, weight="")


def _rank(value: Cell, kind: str) -> tuple[int, str]:
    """The sort key of a cell; for a change its size counts, in either direction."""
    if isinstance(value, int):
        return abs(value) if kind == "change" else value, ""
    return 0, str(value).lower()


def in_phase(rows: Iterable[Mapping[str, Cell]], phase: str | None) -> tuple[Mapping[str, Cell], ...]:
    """The rows that belong to a phase; all if none is given."""
    return tuple(row for row in rows if phase is None or row.get("phase") == phase)


def as_table(rows: Rows, longest: int) -> Table | None:
    """Up to `longest` rows of a view as a table of a trace, without empty columns; None without rows."""
    shown = most(rows, longest)
    if not shown:
        return None
    columns = tuple(c for c in rows.columns if any(row.get(c.key) for row in shown))
    cells = tuple(tuple(row.get(c.key) for c in columns) for row in shown)
    sums = [rows.sums.get(c.key) for c in columns[1:]]
    total = ("total", *sums) if any(value is not None for value in sums) else ()
    return Table(rows.title, tuple(c.key for c in columns), cells, tuple(c.title for c in columns), total)
