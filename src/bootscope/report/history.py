# SPDX-License-Identifier: Apache-2.0
"""A history for the terminal and as JSON. Names of runs, labels and commits are untrusted."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from bootscope.core.text import seconds, signed, span, visible
from bootscope.history.series import COMMIT, Change, Point, Series
from bootscope.report.tables import make_table
from bootscope.statistics.describe import median

_ROWS, _MOST_WIDE = 8, 4
_LABEL = 11
_SHORT = 12
"""Characters shown of a commit's hash."""
_MOST_OTHERS = 4
_FINE_NS = 10_000_000
"""Smaller changes need more than three decimals of a second."""


def history(out: Console, found: Series, changes: Sequence[Change], smaller: int) -> None:
    """A history: the figures as a small plot, then its changes, oldest first. `smaller`: how many smaller
    changes there are beside `changes`."""
    first, last = found.points[0], found.points[-1]
    head = f"{visible(found.about, 60)} of {visible(found.line.words, 120)}"
    out.print(Text(head), soft_wrap=True)
    days = f"{first.at:%Y-%m-%d} to {last.at:%Y-%m-%d}"
    kind = "exact" if found.exact else "varying"
    out.print(Text(f"{_counted(found)}, {days}, {kind}", "dim"))
    out.print()
    for line in plot(found, max(10, min(out.width, 160) - _LABEL)):
        out.print(line, no_wrap=True, overflow="crop")
    out.print()
    _print_changes(out, found, changes, smaller)
    _print_now(out, found)
    _print_notes(out, found)


def _counted(found: Series) -> str:
    points, runs = len(found.points), sum(len(p.run_ids) for p in found.points)
    if found.by == "run":
        return f"{points} {'run' if points == 1 else 'runs'}"
    return f"{runs} {'run' if runs == 1 else 'runs'} of {points} {found.by}{'' if points == 1 else 's'}"


def plot(found: Series, width: int) -> list[Text]:
    """The figures over time in as many columns: each column has a dot for a figure, or for the median of
    several; below them, marks where they changed."""
    count = len(found.points)
    wide = max(1, min(_MOST_WIDE, width // count))
    columns = min(count, width)
    of = [at * columns // count for at in range(count)]
    values = [
        median([p.ns for p, c in zip(found.points, of, strict=True) if c == at]) for at in range(columns)
    ]
    low, high = min(values), max(values)
    rows = _ROWS if high > low else 1
    cells = [[" "] * (columns * wide) for _ in range(rows)]
    for at, value in enumerate(values):
        place = (high - value) * (rows - 1) // (high - low) if high > low else 0
        cells[place][at * wide] = "•"
    digits = 3 if high - low >= _FINE_NS or high == low else 6
    label = {0: seconds(high, digits), rows - 1: seconds(low, digits)}
    lines = [
        Text(f"{label.get(at, ''):>{_LABEL - 1}} {''.join(row)}".rstrip()) for at, row in enumerate(cells)
    ]
    return [*lines, *_marks(found, of, columns * wide, wide)]


def _marks(found: Series, of: Sequence[int], width: int, wide: int) -> list[Text]:
    """A line with marks where figures changed, up or down."""
    if not found.changes:
        return []
    marks = Text(" " * (_LABEL + width))
    plain = list(marks.plain)
    styled = []
    for change, segment in zip(found.changes, found.segments[1:], strict=True):
        at = _LABEL + of[segment.first] * wide
        plain[at] = "▲" if change.ns > 0 else "▼"
        styled.append((at, "red" if change.ns > 0 else "green"))
    line = Text("".join(plain).rstrip())
    for at, style in styled:
        line.stylize(style, at, at + 1)
    return [line]


def _print_changes(out: Console, found: Series, changes: Sequence[Change], smaller: int) -> None:
    if not found.changes:
        out.print("no change" if found.exact else "no change shown")
        return
    p = () if found.exact else (">p",)
    spare = ("p", "subject", "before s", "most in", "when")
    table = make_table(
        f"={found.by}",
        ">change",
        ">before s",
        ">after s",
        *p,
        "=most in",
        "=when",
        "<subject",
        spare=spare,
    )
    for change in changes:
        style = "red" if change.ns > 0 else "green"
        digits = 3 if abs(change.ns) >= _FINE_NS else 6
        table.add_row(
            Text(short(found, change.point)),
            Text(signed(change.ns), style),
            seconds(change.old_ns, digits),
            seconds(change.new_ns, digits),
            *((f"{change.p:.2g}",) if change.p is not None else ()),
            Text(most_in(change)),
            f"{change.point.at:%Y-%m-%d}",
            Text(visible(change.point.subject, 80)),
        )
    out.print(table)
    if smaller:
        out.print(f"... and {smaller} smaller: --top {len(changes) + smaller}", style="dim")


def short(found: Series, point: Point) -> str:
    """The name of a point, safe to show and no longer than needed."""
    name = visible(point.name, 120)
    return name[:_SHORT] if found.by == COMMIT else name


def most_in(change: Change) -> str:
    """The phase with the largest part of a change, safe to show; empty if unknown."""
    if not change.phases:
        return ""
    name, ns = change.phases[0]
    return f"{visible(name, 40)} {signed(ns)}"


def _print_now(out: Console, found: Series) -> None:
    now, best = found.segments[-1], min(found.segments, key=lambda s: s.median_ns)
    of = "run" if found.by == "run" else found.by
    words = f"now {seconds(now.median_ns)} s, in the last {now.count} {of}{'' if now.count == 1 else 's'}"
    if not found.exact:
        words += f" ({seconds(now.low_ns)} to {seconds(now.high_ns)} s)"
    if best.median_ns < now.median_ns:
        since = found.points[best.last].at
        words += f"; {span(now.median_ns - best.median_ns)} more than until {since:%Y-%m-%d}"
    out.print()
    out.print(Text(words))


def _print_notes(out: Console, found: Series) -> None:
    for why, count in (found.left_out or {}).items():
        out.print(Text(f"left out: {count} {'run' if count == 1 else 'runs'} {visible(why, 80)}", "dim"))
    if found.others:
        names = [visible(line.words, 60) for line in found.others[:_MOST_OTHERS]]
        more = f" and {len(found.others) - _MOST_OTHERS} more" if len(found.others) > _MOST_OTHERS else ""
        out.print(
            Text(f"others: {'; '.join(names)}{more} (--system, --board, --label)", "dim"), soft_wrap=True
        )


def document(found: Series) -> dict[str, object]:
    """A history as JSON (docs/json.md)."""
    return {
        "about": found.about,
        "by": found.by,
        "exact": found.exact,
        **found.line._asdict(),
        "points": [_point(point) for point in found.points],
        "segments": [
            {
                "first": s.first, "last": s.last, "median_ns": s.median_ns,
                "lowest_ns": s.low_ns, "highest_ns": s.high_ns, "p": s.p,
            }
            for s in found.segments
        ],
        "changes": [
            {
                "at": change.point.name, "before": change.before.name, "change_ns": change.ns,
                "before_ns": change.old_ns, "after_ns": change.new_ns, "p": change.p,
                "phases": [{"name": name, "change_ns": ns} for name, ns in change.phases],
            }
            for change in found.changes
        ],
        "others": [line._asdict() for line in found.others],
        "left_out": dict(found.left_out or {}),
    }  # fmt: skip


def _point(point: Point) -> dict[str, object]:
    return {
        "name": point.name,
        "at": point.at.isoformat(),
        "runs": list(point.run_ids),
        "median_ns": point.ns,
        "lowest_ns": point.low_ns,
        "highest_ns": point.high_ns,
        "boots": point.boots,
        "exact": point.exact,
        "subject": point.subject,
    }
