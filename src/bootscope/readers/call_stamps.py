# SPDX-License-Identifier: Apache-2.0
"""The stamps of strace and ltrace: time of day, seconds since 1970, or time since the line before."""

from __future__ import annotations

from bootscope.readers.base import Clock
from bootscope.readers.tally import Tally
from bootscope.readers.timespan import LAST_NS, seconds_ns

_DAY_NS = 86_400 * 1_000_000_000
_MAX_DAYS = 1000
# Seconds since 1970 are this large since 1973; a time since the line before never is.
_EPOCH_NS = 100_000_000 * 1_000_000_000


class CallStamps:
    """Turns the stamps of a file, which are all of one kind, into times that go on."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._now_ns = 0
        self._day_ns = 0
        self._digits = 0
        self.kind = ""
        """`day`, `epoch`, `relative`, or empty as long as no line had a stamp."""

    def usual(self, seconds: str, micros: str, number: int) -> int:
        """:meth:`at` for a stamp of so many whole seconds and six digits more."""
        if self.kind == "epoch" and len(seconds) == 10:
            # As nearly all stamps are: a short way to what the long one finds.
            at_ns = int(seconds + micros) * 1_000
            if self._now_ns <= at_ns <= LAST_NS:
                self._now_ns = at_ns
                return at_ns
        return self.at(f"{seconds}.{micros}", number)

    def at(self, text: str | None, number: int) -> int:
        """The time in ns of line `number` with stamp `text`; without one, that of the line before."""
        if text is None:
            return self._now_ns
        if ":" in text:
            hours, minutes, seconds = text.split(":")
            at_ns = (int(hours) * 3600 + int(minutes) * 60) * 1_000_000_000 + seconds_ns(seconds)
            kind = "day"
        else:
            at_ns = seconds_ns(text)
            kind = "epoch" if at_ns >= _EPOCH_NS else "relative"
        if not self.kind:
            self.kind = kind
            self._digits = len(text.partition(".")[2])
        if kind != self.kind:
            self._tally.repair("a stamp of another kind than the first, taken as the stamp before", number)
            return self._now_ns
        if kind == "relative":
            at_ns = min(at_ns + self._now_ns, _EPOCH_NS)
        elif kind == "day":
            if at_ns + self._day_ns < self._now_ns - _DAY_NS // 2 and self._day_ns < _MAX_DAYS * _DAY_NS:
                self._day_ns += _DAY_NS
            at_ns += self._day_ns
        if at_ns < self._now_ns:
            self._tally.repair("the clock went back", number)
        self._now_ns = at_ns
        return at_ns

    def clock(self) -> Clock:
        """What clock the stamps are of."""
        resolution = 10 ** (9 - self._digits)
        if self.kind == "day":
            return Clock("wall", "midnight before the first line, local time", resolution)
        if self.kind == "epoch":
            return Clock("wall", "1970-01-01 00:00 UTC", resolution)
        return Clock("host", "the first line of the trace", resolution)
