# SPDX-License-Identifier: Apache-2.0
"""Runs of boots that vary: a dot for each boot, the median with its interval; for two runs, what changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from bootscope.analysis.ground import common_zero
from bootscope.analysis.samples import WHOLE, Quantity, SampleSet, goal
from bootscope.analysis.significance import NOT_SHOWN, BootComparison, ComparedQuantity, against, interval
from bootscope.core.errors import UserError
from bootscope.core.text import seconds, signed, span
from bootscope.pictures import axis, sheet
from bootscope.pictures.canvas import SIZE, SMALL, Canvas
from bootscope.pictures.measure import width
from bootscope.pictures.subject import Subject, names_of
from bootscope.report.boots import named, verdict_lines
from bootscope.statistics.describe import LEAST_PERCENT, Description, describe, median_interval
from bootscope.statistics.shift import CONFIDENCE

MOST_ROWS, MOST_RUNS, MOST_CHANGES = 40, 16, 14
_STEP, _HIGH = 20, 96
_STACK = 6
"""The most dots on top of each other in a strip; with more, they are closer together."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run: its boots that reached the goal, with times in ns, and their description."""

    boots: SampleSet
    about: Quantity
    values: tuple[int, ...]
    told: Description

    @property
    def known(self) -> tuple[int, int] | None:
        """The interval of the median; None for too few boots."""
        return median_interval(self.values)

    @property
    def words(self) -> str:
        """The median with its interval, or why it has none."""
        middle = f"median {seconds(self.told.median_ns)} s"
        if self.known is None:
            return f"{middle}; too few boots for an interval"
        low, high = self.known
        return f"{middle}, {LEAST_PERCENT} % interval {seconds(low)} to {seconds(high)} s"


def runs_of(subject: Subject) -> Sequence[Run]:
    """The runs of several boots in the subject. Raises UserError if there is none."""
    found = drawable(subject)
    if not found:
        raise UserError(
            "--view boots draws runs of several boots that vary, and none is named",
            hint="record -n 10 on a board, or import several logs as one run",
        )
    return found


@lru_cache(maxsize=2)
def drawable(subject: Subject) -> Sequence[Run]:
    """The runs of several boots that reached a common goal."""
    found = []
    for boot in subject.boots:
        ground = common_zero((boot.boots,)) if boot.boots else None
        if not ground or ground.refused:
            continue
        boots = ground.sets[0]
        about = goal(ground.sets)
        values = tuple(boots.values(about))
        if values:
            found.append(Run(boots, about, values, describe(values, boots.step_ns)))
    return found[:MOST_RUNS]


@lru_cache(maxsize=2)
def comparison(subject: Subject) -> BootComparison | None:
    """The second of two runs against the first; None for any other number of runs."""
    sets = [boot.boots for boot in subject.boots]
    if len(sets) != 2 or sets[0] is None or sets[1] is None:
        return None
    return against(sets[0], sets[1])


def draw(canvas: Canvas, subject: Subject) -> list[str]:
    """Draws a row for each boot of one run, or a strip of dots for each of several runs."""
    runs = runs_of(subject)
    low, high = min(chain(*(r.values for r in runs))), max(chain(*(r.values for r in runs)))
    edge = max(1, (high - low) // 16)
    if len(runs) == 1 and len(runs[0].values) <= MOST_ROWS:
        _rows(canvas, runs[0], low - edge, high + edge)
    else:
        _strips(canvas, runs, _names(subject, runs), low - edge, high + edge)
    found = comparison(subject)
    if found and not found.refused:
        _changes(canvas, found)
    return _notes(runs, found)


def _names(subject: Subject, runs: Sequence[Run]) -> list[str]:
    """The names of the runs beside each other."""
    names = dict(
        zip((b.boots.run_id if b.boots else "" for b in subject.boots), names_of(subject.boots), strict=True)
    )
    return [names.get(run.boots.run_id) or named(run.boots.run_id) for run in runs]


def _notes(runs: Sequence[Run], found: BootComparison | None) -> list[str]:
    lost = [words for words in map(_lost, runs) if words]
    outliers = any(r.told.outliers for r in runs)
    ring = "; ring: an outlier boot, included in all figures" if outliers else ""
    refused = [f"no verdict: {named(found.refused, 300)}"] if found and found.refused else []
    to = "length" if runs[0].about == WHOLE else f"time to {named(runs[0].about)}"
    what = f"dot: {to} of a boot; line: the median; band: its interval{ring}"
    return [what, "the axis does not begin at zero", *lost, *refused]


def _lost(run: Run) -> str:
    """How many boots of a run are not drawn, and why; empty for none."""
    count = len(run.boots.boots)
    reached = f"{count - len(run.values)} of {count} boots did not reach {named(run.about)}: not drawn"
    return f"{named(run.boots.run_id, 60)}: {reached}" if count > len(run.values) else ""


def title(subject: Subject) -> str:
    """The title of a picture of runs."""
    runs = runs_of(subject)
    found = comparison(subject)
    if found and not found.refused:
        return verdict_lines(found)[0][0]
    first = runs[0]
    to = "" if first.about == WHOLE else f" to {named(first.about, 60)}"
    if len(runs) > 1:
        return f"{len(runs)} runs{to}"
    return f"{len(first.values)} boots{to}: median {seconds(first.told.median_ns)} s"


def subtitles(subject: Subject) -> list[str]:
    """The lines below the title."""
    runs = runs_of(subject)
    if len(runs) == 1:
        run = runs[0]
        ends = f"{seconds(run.told.lowest_ns)} to {seconds(run.told.highest_ns)} s"
        return [
            f"{named(run.boots.run_id)} · {run.words}",
            f"spread (IQR) {span(run.told.spread_ns)}, from {ends}",
        ]
    found = comparison(subject)
    return [line for line, _ in verdict_lines(found)[1:]] if found and not found.refused else []


def _middle(canvas: Canvas, run: Run, scale: axis.Axis, top: float, bottom: float) -> None:
    """The band of the interval, drawn first as the background, and the line of the median."""
    if run.known:
        left, right = map(scale.x, run.known)
        title = f"{LEAST_PERCENT} % interval of the median"
        paint = canvas.theme["cpu"]
        canvas.rect(left, top, right - left, bottom - top, paint, title, ' fill-opacity="0.18"')
    x = scale.x(run.told.median_ns)
    canvas.line(x, top, x, bottom, "ink", 2)


def _dot(canvas: Canvas, run: Run, at: int, x: float, y: float) -> None:
    boot = run.boots.of(run.about)[at]
    number = boot.boot_id.rpartition("/")[2].lstrip("0")
    outlier = at in run.told.outliers
    words = f"boot {number}: {seconds(run.values[at])} s{', an outlier' if outlier else ''}"
    canvas.dot(x, y, "cpu", words, outlier)


def _rows(canvas: Canvas, run: Run, low: int, high: int) -> None:
    scale = axis.Axis(low, high, canvas.left + 76, canvas.right - 80)
    top = canvas.y + 28
    bottom = top + _STEP * len(run.values) + 6
    axis.draw(canvas, scale, top, bottom)
    _middle(canvas, run, scale, top, bottom)
    boots = run.boots.of(run.about)
    for at, ns in enumerate(run.values):
        y = top + 13 + _STEP * at
        number = boots[at].boot_id.rpartition("/")[2].lstrip("0")
        canvas.text(canvas.left, y + 4, f"boot {number}", size=SMALL + 1, fill="quiet")
        _dot(canvas, run, at, scale.x(ns), y)
        canvas.text(canvas.right, y + 4, f"{seconds(ns)} s", size=SMALL + 1, anchor="end")
    canvas.y = bottom


def _strips(canvas: Canvas, runs: Sequence[Run], names: list[str], low: int, high: int) -> None:
    called = names
    if len(runs) == 2:
        called = [f"{side}  {name}" for side, name in zip("AB", called, strict=True)]
    medians = [f"median {seconds(run.told.median_ns)} s" for run in runs]
    widest = max(
        *(width(name[:200], SIZE, True) for name in called), *(width(words, SMALL + 1) for words in medians)
    )
    names_wide = min(widest, canvas.width * 0.3) + 16
    scale = axis.Axis(low, high, canvas.left + names_wide, canvas.right - 16)
    top = canvas.y + 28
    bottom = top + _HIGH * len(runs)
    axis.draw(canvas, scale, top, bottom)
    for n, run in enumerate(runs):
        y = top + n * _HIGH
        if n % 2:
            canvas.line(canvas.left, y, canvas.right, y, "line")
        _middle(canvas, run, scale, y + 8, y + _HIGH - 8)
        room = names_wide - 12
        canvas.text(canvas.left, y + 34, called[n], bold=True, room=room)
        lines = [f"{len(run.values)} boots", medians[n]]
        for at, words in enumerate(lines):
            canvas.text(canvas.left, y + 53 + 17 * at, words, size=SMALL + 1, fill="quiet", room=room)
        for at, x, level in stacked([scale.x(ns) for ns in run.values]):
            _dot(canvas, run, at, x, y + _HIGH / 2 + level)
    canvas.y = bottom


def stacked(places: Sequence[float]) -> list[tuple[int, float, float]]:
    """Dots that would overlap are moved up and down: (number, position, offset downwards) of each."""
    piles: dict[int, int] = {}
    found = []
    counts: dict[int, int] = {}
    for x in places:
        counts[round(x / 10)] = counts.get(round(x / 10), 0) + 1
    for at in sorted(range(len(places)), key=lambda n: places[n]):
        pile = round(places[at] / 10)
        nth = piles.get(pile, 0)
        piles[pile] = nth + 1
        step = 11 if counts[pile] <= _STACK else 11 * _STACK / counts[pile]
        found.append((at, places[at], (nth - (counts[pile] - 1) / 2) * step))
    return found


def _changes(canvas: Canvas, found: BootComparison) -> None:
    """The change of each phase with its interval, on one axis around zero."""
    judged = [v for v in (found.goal, *found.details) if v.shift][:MOST_CHANGES]
    if not judged:
        return
    sheet.heading(canvas, f"B - A, with {CONFIDENCE} interval")
    names = min(max(width(named(v.quantity, 60), SIZE) for v in judged), canvas.width * 0.3) + 14
    columns = _columns(judged, canvas.right - canvas.left - names)
    ends = [0, *(ns for v in judged if v.shift for ns in (v.shift.low_ns, v.shift.high_ns))]
    edge = max(1, (max(ends) - min(ends)) // 20)
    room = sum(wide for _, wide in columns) + 10
    scale = axis.Axis(min(ends) - edge, max(ends) + edge, canvas.left + names, canvas.right - room)
    top = canvas.y + 24
    bottom = top + 26 * len(judged) + 4
    axis.draw(canvas, scale, top, bottom)
    canvas.line(scale.x(0), top, scale.x(0), bottom, "ink", 1.5)
    for at, v in enumerate(judged):
        y, x = top + 20 + 26 * at, canvas.right
        canvas.text(canvas.left, y, named(v.quantity, 60), room=names - 10)
        _change(canvas, v, scale, y - 5)
        for cell, wide in reversed(columns):
            canvas.text(x, y, cell(v), anchor="end", fill=_ink(v) if cell == _word else "ink")
            x -= wide
    canvas.y = bottom


def _columns(
    judged: Sequence[ComparedQuantity], room: float
) -> list[tuple[Callable[[ComparedQuantity], str], float]]:
    """The columns beside the axis, with their widths: as many as leave room for the axis."""
    cells = (_moved, interval, _word)
    found: list[tuple[Callable[[ComparedQuantity], str], float]] = [
        (cell, max(width(cell(v), SIZE) for v in judged) + 16) for cell in cells
    ]
    # The interval is drawn, and the verdict has a colour: only the change needs a figure.
    while len(found) > 1 and sum(wide for _, wide in found) > room * 0.6:
        found.pop(1)
    return found


def _moved(v: ComparedQuantity) -> str:
    return signed(v.shift.shift_ns) if v.shift else "-"


def _word(v: ComparedQuantity) -> str:
    return v.word.replace(NOT_SHOWN, "not shown")


def _ink(v: ComparedQuantity) -> str:
    return {"faster": "good", "slower": "bad"}.get(v.word, "quiet")


def _change(canvas: Canvas, v: ComparedQuantity, scale: axis.Axis, y: float) -> None:
    if v.shift is None:
        return
    colour, (low, high) = _ink(v), map(scale.x, (v.shift.low_ns, v.shift.high_ns))
    canvas.line(low, y, high, y, colour, 3)
    for x in (low, high):
        canvas.line(x, y - 5, x, y + 5, colour, 2)
    canvas.dot(scale.x(v.shift.shift_ns), y, colour, f"{named(v.quantity)}: {signed(v.shift.shift_ns)}")
