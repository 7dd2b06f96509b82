# SPDX-License-Identifier: Apache-2.0
"""Rows of a view as a table for a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.console import Console
from rich.text import Text

from bootscope.analysis.rows import Cell, Column, Rows, most
from bootscope.core.text import cut, seconds, span, visible
from bootscope.report.jsondoc import fields
from bootscope.report.tables import make_table

_TEXT_WIDTH = {
    "why": 80, "reason": 120, "do": 120, "what": 58, "text": 120, "command": 44, "who": 52, "inside": 48,
    "started_by": 32,
}  # fmt: skip
_RIGHT = ("ns", "change", "at", "bytes", "count", "share")
# Table -> columns that are dropped first, in this order, when a terminal is too narrow.
_SPARE = {
    "initcalls": ("level", "task", "storage_ns", "waiting_ns", "console_ns", "start_ns"),
    "processes": ("pid", "runnable_ns", "waiting_ns", "start_ns", "life_ns", "storage_ns", "console_ns"),
    "silences": ("do", "start_ns", "after"),
    "storage": ("start_ns", "commands"),
    "accesses": ("sector",),
    "console": ("cpu_ns", "wait_ns", "level", "bytes", "who"),
    "waits": ("longest_ns", "start_ns", "phase"),
    "critical-path": ("steps", "console_ns", "storage_ns", "cpu_ns", "phase"),
}
# Short texts that are useless if a narrow terminal cuts them.
_WHOLE = ("phase", "how", "kind", "level", "direction")
# Texts of which one line is enough: what a console printed, and who printed it.
_ONE_LINE = {"console": ("text", "who"), "writers": ("who",)}
_EMPTY = ("", 0, None)


def show(out: Console, rows: Rows, top: int) -> None:
    """Prints the first `top` rows with a heading, and the number of all rows."""
    columns = [c for c in rows.columns if any(row.get(c.key) not in _EMPTY for row in rows.rows)]
    unit = "; times in ms" if any(c.kind == "ns" and not c.title.endswith(" ms") for c in columns) else ""
    out.print(Text(visible(rows.title), "bold"), Text(f"({rows.order}{unit})", "dim"))
    spare = [c.title for key in _SPARE.get(rows.name, ()) for c in columns if c.key == key]
    one_line = _ONE_LINE.get(rows.name, ())
    headings = (f"<{c.title}" if c.key in one_line else _heading(c) for c in columns)
    table = make_table(*headings, spare=spare)
    shown = most(rows, top)
    for row in shown:
        table.add_row(*(Text(cell(c, row.get(c.key))) for c in columns))
    out.print(table if rows.rows else Text("nothing", "dim"))
    _print_left(out, rows, len(shown))
    for answer in _answers(rows):
        out.print(Text(answer, "bold"))
    for note in rows.notes:
        out.print(Text(f"note: {visible(note)}", "dim"))
    out.print()


def _print_left(out: Console, rows: Rows, shown: int) -> None:
    """How many rows there are beyond those shown."""
    left = len(rows.rows) - shown
    words = f"... and {left} more"
    if rows.weight:
        whole, told = (sum(int(row[rows.weight] or 0) for row in of) for of in (rows.rows, most(rows, shown)))
        words = f"{left} shorter rows take {span(whole - told)} in all"
    if left > 0:
        out.print(f"{words}: --top {len(rows.rows)}", style="dim", markup=False)


def _answers(rows: Rows) -> Iterator[str]:
    """The answers of a view that no single row gives."""
    sums = rows.sums
    if sums.get("floor_ns"):
        times = f"{sums['today_ns'] / sums['floor_ns']:.1f} times as long"
        yield f"the whole boot: at least {span(sums['floor_ns'])}, today {span(sums['today_ns'])}, {times}"
    if rows.name == "console" and sums.get("lines"):
        lines = f"{sums['quiet_lines']} of {sums['lines']} lines, {span(sums['quiet_ns'])}"
        yield f"with quiet the kernel would suppress {lines} of {span(sums['cost_ns'])}"


def _heading(column: Column) -> str:
    if column.kind in _RIGHT:
        return f">{column.title}"
    return f"={column.title}" if column.key in _WHOLE else column.title


def cell(column: Column, value: Cell) -> str:
    """A cell as text; times in ms (`ns`) or s (`at`)."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return cut(visible(value), _TEXT_WIDTH.get(column.key, 60))
    match column.kind:
        case "ns":
            return seconds(1000 * value) if value else "-"  # ms, rounded as everywhere else
        case "change":
            return f"{value // 1_000_000:+d}" if abs(value) >= 10**12 else f"{value / 1e6:+.3f}"
        case "at":
            return seconds(value, 6)
        case "share":
            return f"{value // 10_000}.{value // 1000 % 10} %"
        case "bytes":
            return f"{value:,}" if value else "-"
        case _:
            return str(value)


def document(rows: tuple[Rows, ...], top: int | None) -> list[Mapping[str, object]]:
    """The tables as JSON values; all rows unless `top` says otherwise."""
    return [
        {
            **fields(r, "name", "title", "order", "notes", "sums"),
            "rows_total": len(r.rows),
            "rows": most(r, top) if top else r.rows,
        }
        for r in rows
    ]
