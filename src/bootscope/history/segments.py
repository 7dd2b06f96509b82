# SPDX-License-Identifier: Apache-2.0
"""Where the level of a series of figures changes.

Exact figures (of the emulated board): every change counts. Others: changeforest proposes places by the change
in mean (Londschien, Buehlmann, Kovacs: Random Forests for Change Point Detection, JMLR 24, 2023; seeded
binary segmentation), after outliers were moved close to their neighbours. Those are kept for which the test
of :mod:`bootscope.statistics.shift` shows a change between the figures before and after, with its p value
corrected for all the places where a change could have been found (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

from bootscope.core.errors import UserError
from bootscope.statistics.describe import median
from bootscope.statistics.shift import ALPHA, FEWEST, shift

_GAIN = 2.0
"""The least gain of a proposed place: a multiple of log(n), in squares of the noise. The test decides."""
_MAD_TO_DEVIATION = 1.4826
_BESIDE = 3
"""Figures on each side by which an outlier is recognised."""
_FAR = 3.0
"""How far from the median of its neighbours an outlier is moved, as a multiple of the noise."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Figures of one level, in ns: places `first` to `last`, counted from 0, both included.

    `p` is the p value of the change before it, corrected; None for the first segment and for exact figures.
    """

    first: int
    last: int
    median_ns: int
    low_ns: int
    high_ns: int
    p: float | None = None

    @property
    def count(self) -> int:
        """How many figures it has."""
        return self.last - self.first + 1


def exact_segments(values: Sequence[int]) -> tuple[Segment, ...]:
    """The segments of exact figures in ns: each ends at the next change."""
    starts = [at for at in range(len(values)) if at == 0 or values[at] != values[at - 1]]
    return _between(values, starts, {})


def shown_segments(values: Sequence[int], step_ns: int = 0) -> tuple[Segment, ...]:
    """The segments of varying figures, in ns; `step_ns` is the resolution of their stamps.

    Raises UserError if changeforest is not installed and there are enough figures to need it.
    """
    if len(values) < 2 * FEWEST:
        return _between(values, [0] if values else [], {})
    return _pruned(values, [0, *_proposed(values, step_ns)], step_ns)


def _proposed(values: Sequence[int], step_ns: int) -> list[int]:
    """Places where a new mean may begin."""
    found = _changeforest()
    noise = _noise(values, step_ns)
    import numpy

    scaled = numpy.array([[value / noise] for value in _clamped(values, _FAR * noise)])
    least = max(FEWEST / len(values), 1e-9)
    gain = _GAIN * math.log(len(values))
    control = found.Control(minimal_relative_segment_length=min(least, 0.49), minimal_gain_to_split=gain)
    places = found.changeforest(scaled, "change_in_mean", "sbs", control).split_points()
    return sorted(int(at) for at in places if FEWEST <= at <= len(values) - FEWEST)


def _changeforest() -> Any:
    try:
        import changeforest
    except ImportError:
        raise UserError(
            "change points of runs that vary need changeforest, which is not installed",
            hint="pip install 'bootscope[history]'; runs of the emulated board need nothing",
        ) from None
    return changeforest


def _noise(values: Sequence[int], step_ns: int) -> float:
    """The standard deviation from figure to figure, hardly affected by changes of level."""
    steps = sorted(abs(b - a) for a, b in pairwise(values))
    return max(_MAD_TO_DEVIATION * median(steps) / math.sqrt(2), step_ns / math.sqrt(12), 1.0)


def _clamped(values: Sequence[int], far: float) -> list[float]:
    """The figures minus the first one; each at most `far` from the median of its neighbours."""
    found = []
    for at, value in enumerate(values):
        middle = median(values[max(0, at - _BESIDE) : at + _BESIDE + 1])
        found.append(min(max(value, middle - far), middle + far) - values[0])
    return found


def _pruned(values: Sequence[int], starts: list[int], step_ns: int) -> tuple[Segment, ...]:
    """The segments without the changes that the test does not show; the least certain is removed first."""
    places = len(values) - 1

    @cache
    def corrected(first: int, start: int, end: int) -> float:
        return min(1.0, places * shift(values[first:start], values[start:end], step_ns).p)

    while True:
        ends = [*starts[2:], len(values)]
        p = {b: corrected(a, b, c) for a, b, c in zip(starts, starts[1:], ends, strict=False)}
        worst = max(p, key=lambda start: p[start], default=None)
        if worst is None or p[worst] <= ALPHA:
            return _between(values, starts, p)
        starts = [start for start in starts if start != worst]


def _between(values: Sequence[int], starts: Sequence[int], p: dict[int, float]) -> tuple[Segment, ...]:
    found = []
    for a, b in pairwise([*starts, len(values)]):
        part = values[a:b]
        found.append(Segment(a, b - 1, median(part), min(part), max(part), p.get(a)))
    return tuple(found)
