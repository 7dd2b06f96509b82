# SPDX-License-Identifier: Apache-2.0
"""Stamps of hostile files as nanoseconds that always fit into 64 bits."""

from __future__ import annotations

_LAST_SECOND = (1 << 32) - 1
LAST_NS = _LAST_SECOND * 1_000_000_000
"""The largest stamp, in 2106; sums of two still fit."""


def seconds_ns(text: str) -> int:
    """Seconds as plain decimal digits with at most one point (the caller's expression saw to that), in ns;
    digits beyond nanoseconds are cut off, and what lies beyond 2106 becomes LAST_NS."""
    whole, _, fraction = text.partition(".")
    if len(fraction) == 6 and len(whole) <= 10:  # nearly all that there are
        at_ns = int(whole + fraction) * 1_000
        if at_ns <= LAST_NS:
            return at_ns
    if len(whole) > 10:
        return LAST_NS
    return min(int(whole or "0"), _LAST_SECOND) * 1_000_000_000 + int(fraction[:9].ljust(9, "0"))


def ticks_ns(ticks: int, hz: int) -> int:
    """`ticks` of a counter of `hz` per second, in ns, rounded down, LAST_NS at most."""
    return min(ticks * 1_000_000_000 // max(1, hz), LAST_NS)
