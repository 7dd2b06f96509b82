# SPDX-License-Identifier: Apache-2.0
"""`bootstat -p` of Android: what the last boot took, as whole numbers whose unit their name tells.

By system/core/bootstat/bootstat.cpp: the end of the boot in seconds since the kernel's start, cut off;
init's and the boot loader's times in milliseconds; the whole from power-on in seconds. Others are dates,
numbers of reasons, or what a maker records, of which no unit is known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from bootscope.readers.base import Boot, Clock, Options, Reader, Reading, Source
from bootscope.readers.tally import Tally, read_one, sample
from bootscope.timeline.trace import Point, Table

NAME = "android-bootstat"
_S_NS, _MS_NS = 1_000_000_000, 1_000_000
_TITLE, _RULE = "Boot events:", re.compile(r"-{3,80}")
_EVENT = re.compile(r"([A-Za-z_][\w.:,-]{0,200})\t(-?\d{1,10})\s*", re.ASCII)
_COMPLETE = re.compile(r"(?:ota_|factory_reset_)?boot_complete")
_LOADER, _INIT = "boottime.bootloader.", "ro.boottime.init"
_LENGTHS = {"absolute_boot_time": _S_NS, "post_decrypt_time_elapsed": _S_NS}
_CLOCK = Clock("kernel", "when the kernel's clock began (it counts on in sleep)", _S_NS)

Rows = list[tuple[str | int | None, ...]]


@dataclass
class _Events:
    """What the lines of a file come to."""

    boot: Boot = field(default_factory=lambda: Boot(_CLOCK, facts={"tool": "bootstat"}))
    loader: Rows = field(default_factory=list)
    lengths: Rows = field(default_factory=list)
    others: Rows = field(default_factory=list)

    def take(self, _number: int, line: str) -> bool:
        """Takes in a line; whether it was understood."""
        event = _EVENT.fullmatch(line)
        if event:
            self._event(event[1], int(event[2]))
        return bool(event) or line.strip() == _TITLE or bool(_RULE.fullmatch(line.strip()))

    def _event(self, name: str, value: int) -> None:
        if value < 0:
            self.others.append((name, value))
        elif _COMPLETE.fullmatch(name):
            self.boot.points.append(Point(value * _S_NS, "boot-complete", "milestone", _S_NS))
        elif name == _INIT:
            self.boot.points.append(Point(value * _MS_NS, "init", "milestone", _MS_NS))
        elif name.startswith(_LOADER):
            self.loader.append((name.removeprefix(_LOADER), value * _MS_NS))
        elif name.startswith(f"{_INIT}."):
            self.lengths.append((name, value * _MS_NS))
        elif name in _LENGTHS:
            self.lengths.append((name, value * _LENGTHS[name]))
        else:
            self.others.append((name, value))

    def finish(self) -> Boot:
        """The boot."""
        for title, unit, rows in (
            ("Stages of the boot loader", "ns", self.loader),
            ("What Android measured", "ns", self.lengths),
            ("Other records, units not known", "value", self.others),
        ):
            if rows:
                self.boot.tables.append(Table(title, ("of", unit), tuple(rows)))
        return self.boot


def sure(source: Source) -> int:
    """How surely it is bootstat's, of 100."""
    lines = [line.decode("utf-8", "replace").strip("\r") for line in sample(source)]
    if not lines or lines[0].strip() != _TITLE:
        return 0
    fit = sum(bool(_EVENT.fullmatch(line)) for line in lines[1:])
    return min(96, 96 * fit // max(1, len(lines) - 2))


def read(source: Source, options: Options) -> Reading:
    """The boot that bootstat tells of; FormatError for another file."""
    return read_one(source, NAME, "output of bootstat -p", _start)


def _start(_tally: Tally) -> _Events:
    return _Events()


READERS = (Reader(NAME, "Android's record of the last boot", "adb shell bootstat -p", sure, read),)
