# SPDX-License-Identifier: Apache-2.0
"""When each byte of a capture came: dated back from the reads by the line rate.

A read shows that its bytes had come by then. On a serial line bytes are at least one byte time apart, so a
byte followed by n others, in the same read or in later ones without a pause, came at least n byte times
before the last of them. The latest moment that all reads allow is taken: a late read is corrected by the next
one that was on time.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import NamedTuple

from bootscope.capture.tap import BITS, Tap

NS = 1_000_000_000


def byte_ns(rate: int) -> int:
    """The time of a byte on a line of `rate` baud, in ns; 0 for an unknown rate."""
    return BITS * NS // rate if rate else 0


def arrivals_ns(tap: Tap, rate: int) -> array[int]:
    """The moment of each byte of a capture, on the clock of its reads, in ns."""
    step = byte_ns(rate)
    found = array("q", bytes(8 * len(tap.data)))
    end, latest = len(tap.data), 1 << 62
    for read in range(len(tap.at_ns) - 1, -1, -1):
        first = tap.ends[read - 1] if read else 0
        latest = min(latest, tap.at_ns[read])
        for index in range(end - 1, first - 1, -1):
            found[index] = latest
            latest -= step
        end = first
    return found


def lines(tap: Tap, rate: int) -> Iterator[tuple[int, bytes]]:
    """(moment of its first byte in ns, bytes without the line's end) of each line.

    Carriage returns at the end are not part of a line; one in the middle restarts the line on a terminal, and
    stays.
    """
    moments, data, start = arrivals_ns(tap, rate), bytes(tap.data), 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        text = data[start:end]
        skip = len(text) - len(text.lstrip(b"\r"))
        yield moments[min(start + skip, len(data) - 1)], text.strip(b"\r")
        start = end + 1


class Zero(NamedTuple):
    """Time zero of a capture: its moment on the monotonic clock and its error, in ns; its description;
    whether it is the moment of power-on."""

    at_ns: int
    error_ns: int
    words: str
    at_power: bool


def zero_of(found: Tap) -> Zero:
    """Time zero of a capture.

    Power comes between the call that switches it on and its return, and before the first byte. If another
    computer listened, the error includes that between its clock and ours.
    """
    calls = [e.at_ns for e in found.of("power") if e.facts.get("at") == "call"]
    returns = [e.at_ns for e in found.of("power") if e.facts.get("at") == "return"]
    step, clock_ns = byte_ns(found.rate), found.clock_error_ns
    first = found.at_ns[0] - step if len(found.at_ns) else None
    if not calls or not returns:
        zero = first if first is not None else (calls or [0])[0]
        return Zero(zero, 0, "the first byte received", at_power=False)
    # A read just after the call may bring a byte that was under way before it.
    last = min(returns[0], max(calls[0], first + clock_ns)) if first is not None else returns[0]
    half = max(0, last - calls[0]) // 2
    error = half + clock_ns
    words = f"power on, known to ±{error / NS:.6f} s"
    return Zero(calls[0] + half, error, words, at_power=True)
