# SPDX-License-Identifier: Apache-2.0
"""Whether a console is listened to at the wrong line rate, and which rate it may have.

A line that is slower than the listener stretches each of its bits over several of the listener's, so the
bytes have long runs of equal bits, and the shortest run is the ratio of the rates. Bytes from a line that is
faster say nothing about its rate.
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
    # Characters that are cut at either end do not count as errors.
    text = data.decode("utf-8", "replace").strip("\ufffd")
    return (
        sum(c == "\ufffd" or (ord(c) < 32 and ord(c) not in _PLAIN) for c in text) * 100
        >= len(text) * _WRONG_PERCENT
    )


def proposed(data: bytes, rate: int) -> list[int]:
    """Rates that the line may have instead of `rate`, most likely first."""
    slower = [r for r in COMMON if r < rate]
    if data.count(0) * 2 > len(data):
        # A bit of the line is longer than a byte of the listener.
        return sorted((r for r in slower if r * 8 <= rate), key=lambda r: (r not in (9600, 115200), -r))[:2]
    ratio = _shortest_run(data)
    if ratio >= 2:
        return sorted(slower, key=lambda r: abs(rate / r - ratio))[:2]
    faster = [r for r in COMMON if r > rate]
    # Commonly used rates come first.
    return sorted(faster, key=lambda r: (r not in (115200, 1_500_000, 921600), r))[:3]


def _shortest_run(data: bytes) -> int:
    """The shortest run of equal bits, counting start bits but ignoring the rarest runs; 1 when there are
    single bits."""
    found: list[int] = []
    for byte in data:
        bits = [0, *(byte >> n & 1 for n in range(8))]
        # The stop bit is unknown, and so is the length of the last run: a port accepts any level for a stop
        # bit.
        found += [len(list(run)) for _, run in groupby(bits)][:-1]
    return sorted(found)[(len(found) - 1) // 20] if found else 1
