# SPDX-License-Identifier: Apache-2.0
"""When a milestone was reached, run by run over the days: a drawing for the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from bootscope.core.text import seconds, visible
from bootscope.serve.figures import Known
from bootscope.serve.rows import row_of

WIDTH, HEIGHT = 1000, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 14, 30
_COLOURS = 6
_MOST_POINTS = 5000
_MARKS = 6
"""The most marks on the axis of times, beside its ends."""


class Value(NamedTuple):
    """A run's milestone: median, lowest and highest of its boots in ns; `at` is when the run was made."""

    run_id: str
    series: str
    at: float
    day: str
    median_ns: int
    low_ns: int
    high_ns: int


@dataclass(frozen=True)
class Plot:
    """Points with their positions in the drawing; marks of both axes; series with their colour numbers."""

    points: list[dict[str, object]] = field(default_factory=list)
    across: list[tuple[float, str]] = field(default_factory=list)
    up: list[tuple[float, str]] = field(default_factory=list)
    series: Mapping[str, int] = field(default_factory=dict)
    lines: list[tuple[int, str]] = field(default_factory=list)
    left_out: int = 0


def milestones(found: Iterable[Known]) -> dict[str, int]:
    """Milestone -> the number of runs that reached it, the most frequent first."""
    counts: dict[str, int] = {}
    for known in found:
        for name in known.figure.milestones if known.figure else ():
            counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def values(found: Iterable[Known], about: str) -> list[Value]:
    """The values of a milestone in the runs, oldest first. Runs whose date cannot be read are left out."""
    result = []
    for known in found:
        times = known.figure.milestones.get(about) if known.figure else None
        at = _moment(known.run.created)
        if times and at is not None:
            row = row_of(known)
            series = " on ".join(dict.fromkeys(part for part in (row.system, row.board) if part)) or row.kind
            result.append(Value(row.run_id, series, at, row.day, *times))
    return sorted(result, key=lambda value: value.at)


def plot(found: Sequence[Value]) -> Plot:
    """The drawing of the newest values; the axis of times begins at 0 if that takes little room."""
    shown = found[-_MOST_POINTS:]
    if not shown:
        return Plot()
    first, last = shown[0].at, max(shown[-1].at, shown[0].at + 1)
    low, high = min(v.low_ns for v in shown), max(v.high_ns for v in shown)
    step = _step(high - (min(low, 0) if low < 2 * (high - low) else low))
    low = low // step * step if low >= 2 * (high - low) else min(0, low // step * step)
    high = low + max(1, -(-(high - low) // step)) * step

    def across(at: float) -> float:
        return round(_LEFT + (WIDTH - _LEFT - _RIGHT) * (at - first) / (last - first), 1)

    def up(ns: int) -> float:
        return round(HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * (ns - low) / (high - low), 1)

    names = dict.fromkeys(v.series for v in shown)
    series = {name: number % _COLOURS for number, name in enumerate(names)}
    points = [
        _point(v, across(v.at), (up(v.median_ns), up(v.low_ns), up(v.high_ns)), series[v.series])
        for v in shown
    ]
    lines = [
        (series[name], " ".join(f"{across(v.at)},{up(v.median_ns)}" for v in shown if v.series == name))
        for name in names
    ]
    days = [first + (last - first) * part / 4 for part in range(5)]
    marks = range(low, high + 1, step)
    return Plot(
        points,
        [(across(at), f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d}") for at in days],
        [(up(ns), f"{seconds(ns)} s") for ns in marks],
        series,
        lines,
        len(found) - len(shown),
    )


def _step(length_ns: int) -> int:
    """The distance between marks of an axis of that length: 1, 2 or 5 times a power of ten, at least 1 ms."""
    for power in range(6, 19):
        for factor in (1, 2, 5):
            if factor * 10**power * _MARKS >= length_ns:
                return int(factor * 10**power)
    return length_ns


def _point(value: Value, x: float, ys: tuple[float, float, float], colour: int) -> dict[str, object]:
    y, bottom, top = ys
    words = f"{visible(value.run_id, 120)}: {seconds(value.median_ns)} s, {value.day}"
    return {
        "run_id": value.run_id,
        "x": x,
        "y": y,
        "low": bottom,
        "high": top,
        "colour": colour,
        "words": words,
    }


def _moment(created: str) -> float | None:
    """A run's date in seconds since 1970; None if it is invalid."""
    try:
        found = datetime.fromisoformat(created)
        return (found if found.tzinfo else found.astimezone()).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
