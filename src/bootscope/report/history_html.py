# SPDX-License-Identifier: Apache-2.0
"""A history as one HTML file: it opens without a network and runs no script.

Everything goes through jinja2's escaping, and names of runs, labels and commits through :func:`visible`
before.
"""

from __future__ import annotations

from bootscope import __version__
from bootscope.core.text import seconds, signed, visible
from bootscope.history.series import Change, Point, Series
from bootscope.report.history import most_in, short
from bootscope.report.pages import sources, template

WIDTH, HEIGHT = 1000, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 16, 16, 34
_MARKS = 6
_MOST_ROWS = 2000
"""Of the table of points: the newest ones."""


def render(found: Series) -> str:
    """The page."""
    points = list(enumerate(found.points))
    return template("history.html.j2").render(
        about=visible(found.about, 80),
        line=visible(found.line.words, 200),
        by=found.by,
        exact=found.exact,
        now=found.segments[-1],
        count=len(points),
        runs=sum(len(point.run_ids) for point in found.points),
        first=found.points[0].at,
        last=found.points[-1].at,
        drawing=_drawing(found),
        changes=[_change(found, change) for change in found.changes],
        rows=[_row(found, point) for _, point in reversed(points[-_MOST_ROWS:])],
        older=max(0, len(points) - _MOST_ROWS),
        left_out=[f"{count} runs {visible(why, 80)}" for why, count in (found.left_out or {}).items()],
        version=__version__,
        style=sources("report.css", "history.css"),
    )


def _drawing(found: Series) -> dict[str, object]:
    """Positions in the drawing: a point for each figure, a line for each level, a mark for each change."""
    low, high = min(p.low_ns for p in found.points), max(p.high_ns for p in found.points)
    step = _step(max(1, high - low))
    low, high = low // step * step, (high // step + 1) * step
    count = max(1, len(found.points) - 1)

    def across(at: float) -> float:
        return round(_LEFT + (WIDTH - _LEFT - _RIGHT) * at / count, 1)

    def up(ns: int) -> float:
        return round(HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * (ns - low) / (high - low), 1)

    digits = max(3, 10 - len(str(step)))
    ends = dict.fromkeys((0, len(found.points) // 2, len(found.points) - 1))
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "left": _LEFT,
        "right": WIDTH - _RIGHT,
        "bottom": HEIGHT - _BOTTOM,
        "top": _TOP,
        "up": [(up(ns), f"{seconds(ns, digits)} s") for ns in range(low, high + 1, step)],
        "across": [(across(at), f"{found.points[at].at:%Y-%m-%d}") for at in ends],
        "points": [
            (across(at), up(p.ns), up(p.low_ns), up(p.high_ns), _words(found, p))
            for at, p in enumerate(found.points)
        ],
        "levels": [(across(s.first), across(s.last), up(s.median_ns)) for s in found.segments],
        "changes": [
            (across(s.first - 0.5), signed(c.ns), c.ns > 0)
            for s, c in zip(found.segments[1:], found.changes, strict=True)
        ],
    }


def _step(length_ns: int) -> int:
    """The distance between marks of an axis of that length: 1, 2 or 5 times a power of ten, in ns."""
    for power in range(19):
        for factor in (1, 2, 5):
            if factor * 10**power * _MARKS >= length_ns:
                return int(factor * 10**power)
    return length_ns


def _words(found: Series, point: Point) -> str:
    name = f"{short(found, point)} {visible(point.subject, 80)}".strip()
    return f"{name}: {seconds(point.ns, 6)} s, {point.at:%Y-%m-%d}"


def _change(found: Series, change: Change) -> dict[str, object]:
    return {
        "name": short(found, change.point),
        "subject": visible(change.point.subject, 120),
        "day": f"{change.point.at:%Y-%m-%d}",
        "change": signed(change.ns),
        "slower": change.ns > 0,
        "before": seconds(change.old_ns, 6),
        "after": seconds(change.new_ns, 6),
        "p": "" if change.p is None else f"{change.p:.2g}",
        "most": most_in(change),
    }


def _row(found: Series, point: Point) -> dict[str, object]:
    return {
        "name": short(found, point),
        "subject": visible(point.subject, 120),
        "day": f"{point.at:%Y-%m-%d}",
        "median": seconds(point.ns, 6),
        "low": seconds(point.low_ns, 6),
        "high": seconds(point.high_ns, 6),
        "boots": point.boots,
        "runs": ", ".join(visible(run, 120) for run in point.run_ids[:3]),
        "more": max(0, len(point.run_ids) - 3),
    }
