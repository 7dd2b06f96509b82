# SPDX-License-Identifier: Apache-2.0
"""A serial console read off the levels of its line, as a logic analyser saw them.

The best stamps that a console can have: neither adapter, driver nor host lies between the pin and the clock.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass

from bootscope.core.errors import UserError, printable
from bootscope.readers.base import Options

OPTION = "uart"
NS = 1_000_000_000
BITS = 10
"""Of a frame: a start bit, 8 of data, a stop bit."""
_STOP = BITS - 1
MOST_BYTES = 16_000_000
FEWEST_SAMPLES = 4
"""Samples a bit below which bits may be taken for their neighbours."""


@dataclass(frozen=True, slots=True)
class Uart:
    """A channel that is a console's line of `rate` baud: 8 data bits, no parity, idle high; idle low with
    `inverted` (behind an RS-232 driver)."""

    channel: str
    rate: int
    inverted: bool = False

    @property
    def text(self) -> str:
        """How the option spells it."""
        return f"{self.channel}:{self.rate}" + (":inverted" if self.inverted else "")


def uart_option(options: Options) -> Uart | None:
    """What ``uart`` among the options says: ``CHANNEL:BAUD`` or ``CHANNEL:BAUD:inverted``.

    Raises UserError for anything else.
    """
    text = options.values.get(OPTION)
    if not text:
        return None
    plain = text.removesuffix(":inverted")
    channel, _, rate = plain.rpartition(":")
    if not channel or not (rate.isascii() and rate.isdigit() and 0 < int(rate[:9]) <= 50_000_000):
        raise UserError(
            f"uart: '{printable(text)}' is not CHANNEL:BAUD", hint="for example --option uart=D2:115200"
        )
    return Uart(channel, int(rate), plain != text)


class Decoder:
    """Fed with the changes of a line in the order of time, finds the bytes on it.

    Each byte is timed anew from the edge of its start bit and its bits are looked at in their middles, so
    that edges may be off by nearly half a bit, and the two clocks by 4 percent.
    """

    def __init__(self, uart: Uart) -> None:
        self.uart = uart
        self.at_ns = array("q")
        """When the start bit of each byte began."""
        self.data = bytearray()
        self.broken = 0
        """Frames without a stop bit: another rate, or the line held low."""
        self.glitches = 0
        """Pulses too short for a start bit."""
        self._mark = 0 if uart.inverted else 1
        self._level: int | None = None
        self._idle = False
        self._start_ns = -1
        self._bit = 0
        self._byte = 0

    def set(self, at_ns: int, level: int | None) -> None:
        """The line is at `level` from `at_ns` on; None for one that is not known."""
        self._until(at_ns)
        was, self._level = self._level, level
        if level is None:
            self.broken += self._start_ns >= 0
            self._start_ns, self._idle = -1, False
        if self._start_ns >= 0:
            return
        if level == self._mark:
            self._idle = True
        elif self._idle and was == self._mark:
            self._start_ns, self._bit, self._byte = at_ns, 0, 0

    def finish(self, end_ns: int) -> None:
        """The recording ends here."""
        self._until(end_ns)

    def _until(self, now_ns: int) -> None:
        """Takes in the bits whose middle lies before `now_ns`: they have the level the line had until now."""
        if self._start_ns < 0:
            return
        seen = ((now_ns - self._start_ns) * 2 * self.uart.rate + NS - 1) // (2 * NS)
        if seen <= self._bit:
            return
        mark = self._level == self._mark
        if not self._bit and mark:
            self.glitches += 1
            self._start_ns = -1
            return
        if mark:
            # Bits 1 to 8 of the frame are bits 0 to 7 of the byte.
            self._byte |= (1 << min(seen, _STOP) - 1) - (1 << self._bit - 1)
        self._bit = seen
        if seen > _STOP:
            self._end(mark)

    def _end(self, stop: bool) -> None:
        if not stop:
            self.broken += 1
            self._idle = False  # not before the line has been at rest is the next edge a start bit
        elif len(self.data) < MOST_BYTES:
            self.at_ns.append(self._start_ns)
            self.data.append(self._byte)
        self._start_ns = -1

    @property
    def byte_ns(self) -> int:
        """What a byte takes."""
        return BITS * NS // self.uart.rate

    def lines(self) -> Iterator[tuple[int, int, bytes]]:
        """(beginning of its first byte, end of its last, bytes without the line's end) of each line."""
        data, start = bytes(self.data), 0
        while start < len(data):
            end = data.find(b"\n", start)
            end = len(data) if end < 0 else end
            text = data[start:end]
            first = min(start + len(text) - len(text.lstrip(b"\r")), len(data) - 1)
            last = min(end, len(data) - 1)
            yield self.at_ns[first], self.at_ns[last] + self.byte_ns, text.strip(b"\r")
            start = end + 1
