# SPDX-License-Identifier: Apache-2.0
"""How well the median of a sample is known, whatever its distribution. Times are integer ns."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

LEAST_PERCENT = 97
"""What the interval of a median holds at least; the same as that of a difference (shift.py)."""


def median_interval(values: Sequence[int]) -> tuple[int, int] | None:
    """Two of the values between which the median of all such boots lies with at least LEAST_PERCENT
    probability; None where there are too few for that (fewer than 7).

    By order statistics: so many of n values lie below the median as heads come up when n coins are thrown.
    """
    ordered, count = sorted(values), len(values)
    below, place = 0, -1
    # Both sides together may be outside in at most 3 of 100 cases.
    for at in range(count // 2):
        below += comb(count, at)
        if 200 * below > (100 - LEAST_PERCENT) * 2**count:
            break
        place = at
    return (ordered[place], ordered[count - 1 - place]) if place >= 0 else None
