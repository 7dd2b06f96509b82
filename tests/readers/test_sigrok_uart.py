# SPDX-License-Identifier: Apache-2.0
"""A console decoded by sigrok from the levels of its line."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.core.errors import UserError
from bootscope.readers.base import FIRST_BYTE, Options, Source
from bootscope.readers.formats import sigrok
from bootscope.readers.formats.sigrok_uart import READERS

from .fuzzing import damaged, read, source, survives
from .unpacked import read_unpacked

(UART,) = READERS
MEGAHERTZ = {"samplerate_hz": "1000000"}
# The first data bit of each line, 1.5 bits of 8.68 us after the pause or the line before.
LINES = [
    (5_009_000, "U-Boot SPL 2025.01"),
    (6_745_000, "Trying to boot from MMC1"),
    (259_002_000, "Starting kernel ..."),
    (260_825_000, "[    0.000000] Booting Linux é"),
]


@pytest.mark.parametrize("name", ["ascii.txt", "hex.txt", "all.txt"])
def test_lines_and_their_first_bytes(name: str) -> None:
    assert UART.sure(source("sigrok-uart", name)) >= 95
    reading = read(UART, "sigrok-uart", name, **MEGAHERTZ)
    assert not reading.missed and not reading.questions
    (boot,) = reading.boots
    assert list(boot.log) == LINES
    assert (boot.clock.name, boot.clock.stamp, boot.clock.resolution_ns) == ("sample", FIRST_BYTE, 1_000)
    assert list(boot.log.kernel_ns) == [-1, -1, -1, 0]


def test_the_pin_and_the_text_agree() -> None:
    """The start bit of the first byte is the line's first edge."""
    (boot,) = read_unpacked(sigrok.READERS[0], "sigrok-uart", "uart.sr").boots
    first = min(p.at_ns for p in boot.points)
    assert first == 5_000_000 and 8_000 <= LINES[0][0] - first <= 9_000


def test_what_is_missing_is_asked_for() -> None:
    assert "samplerate_hz=N" in read(UART, "sigrok-uart", "ascii.txt").questions[0]
    reading = read(UART, "sigrok-uart", "bare.txt")
    assert "samplenum" in reading.questions[0]
    assert [text for _, text in reading.boots[0].log] == [text for _, text in LINES]
    assert reading.boots[0].clock.name == "none"


def test_another_text_is_refused() -> None:
    with pytest.raises(UserError):
        UART.read(Source("x", b"hello\n"), Options())


@settings(max_examples=80, deadline=None)
@given(st.data(), st.sampled_from(["ascii.txt", "hex.txt", "all.txt", "bare.txt"]))
def test_damage_does_no_harm(data: st.DataObject, name: str) -> None:
    survives(UART, data.draw(damaged(source("sigrok-uart", name).data)))


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=300))
def test_noise_does_no_harm(data: bytes) -> None:
    survives(UART, b"1-2 uart-1: " + data)
