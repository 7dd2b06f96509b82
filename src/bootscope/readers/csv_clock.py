# SPDX-License-Identifier: Apache-2.0
"""Ways in which the rows of a logic analyser's CSV tell their time."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from datetime import UTC, datetime

from bootscope.readers.base import Clock
from bootscope.readers.stamp_forms import NS
from bootscope.readers.timespan import LONGEST_NS, decimal_ns

_ZERO = "the start of the recording"
_RATE = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)\s*(GHz|MHz|kHz|Hz)\s*", re.ASCII)
_RATE_UNITS = {"GHz": 10**9, "MHz": 10**6, "kHz": 10**3, "Hz": 1}
_LATEST_NS = 1 << 62
_ISO = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,12}))?(Z|[-+]\d\d:?\d\d)?", re.ASCII)
# The units that sigrok chooses from, as parts of a second, the longest first.
_SIGROK_UNITS = (1, 10**3, 10**6, 10**9, 10**12, 10**15)


def rate_of(text: str) -> int | None:
    """Samples a second of ``44.1 kHz``; None for anything else."""
    match = _RATE.fullmatch(text)
    return decimal_ns(match[1], _RATE_UNITS[match[2]]) or None if match else None


class Times(ABC):
    """Reads the time of each row, in ns of `clock`; is asked for every row once, in order."""

    clock: Clock

    @abstractmethod
    def at(self, stamp: bytes) -> int | None:
        """The time that the cell `stamp` tells, or None when it does not."""

    def end(self, last_ns: int) -> int:
        """When the recording ended, its last row being at `last_ns`."""
        return last_ns


class PlainTimes(Times):
    """A column of decimal numbers."""

    def __init__(self, unit_ns: int, resolution_ns: int) -> None:
        self._unit_ns = unit_ns
        self.clock = Clock("sample", _ZERO, resolution_ns)

    def at(self, stamp: bytes) -> int | None:
        return decimal_ns(stamp.decode("latin-1"), self._unit_ns)


class IsoTimes(Times):
    """A column of dates, as Saleae writes when told to."""

    def __init__(self) -> None:
        self.clock = Clock("wall", "1970-01-01 00:00 UTC", 1)

    def at(self, stamp: bytes) -> int | None:
        match = _ISO.fullmatch(stamp.strip().strip(b'"'))
        if not match:
            return None
        zone = (match[3] or b"Z").decode().replace("Z", "+00:00")
        try:
            moment = datetime.fromisoformat(match[1].decode() + zone)
        except ValueError:
            return None
        gone = moment - datetime(1970, 1, 1, tzinfo=UTC)
        fraction_ns = int((match[2] or b"0").ljust(9, b"0")[:9])
        at_ns = (gone.days * 86_400 + gone.seconds) * NS + fraction_ns
        return at_ns if 0 <= at_ns < _LATEST_NS else None


class SampleTimes(Times):
    """No column: each row is a sample, one after the other at a known rate."""

    def __init__(self, rate_hz: int) -> None:
        self._rate_hz = rate_hz
        self._samples = 0
        self.clock = Clock("sample", _ZERO, max(1, NS // rate_hz))

    def at(self, stamp: bytes) -> int | None:
        self._samples += 1
        return (self._samples - 1) * NS // self._rate_hz

    def end(self, last_ns: int) -> int:
        return self._samples * NS // self._rate_hz


class SigrokTimes(Times):
    """sigrok's time column: multiples of the sample period cut to a whole unit, the first row's being 1.

    At 44.1 kHz its period is 22 us instead of 22.676, so its times are 3 percent short (libsigrok 0.5.2).
    What it does tell is which sample a row is, and that with the rate gives the time.
    """

    def __init__(self, rate_hz: int) -> None:
        self._rate_hz = rate_hz
        unit = next((u for u in _SIGROK_UNITS if u >= rate_hz), _SIGROK_UNITS[-1])
        self._step = max(1, unit // rate_hz)
        self.clock = Clock("sample", _ZERO, max(1, NS // rate_hz))

    def at(self, stamp: bytes) -> int | None:
        text = stamp.strip()
        if not text.isdigit() or len(text) > 18:
            return None
        sample = int(text) // self._step - 1
        at_ns = max(0, sample) * NS // self._rate_hz
        return at_ns if at_ns < LONGEST_NS else None

    def end(self, last_ns: int) -> int:
        return last_ns + NS // self._rate_hz
