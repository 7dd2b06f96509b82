# SPDX-License-Identifier: Apache-2.0
"""Two boots compared in detail: initcalls and probes, functions, processes, files, console lines."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from bootscope.analysis.rows import Cell, Column, Rows
from bootscope.analysis.view_names import MEMORY
from bootscope.analysis.views import View

COLUMNS = (
    Column("kind", "", "text"),
    Column("what", "what", "text"),
    Column("phase", "phase", "text"),
    Column("a_ns", "A ms", "ns"),
    Column("b_ns", "B ms", "ns"),
    Column("change_ns", "change ms", "change"),
)
# View -> (its table, which cells name a thing, which cell is its time).
_KEYS = {
    "initcalls": ("initcalls", ("kind", "what"), "total_ns"),
    "functions": ("functions", ("what",), "self_ns"),
    "processes": ("processes", ("command|name",), "busy_ns"),
    "storage": ("storage", ("what",), "cost_ns"),
    "console": ("writers", ("who",), "cost_ns"),
    MEMORY: ("memory-functions", ("what",), "memory_ns"),
}
VIEWS = tuple(_KEYS)
# Numbers that differ between boots without meaning: process ids, and a worker's place in its pool.
_PID = re.compile(r"\[\d+\]")
_WORKER = re.compile(r"kworker/\S*\w")
_SMALL_NS = 10_000


def changes(name: str, a: View, b: View) -> Rows:
    """What a view shows of boot B compared with boot A, the largest change first.

    `name` is one of VIEWS. Things are matched by their names; changes under 10 microseconds are left
    out. Raises UserError for an unknown view.
    """
    table, cells, time = _KEYS[name]
    before, after = _sums(name, table, cells, time, a), _sums(name, table, cells, time, b)
    rows: list[dict[str, Cell]] = []
    for key in {*before, *after}:
        a_ns, b_ns = before.get(key, 0), after.get(key, 0)
        if abs(b_ns - a_ns) >= _SMALL_NS:
            times = {"a_ns": a_ns, "b_ns": b_ns, "change_ns": b_ns - a_ns}
            rows.append({"kind": name, "what": key[1], "phase": key[0], **times})
    rows.sort(key=lambda r: (-abs(int(r["change_ns"] or 0)), str(r["what"])))
    title = f"What changed in {name}"
    left_out = f"Changes of less than {_SMALL_NS // 1000} µs are left out."
    return Rows(f"changes-{name}", title, COLUMNS, tuple(rows), "largest change first", (left_out,))


def _sums(name: str, table: str, cells: Iterable[str], time: str, side: View) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = defaultdict(int)
    for rows in side.tables(name):
        if rows.name == table:
            for row in rows.rows:
                found[str(row.get("phase") or ""), _name(row, cells)] += int(row[time] or 0)
    return found


def _name(row: Mapping[str, Cell], cells: Iterable[str]) -> str:
    # `a|b` is the first of several cells that is not empty.
    parts = (next((row[c] for c in cell.split("|") if row[c]), "") for cell in cells)
    text = " ".join(str(part) for part in parts if part)
    return _WORKER.sub("kworker", _PID.sub("", text))
