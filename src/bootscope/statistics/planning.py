# SPDX-License-Identifier: Apache-2.0
"""What a number of boots can show, and how many boots it takes to show a difference.

The noise is estimated from the existing boots: how far two boots of the same build are apart. An estimate
from 10 boots is rough, and a plan based on too small a noise fails, so it is stretched to the upper end of
its uncertainty (:func:`stretch`).
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import combinations
from statistics import NormalDist

from bootscope.statistics.ranks import least_p
from bootscope.statistics.shift import ALPHA, STUDENT, chosen_test, standard_error
from bootscope.statistics.student import student_limit

POWER = 0.8
"""The probability with which a difference of the planned size is shown."""
MOST = 10_000
"""Nobody makes more boots than this."""
_UPPER, _UPPER_OF_FEW = 0.8, 0.9
_FEW = 9
_NORMAL = NormalDist()
_Z_ALPHA, _Z_POWER = _NORMAL.inv_cdf(1 - ALPHA / 2), _NORMAL.inv_cdf(POWER)


class Noise:
    """How far boots of one build are apart.

    Raises ValueError if no sample has two values.
    """

    def __init__(self, *samples: Sequence[int], step_ns: int = 0) -> None:
        self._apart = sorted(abs(x - y) for sample in samples for x, y in combinations(sample, 2))
        if not self._apart:
            raise ValueError("one boot has no spread")
        self._step_ns = step_ns
        self._samples = samples
        self._stretch = stretch(sum(len(sample) - 1 for sample in samples if sample))

    def above(self, shift_ns: int) -> float:
        """The probability that a boot with that shift takes longer than one without; a tie counts half."""
        count = len(self._apart)
        reach = shift_ns / self._stretch
        nearer, not_farther = bisect_left(self._apart, reach), bisect_right(self._apart, reach)
        return 1 - (count - not_farther) / count / 2 - (not_farther - nearer) / count / 4

    def boots_for(self, shift_ns: int) -> int | None:
        """Boots of each side to show a shift with :data:`POWER`; None for more than :data:`MOST`."""
        above = self.above(abs(shift_ns))
        if above <= 0.5 or not enough(MOST, MOST, above):
            return None
        return 1 + bisect_left(range(1, MOST), True, key=lambda size: enough(size, size, above))

    def smallest(self, size_a: int, size_b: int) -> int | None:
        """The smallest shift in ns that so many boots show with :data:`POWER`; None when there is none."""
        if min(size_a, size_b) < 2:
            return None
        if chosen_test(size_a, size_b) == STUDENT:
            return self._smallest_by_student(size_a, size_b)
        count = len(self._apart)

        def just_above(apart_ns: int) -> float:
            return 1 - (count - bisect_right(self._apart, apart_ns)) / count / 2

        found = bisect_left(self._apart, True, key=lambda ns: enough(size_a, size_b, just_above(ns)))
        if found == count:
            return None
        return max(math.ceil(self._apart[found] * self._stretch), self._step_ns, 1)

    def _smallest_by_student(self, size_a: int, size_b: int) -> int | None:
        longest = [sample for sample in self._samples if len(sample) > 1]
        error = max(standard_error(sample, sample, self._step_ns) for sample in longest)
        again = math.sqrt((1 / size_a + 1 / size_b) / (2 / max(len(sample) for sample in longest)))
        reach = student_limit(ALPHA) + student_limit(2 * (1 - POWER))
        return max(math.ceil(reach * error * again * self._stretch), self._step_ns, 1)


def enough(size_a: int, size_b: int, above: float) -> bool:
    """Whether the rank test shows with :data:`POWER` that `b` is above `a`, if a boot of `b` is above one of
    `a` with probability `above`.

    After Noether (1987), whose formula uses the deviation of the count of such pairs for equal samples. Here
    it shrinks as the samples separate, to 0 if they do not overlap; then 4 boots are enough, as is correct.
    """
    if least_p(size_a, size_b) > ALPHA:
        return False
    pairs = size_a * size_b
    equal = math.sqrt(pairs * (size_a + size_b + 1) / 12)
    parted = equal * 2 * math.sqrt(above * (1 - above))
    return _Z_ALPHA * equal + _Z_POWER * parted <= (above - 0.5) * pairs


def stretch(freedom: int) -> float:
    """The factor by which a deviation with so many degrees of freedom may be underestimated.

    The upper end of the one-sided 80 % interval of a normal deviation: the chi-square quantile by Wilson and
    Hilferty (1931). 1.29 for a pilot of 10 boots, 1.18 for two. For fewer than 9 degrees it is the 90 %
    interval, since few boots reveal the size of skewed noise even less than that of normal noise.
    """
    z = _NORMAL.inv_cdf(1 - (_UPPER if freedom >= _FEW else _UPPER_OF_FEW))
    cubed = 1 - 2 / (9 * freedom) + z * math.sqrt(2 / (9 * freedom))
    return float(cubed**-1.5)
