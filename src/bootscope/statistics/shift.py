# SPDX-License-Identifier: Apache-2.0
"""How far one sample is from another, with its confidence interval, and whether a difference is shown."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bootscope.statistics.describe import median
from bootscope.statistics.ranks import least_p, rank_p, tails
from bootscope.statistics.student import student_limit

ALPHA = 0.03
"""A difference is shown when its p value is at most this.

3 in 100 and not 5, so that of 1,000 comparisons of equal builds at most 50 are wrong: not only on average,
but in every count, with room for boots that are not quite independent of each other. The price is some 15 %
more boots."""
CONFIDENCE = "97 %"
"""Of the interval that matches ALPHA."""
FEWEST = 3
"""Fewer boots than this on either side allow no verdict."""
RANKS, STUDENT = "rank test (Mann-Whitney)", "t test (Welch), 2 degrees of freedom"


@dataclass(frozen=True, slots=True)
class Shift:
    """The shift from `a` to `b`: best estimate, ends of the interval, p value, the test's name."""

    shift_ns: int
    low_ns: int
    high_ns: int
    p: float
    test: str

    @property
    def shown(self) -> bool:
        """Whether a difference is shown."""
        return self.p <= ALPHA


def chosen_test(size_a: int, size_b: int) -> str:
    """The test for samples of these sizes: ranks of 3 and 3 boots could never show anything."""
    return RANKS if least_p(size_a, size_b) <= ALPHA else STUDENT


def shift(a: Sequence[int], b: Sequence[int], step_ns: int = 0) -> Shift:
    """The shift from `a` to `b`, in ns; `step_ns` is the resolution of the stamps.

    The estimate is Hodges and Lehmann's: the median of all differences between a value of `b` and one of `a`.
    Raises ValueError for fewer than :data:`FEWEST` values.
    """
    if min(len(a), len(b)) < FEWEST:
        raise ValueError(f"fewer than {FEWEST} values")
    if chosen_test(len(a), len(b)) == STUDENT:
        return _student(a, b, step_ns)
    differences = sorted(y - x for x in a for y in b)
    low, high = _interval(a, b, differences)
    return Shift(median(differences), low, high, rank_p(a, b), RANKS)


def _interval(a: Sequence[int], b: Sequence[int], differences: Sequence[int]) -> tuple[int, int]:
    """The ends of the range of shifts that the rank test does not reject.

    Its result changes only where a difference becomes 0, so it is evaluated at the differences and between
    them: at the even and the odd places of a sequence. Everything is doubled so that there is a whole number
    between any two.
    """
    steps = sorted(set(differences))
    twice_a, twice_b = [2 * x for x in a], [2 * x for x in b]

    def tails_at(place: int) -> tuple[float, float]:
        at, between = divmod(place, 2)
        by = steps[at] + steps[at + 1] if between else 2 * steps[at]
        return tails([x + by for x in twice_a], twice_b)

    last = 2 * (len(steps) - 1)
    first = _first(last, lambda place: tails_at(place)[0] > ALPHA / 2)
    from_top = _first(last, lambda place: tails_at(last - place)[1] > ALPHA / 2)
    return steps[first // 2], steps[(last - from_top + 1) // 2]


def _first(last: int, accepted: Callable[[int], bool]) -> int:
    """The first place in 0..last that is accepted, as all after it are; `last` if none is."""
    return min(last, bisect_left(range(last), True, key=accepted))


def variance(values: Sequence[int]) -> float:
    """The variance of a sample of at least two values, in ns²."""
    mean = sum(values) / len(values)
    return sum((x - mean) ** 2 for x in values) / (len(values) - 1)


def standard_error(a: Sequence[int], b: Sequence[int], step_ns: int) -> float:
    """Of the difference of the means, in ns; no value is more accurate than its stamp's resolution."""
    floor = step_ns**2 / 12
    return math.sqrt(sum(max(variance(x), floor) / len(x) for x in (a, b)))


def _student(a: Sequence[int], b: Sequence[int], step_ns: int) -> Shift:
    """Welch's test with the degrees of freedom of a sample of 3, which errs on the safe side."""
    off = sum(b) / len(b) - sum(a) / len(a)
    error = standard_error(a, b, step_ns)
    t = off / error if error else math.copysign(math.inf, off) if off else 0.0
    p = 0.0 if math.isinf(t) else 1 - abs(t) / math.sqrt(2 + t * t)
    reach = student_limit(ALPHA) * error
    return Shift(round(off), math.floor(off - reach), math.ceil(off + reach), p, STUDENT)


def above_p(a: Sequence[int], b: Sequence[int], by_ns: int, step_ns: int = 0) -> float:
    """The one-sided p value for `b` being more than `by_ns` above `a`.

    Raises ValueError for fewer than :data:`FEWEST` values.
    """
    if min(len(a), len(b)) < FEWEST:
        raise ValueError(f"fewer than {FEWEST} values")
    moved = [x + by_ns for x in a]
    if chosen_test(len(a), len(b)) == RANKS:
        return tails(moved, b)[0]
    found = _student(moved, b, step_ns)
    return found.p / 2 if found.shift_ns > 0 else 1 - found.p / 2
