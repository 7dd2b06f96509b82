# SPDX-License-Identifier: Apache-2.0
"""One sample: middle, spread, outliers, a first boot that differs, drift. Times are integer ns."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist

OUTLIER_SCORE = 3.5
"""Modified z score from which a value is an outlier (Iglewicz and Hoaglin, How to Detect and Handle Outliers,
1993): ``|x - median| / (1.4826 MAD)``."""
LEAST_PERCENT = 97
"""The least confidence of a median's interval; the same as for a difference (shift.py)."""
DRIFT_P = 0.01
"""A trend is reported when its p value is at most this: a warning beside the verdict, which should be
rare."""
_FEWEST_FOR_OUTLIERS = 3
_FEWEST_FOR_DRIFT = 6
_FEWEST_FOR_WARM_UP = 5
_EXACT_UP_TO = 80
_MAD_TO_DEVIATION = 1.4826
_MEAN_TO_DEVIATION = 1.2533
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Drift:
    """A trend from boot to boot: the Theil-Sen slope, and the p value of Mann and Kendall's test."""

    per_boot_ns: int
    p: float


@dataclass(frozen=True, slots=True)
class Description:
    """The description of a sample. `quartiles` are the lower and the upper one; `mad_ns` is the median
    distance from the median. `outliers` are positions in the sample, from 0; `warm_up` is the first boot's
    difference from the median of the others if it is outside of them, otherwise 0."""

    count: int
    median_ns: int
    lowest_ns: int
    highest_ns: int
    quartiles: tuple[int, int]
    mad_ns: int
    outliers: tuple[int, ...]
    warm_up_ns: int
    drift: Drift | None

    @property
    def spread_ns(self) -> int:
        """The interquartile range."""
        return self.quartiles[1] - self.quartiles[0]


def describe(values: Sequence[int], step_ns: int = 0) -> Description:
    """Describes values in the order of the boots; `step_ns` is the resolution of their stamps.

    Raises ValueError for no values.
    """
    middle = median(values)
    return Description(
        count=len(values),
        median_ns=middle,
        lowest_ns=min(values),
        highest_ns=max(values),
        quartiles=(quantile(values, 1, 4), quantile(values, 3, 4)),
        mad_ns=median([abs(x - middle) for x in values]),
        outliers=outliers(values, step_ns),
        warm_up_ns=warm_up(values, step_ns),
        drift=drift(values),
    )


def median(values: Sequence[int]) -> int:
    """The middle value, or the mean of the middle two, rounded down. Raises ValueError for no values."""
    if not values:
        raise ValueError("no values have no median")
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) // 2


def median_interval(values: Sequence[int]) -> tuple[int, int] | None:
    """Two of the values between which the true median of such boots lies with at least LEAST_PERCENT
    confidence, whatever the distribution; None for too few values (fewer than 7).

    By order statistics: how many of n values are below the median is distributed like heads in n coin tosses.
    """
    ordered, count = sorted(values), len(values)
    below, place = 0, -1
    # Both sides together may miss the median in at most 3 of 100 cases.
    for at in range(count // 2):
        below += math.comb(count, at)
        if 200 * below > (100 - LEAST_PERCENT) * 2**count:
            break
        place = at
    return (ordered[place], ordered[count - 1 - place]) if place >= 0 else None


def quantile(values: Sequence[int], part: int, whole: int) -> int:
    """The smallest value that at least `part` of `whole` of the values do not exceed (nearest rank).

    It is always one of the values: the 95th percentile of 10 boots is the slowest of them.
    """
    if not values:
        raise ValueError("no values have no quantile")
    return sorted(values)[max(0, -(-len(values) * part // whole) - 1)]


def deviation_of(values: Sequence[int]) -> float:
    """The standard deviation of normal noise with the same median distance from its median as these values:
    outliers do not affect it. Raises ValueError for no values."""
    middle = median(values)
    return _MAD_TO_DEVIATION * median([abs(x - middle) for x in values])


def outliers(values: Sequence[int], step_ns: int = 0) -> tuple[int, ...]:
    """The positions (from 0) of values whose modified z score is above :data:`OUTLIER_SCORE`.

    If more than half of the values are equal and the MAD is 0, the mean distance is used instead, as Iglewicz
    and Hoaglin advise. The deviation is taken to be at least the resolution of the stamps.
    """
    if len(values) < _FEWEST_FOR_OUTLIERS:
        return ()
    middle = median(values)
    away = [abs(x - middle) for x in values]
    deviation = deviation_of(values) or _MEAN_TO_DEVIATION * sum(away) / len(away)
    limit = OUTLIER_SCORE * max(deviation, step_ns)
    return tuple(at for at, distance in enumerate(away) if distance > limit)


def warm_up(values: Sequence[int], step_ns: int = 0) -> int:
    """The first value's distance from the median of the others; 0 if it is no outlier among them."""
    rest = values[1:]
    if len(values) < _FEWEST_FOR_WARM_UP:
        return 0
    off = values[0] - median(rest)
    beyond = values[0] > max(rest) or values[0] < min(rest)
    return off if beyond and abs(off) > OUTLIER_SCORE * max(deviation_of(rest), step_ns) else 0


def drift(values: Sequence[int]) -> Drift | None:
    """The trend of values in the order of the boots, if it is significant at :data:`DRIFT_P`."""
    if len(values) < _FEWEST_FOR_DRIFT:
        return None
    p = trend_p(values)
    if p > DRIFT_P:
        return None
    pairs = combinations(enumerate(values), 2)
    return Drift(median([(y - x) // (j - i) for (i, x), (j, y) in pairs]), p)


def trend_p(values: Sequence[int]) -> float:
    """The two-sided p value of Mann and Kendall's test for a trend, corrected for ties.

    Exact for up to 80 values: over all orders of these values, the counts of pairs in the wrong order are the
    coefficients of the Gaussian multinomial.
    """
    falling = sum(y < x for x, y in combinations(values, 2))
    rising = sum(y > x for x, y in combinations(values, 2))
    ties = list(Counter(values).values())
    off = abs(rising - falling)
    if len(values) > _EXACT_UP_TO:
        return _normal_trend_p(off, len(values), ties)
    counts = _inversions(ties)
    last = len(counts) - 1
    return sum(c for at, c in enumerate(counts) if abs(last - 2 * at) >= off) / sum(counts)


def _inversions(ties: Sequence[int]) -> list[int]:
    """Number of pairs in the wrong order -> how many orders of the values have it; `ties` are the sizes of
    groups of equal values."""
    counts, before = [1], 0
    for tie in ties:
        counts += [0] * (before * tie)
        for i in range(1, tie + 1):
            by = before + i
            for at in range(len(counts) - 1, by - 1, -1):  # times (1 - q**by)
                counts[at] -= counts[at - by]
            for at in range(i, len(counts)):  # divided by (1 - q**i)
                counts[at] += counts[at - i]
        before += tie
    return counts


def _normal_trend_p(off: int, count: int, ties: Sequence[int]) -> float:
    def term(n: int) -> int:
        return n * (n - 1) * (2 * n + 5)

    deviation = math.sqrt((term(count) - sum(term(t) for t in ties)) / 18)
    return 2 * _NORMAL.cdf(-max(0, off - 1) / deviation) if deviation else 1.0
