# SPDX-License-Identifier: Apache-2.0
"""What a view of a boot consists of: rows with named cells, and what to know when reading them.

The terminal, JSON and the report show the same rows. A cell's name carries its unit (`_ns`, `bytes`);
names are stable, and part of the JSON output.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

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
    """A view: `rows` are ranked or in order of time, as `order` says in words."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Mapping[str, Cell], ...]
    order: str
    notes: tuple[str, ...] = ()
    sums: Mapping[str, int] = field(default_factory=dict)
    """Figures about the whole view, by name with unit."""
    weight: str = ""
    """The cell by whose size rows in order of time are chosen where not all can be shown."""


def most(rows: Rows, top: int) -> tuple[Mapping[str, Cell], ...]:
    """`top` rows of a view: the first ones of a ranking, the largest ones of a list in order of time."""
    if not rows.weight:
        return rows.rows[:top]
    ranked = sorted(range(len(rows.rows)), key=lambda n: -int(rows.rows[n][rows.weight] or 0))
    return tuple(rows.rows[n] for n in sorted(ranked[:top]))


def in_phase(rows: Iterable[Mapping[str, Cell]], phase: str | None) -> tuple[Mapping[str, Cell], ...]:
    """Those rows that belong to a phase; all without one."""
    return tuple(row for row in rows if phase is None or row.get("phase") == phase)


def as_table(rows: Rows, longest: int) -> Table | None:
    """Up to `longest` rows of a view as a table of a trace, without empty columns; None without rows."""
    shown = most(rows, longest)
    if not shown:
        return None
    columns = tuple(c for c in rows.columns if any(row.get(c.key) for row in shown))
    cells = tuple(tuple(row.get(c.key) for c in columns) for row in shown)
    return Table(rows.title, tuple(c.key for c in columns), cells, tuple(c.title for c in columns))
