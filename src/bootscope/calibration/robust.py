# SPDX-License-Identifier: Apache-2.0
"""A fit that is robust against a few stretches that the emulator does not represent, and its errors.

The error of a stretch consists of the noise of its stamps and of the difference between emulator and board: a
part that is the same for all stretches and a share of their length, both estimated from the stretches
themselves. Outliers beyond that get less and less weight, and then none (Tukey's biweight, started with
Huber's weights).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from bootscope.calibration.solve import Vector, dot, gram, inverse, solve
from bootscope.statistics.student import student_975

_HUBER, _TUKEY = 1.345, 4.685
_HALF_NORMAL = 0.6745
"""Half of normally distributed errors are below this many standard deviations."""
_ROUNDS = 12
_SAME = 1e-6
_LEAST_SHARE, _MOST_SHARE = 1e-12, 1.0
_HALVINGS = 20
_NEVER_LESS = 0.01
"""The least error of an emulator without caches, as a share of a stretch, however well some fit."""
_LONG = 8
_FREEST = 0.1
"""A stretch that alone determines a figure has a leverage near 1; its residual says nothing."""


@dataclass(frozen=True, slots=True)
class Row:
    """A stretch: its amounts by column, its time without what takes the same time everywhere, its total time,
    and the error of that from its stamps; in ns."""

    amounts: Vector
    wanted_ns: float
    took_ns: float
    noise_ns: float


@dataclass(frozen=True, slots=True)
class KnownFigure:
    """A figure, half of its 95 % interval, and the number of stretches it rests on, as if all had the same
    weight."""

    value: float
    half: float
    stretches: float


def fit(rows: Sequence[Row], start: Vector) -> tuple[Vector, list[float]]:
    """The figures that fit the rows, and the weight of each row."""
    amounts = [row.amounts for row in rows]
    wanted = [row.wanted_ns for row in rows]
    figures, weights = start, [1.0] * len(rows)
    for turn, tuning in ((0, _HUBER), (1, _TUKEY)):
        for _ in range(_ROUNDS):
            weights = _weights(rows, figures, tuning, redescending=bool(turn))
            found = solve(amounts, wanted, weights)
            near = all(abs(a - b) <= _SAME * max(abs(a), abs(b)) for a, b in zip(found, figures, strict=True))
            figures = found
            if near:
                break
    return figures, _weights(rows, figures, _TUKEY, redescending=True)


def _weights(rows: Sequence[Row], figures: Vector, tuning: float, *, redescending: bool) -> list[float]:
    off = [row.wanted_ns - dot(row.amounts, figures) for row in rows]
    sigmas = _deviations(rows, off, len(figures))
    found: list[float] = []
    for residual, sigma in zip(off, sigmas, strict=True):
        far = abs(residual) / sigma / tuning
        trust = (1 - far * far) ** 2 if redescending and far < 1 else 0.0 if redescending else 1.0
        found.append((trust if redescending or far <= 1 else 1 / far) / sigma**2)
    return found


def _deviations(rows: Sequence[Row], off: Sequence[float], count: int) -> list[float]:
    """The standard error of each row: from its noise, a part that is the same for all rows, and a share of
    its length. The median of the short rows determines the second, that of the long ones the third."""
    found = [
        # A stretch in which the board waited for something else is not longer for that reason.
        _Off(row.noise_ns**2, max(0.0, min(row.took_ns, row.took_ns - e)) ** 2, e * e)
        for row, e in zip(rows, off, strict=True)
    ]
    ordered = sorted(found, key=lambda o: o.took)
    short, long = ordered[: (len(ordered) + 1) // 2], ordered[-max(_LONG, len(ordered) // 4) :]
    most = max(o.off for o in found) + 1.0
    same = share = 0.0
    for _ in range(2):
        same = _least(lambda x: _typical(short, x, share), _enough(len(short), count), most)  # noqa: B023
        share = _least(lambda x: _typical(long, same, x), _enough(len(long), count), _MOST_SHARE)  # noqa: B023
        share = max(share, _NEVER_LESS**2)
    return [math.sqrt(o.sigma(same, share)) for o in found]


@dataclass(frozen=True, slots=True)
class _Off:
    """Squares of a row's noise, of its length, and of its residual."""

    noise: float
    took: float
    off: float

    def sigma(self, same: float, share: float) -> float:
        """The expected square of its residual, from the squares of the two unknown deviations."""
        return self.noise + same + share * self.took


def _typical(found: Sequence[_Off], same: float, share: float) -> float:
    """The median of the rows' residuals relative to their expected size; squared."""
    return median(o.off / o.sigma(same, share) for o in found)


def _enough(rows: int, count: int) -> float:
    """The expected value of that; as many rows as there are figures fit in any case."""
    return _HALF_NORMAL**2 * max(1, rows - count) / rows


def _least(typical: Callable[[float], float], enough: float, most: float) -> float:
    """The least square of a deviation that brings the rest to `enough` or less; 0 where none is needed."""
    if typical(0.0) <= enough:
        return 0.0
    low, high = most * _LEAST_SHARE, most
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if typical(middle) > enough else (low, middle)
    return high


def known(
    rows: Sequence[Row], weights: Sequence[float], figures: Vector, given: Sequence[tuple[Vector, float]] = ()
) -> list[KnownFigure] | None:
    """How well each figure is known; None where they cannot be separated at all.

    `given`: the amounts of figures that were not fitted, with the errors of those: (amounts by row, standard
    error).

    Two errors are computed and the larger one is used: one from the noise as estimated over all stretches,
    and one that considers each stretch's influence on the figure (the sandwich of MacKinnon and White, 1985,
    HC3), with the degrees of freedom of the stretches that count.
    """
    amounts = [row.amounts for row in rows]
    count = len(figures)
    inverted = inverse(gram(amounts, weights, count))
    if inverted is None:
        return None
    off = [row.wanted_ns - dot(row.amounts, figures) for row in rows]
    pulls = [[w * dot(line, row) for line in inverted] for row, w in zip(amounts, weights, strict=True)]
    lean = [
        sum(pull * x for pull, x in zip(pulled, row, strict=True))
        for pulled, row in zip(pulls, amounts, strict=True)
    ]
    freedom = max(1, sum(w > 0 for w in weights) - count)
    found: list[KnownFigure] = []
    for j in range(count):
        model = math.sqrt(inverted[j][j]) * student_975(freedom)
        jack = math.sqrt(
            sum((p[j] * e / max(_FREEST, 1 - h)) ** 2 for p, e, h in zip(pulls, off, lean, strict=True))
        )
        shares = [p[j] ** 2 / w if w else 0.0 for p, w in zip(pulls, weights, strict=True)]
        squares = sum(s * s for s in shares)
        effective = sum(shares) ** 2 / squares if squares else 0.0
        both = max(model, jack * student_975(max(2.0, effective - 1)))
        others = [2 * d * sum(p[j] * x for p, x in zip(pulls, column, strict=True)) for column, d in given]
        found.append(KnownFigure(figures[j], math.hypot(both, *others), effective))
    return found
