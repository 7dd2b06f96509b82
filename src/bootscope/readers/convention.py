# SPDX-License-Identifier: Apache-2.0
"""Which moment of a line its stamp is, told from the kernel stamps inside the same lines.

After a pause of the kernel, a line that is stamped at its first byte comes one pause after the line before.
Stamped at its end it comes later by the time that its bytes take. Stamped at the newline before, it
carries the moment at which the line before ended, and the pause shows one line too late.
"""

from __future__ import annotations

from itertools import pairwise

from bootscope.readers.base import END_OF_LINE, FIRST_BYTE, PREVIOUS_NEWLINE, Log

# Shorter pauses drown in the time that lines take to be sent.
_PAUSE_NS = 20_000_000
_ENOUGH = 3
# Between first byte and end: no difference below this for each byte (some 1 Mbaud).
_SLOPE_NS = 25_000
_SLOPE_LINES = 6


def convention(log: Log) -> str | None:
    """One of the stamp conventions, or None when the log does not tell."""
    stamped = [i for i, ns in enumerate(log.kernel_ns) if ns > 0]
    pauses = [
        (before, after)
        for before, after in pairwise(stamped)
        if after == before + 1 and log.kernel_ns[after] - log.kernel_ns[before] > _PAUSE_NS
    ]
    here = late = 0
    for before, after in pauses:
        if after + 1 >= len(log):
            continue
        pause_ns = log.kernel_ns[after] - log.kernel_ns[before]
        gap_ns = log.at_ns[after] - log.at_ns[before]
        next_ns = log.at_ns[after + 1] - log.at_ns[after]
        here += gap_ns * 2 > pause_ns > next_ns * 2
        late += next_ns * 2 > pause_ns > gap_ns * 2
    if late >= _ENOUGH and late > 3 * here:
        return PREVIOUS_NEWLINE
    if here >= _ENOUGH and here > 3 * late:
        return _first_or_end(log, [after for _, after in pauses])
    return None


def _first_or_end(log: Log, lines: list[int]) -> str | None:
    """Whether lines after a pause come later the longer they are."""
    points = sorted((len(log.raw(i)), log.at_ns[i] - log.kernel_ns[i]) for i in lines)
    if len(points) < _SLOPE_LINES:
        return None
    slopes = sorted(
        (b[1] - a[1]) // (b[0] - a[0])
        for n, a in enumerate(points[:100])
        for b in points[n + 1 : 100]
        if b[0] - a[0] >= 10
    )
    if not slopes:
        return None
    return END_OF_LINE if slopes[len(slopes) // 2] > _SLOPE_NS else FIRST_BYTE
