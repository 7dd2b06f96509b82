# SPDX-License-Identifier: Apache-2.0
"""Quantiles of Student's t, which the standard library lacks."""

from __future__ import annotations

import math
from statistics import NormalDist

_NORMAL_975 = NormalDist().inv_cdf(0.975)


def student_limit(alpha: float) -> float:
    """The t value exceeded on both sides together with probability `alpha`, for 2 degrees of freedom."""
    c = 1 - alpha
    return c * math.sqrt(2 / (1 - c * c))


def student_975(freedom: float) -> float:
    """The t value that is exceeded with a probability of 2.5 % on either side.

    Exact for 1 and 2 degrees of freedom and interpolated between; above that the expansion of Fisher and
    Cornish (Abramowitz and Stegun, 26.7.5), whose error is below 1 % from 3 on.
    """
    if freedom <= 1:
        return 12.706
    if freedom < 3:
        low, high, at = (12.706, 4.303, 1) if freedom < 2 else (4.303, 3.182, 2)
        return low * math.exp(math.log(high / low) * (freedom - at))
    z, n = _NORMAL_975, freedom
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return z + sum(term / n ** (power + 1) for power, term in enumerate(terms))
