# SPDX-License-Identifier: Apache-2.0
"""The columns that a log is kept in."""

from __future__ import annotations

from array import array

from bootscope.readers.base import NO_STAMP, Log


def test_added_lines() -> None:
    log = Log()
    log.add(5, "naïve ✓", 6)
    log.add(7, "lone surrogate \ud800", kernel_ns=3)
    assert list(log) == [(5, "naïve ✓"), (7, "lone surrogate \\ud800")]
    assert list(log.level) == [6, -1]
    assert list(log.kernel_ns) == [NO_STAMP, 3]


def test_columns_share_a_text() -> None:
    blob = b"[1] one\n[2] t\xffo\n"
    numbers = [array("q", pair) for pair in ((4, 12), (7, 15), (1, 2), (NO_STAMP, NO_STAMP))]
    log = Log.of_columns(
        blob, numbers[0], numbers[1], numbers[2], array("b", (-1, -1)), numbers[3], bytearray(2)
    )
    assert list(log) == [(1, "one"), (2, "t\\xffo")]
    log.add(3, "three")
    assert len(log) == 3
    assert log.text(2) == "three"
    assert log.raw(1) == b"t\xffo"
