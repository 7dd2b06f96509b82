# SPDX-License-Identifier: Apache-2.0
"""Whether a console is listened to at the wrong line rate, and which one it may be.

A line that is slower than it is listened to stretches each of its bits over several of ours, so that the
bytes have long runs of equal bits, and their shortest run is the ratio of the rates. A line that is faster
leaves bytes in which nothing can be told.
"""

from __future__ import annotations

from itertools import groupby

COMMON = (9600, 19200, 38400, 57600, 115200, 230400, 460800, 921600, 1_500_000, 3_000_000)
_WRONG_PERCENT = 25
_PLAIN = frozenset(range(0x20, 0x7F)) | {8, 9, 10, 13, 27}


def looks_wrong(data: bytes) -> bool:
    """Whether bytes can hardly be text. Text in UTF-8 is text."""
    if not data:
        return False
    odd = sum(byte not in _PLAIN for byte in data)
    if odd * 100 < len(data) * _WRONG_PERCENT:
        return False
    # Cut characters at both ends are no fault.
    text = data.decode("utf-8", "replace").strip("\ufffd")
    return (
        sum(c == "\ufffd" or (ord(c) < 32 and ord(c) not in _PLAIN) for c in text) * 100
        >= len(text) * _WRONG_PERCENT
    )


def proposed(data: bytes, rate: int) -> list[int]:
    """Rates that the line may have instead of `rate`, the likeliest first."""
    slower = [r for r in COMMON if r < rate]
    if data.count(0) * 2 > len(data):
        # A bit of the line is longer than a byte of ours.
        return sorted((r for r in slower if r * 8 <= rate), key=lambda r: (r not in (9600, 115200), -r))[:2]
    ratio = _shortest_run(data)
    if ratio >= 2:
        return sorted(slower, key=lambda r: abs(rate / r - ratio))[:2]
    faster = [r for r in COMMON if r > rate]
    # What people use comes first.
    return sorted(faster, key=lambda r: (r not in (115200, 1_500_000, 921600), r))[:3]


def _shortest_run(data: bytes) -> int:
    """The shortest run of equal bits that is no exception, counting start bits; 1 when there are single
    bits."""
    found: list[int] = []
    for byte in data:
        bits = [0, *(byte >> n & 1 for n in range(8))]
        # The stop bit is not known, so neither is how long the last run is: a port takes what comes for one.
        found += [len(list(run)) for _, run in groupby(bits)][:-1]
    return sorted(found)[(len(found) - 1) // 20] if found else 1
