# SPDX-License-Identifier: Apache-2.0
"""Texts of times as nanoseconds: spans as systemd prints them (``1min 9.608s``, ``857ms``, ``0``), decimal
numbers, and stamps of hostile files, which always fit into 64 bits."""

from __future__ import annotations

import re

# systemd's own lengths of a month and a year, in seconds (src/basic/time-util.h).
_UNIT_NS = {
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "min": 60 * 1_000_000_000,
    "h": 3_600 * 1_000_000_000,
    "d": 86_400 * 1_000_000_000,
    "w": 604_800 * 1_000_000_000,
    "month": 2_629_800 * 1_000_000_000,
    "y": 31_557_600 * 1_000_000_000,
}
_PART = re.compile(r"(\d{1,12})(?:\.(\d{1,12}))?(month|min|ms|us|µs|μs|y|w|d|h|s)(?= |$)", re.ASCII)
_DECIMAL = re.compile(r"([-+]?)(\d{0,20})(?:\.(\d{0,20}))?(?:[eE]([-+]?\d{1,3}))?", re.ASCII)
_MAX_PARTS = 9
LONGEST_NS = 1 << 60
_LAST_SECOND = (1 << 32) - 1
LAST_NS = _LAST_SECOND * 1_000_000_000
"""The largest stamp, in 2106; sums of two still fit."""


def leading_span(text: str) -> tuple[int, str] | None:
    """The time span that `text` begins with, in ns, and what follows it; None when there is none.

    Units must go from long to short, as systemd prints them: so a unit that is called ``5s`` is not
    taken for a part of the span before it.
    """
    at = total_ns = 0
    smallest = LONGEST_NS
    for _ in range(_MAX_PARTS):
        match = _PART.match(text, at)
        if not match or _UNIT_NS[match[3]] >= smallest:
            break
        smallest = _UNIT_NS[match[3]]
        digits = match[2] or "0"
        total_ns += int(match[1]) * smallest + int(digits) * smallest // 10 ** len(digits)
        at = match.end() + 1
    if total_ns > LONGEST_NS:
        return None
    if at:
        return total_ns, text[at:]
    if text == "0" or text.startswith("0 "):
        return 0, text[2:]
    return None


def span_ns(text: str) -> int | None:
    """`text` as a length in ns if it is a time span and nothing else."""
    found = leading_span(text.strip())
    return found[0] if found and not found[1] else None


def whole(text: str, digits: int = 18) -> int | None:
    """A whole number of at most so many decimal digits; None for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= digits else None


def decimal_ns(text: str, unit_ns: int = 1_000_000_000) -> int | None:
    """A decimal number such as ``-12.345678`` or ``1.5e-05`` of units of `unit_ns`, in ns, rounded down.

    Exact: no float is made of it. None for anything else, and for what is beyond 36 years.
    """
    match = _DECIMAL.fullmatch(text.strip())
    if not match:
        return None
    digits = match[2] + (match[3] or "")
    if not digits:
        return None
    scale = int(match[4] or 0) - len(match[3] or "")
    if abs(scale) > 40:
        return None
    power: int = 10 ** abs(scale)
    ns = int(digits) * unit_ns
    ns = ns * power if scale >= 0 else ns // power
    if ns > LONGEST_NS:
        return None
    return -ns if match[1] == "-" else ns


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


def stamp_ns(raw: bytes) -> int:
    """:func:`seconds_ns` of ASCII digits in a file, such as ``12.345678``."""
    if raw[-7:-6] == b"." and len(raw) <= 17:  # nearly all that there are
        at_ns = int(raw[:-7] + raw[-6:]) * 1_000
        if at_ns <= LAST_NS:
            return at_ns
    return seconds_ns(raw.decode("ascii"))


def ticks_ns(ticks: int, hz: int) -> int:
    """`ticks` of a counter of `hz` per second, in ns, rounded down, LAST_NS at most."""
    return min(ticks * 1_000_000_000 // max(1, hz), LAST_NS)
