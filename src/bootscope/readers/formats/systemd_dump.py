# SPDX-License-Identifier: Apache-2.0
"""`systemd-analyze dump`: all that systemd knows of each unit, with dates of whole seconds.

The form is that of unit_dump() and manager_dump() in systemd's src/core: a line `-> Unit NAME:` (`→` in
UTF-8), then indented `Key: Value`; a dependency a line, in newer versions with its origin behind it in
brackets. systemd's manual says that its form may change, but it is what people attach to reports.
`systemctl show '*'` tells microseconds.
"""

from __future__ import annotations

import re
from calendar import timegm
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

from bootscope.readers.base import Boot, Clock, Reader, Source
from bootscope.readers.systemd_units import Unit, blame_table, milestone, took, unit_tracks
from bootscope.readers.tally import Tally, read_one, sample

NAME = "systemd-dump"
_S_NS = 1_000_000_000
_CLOCK = Clock("wall", "1970, by the board's time zone", _S_NS)
_UNIT = re.compile(r"\s*(?:->|→) Unit (\S{1,300}):")
_KEY = re.compile(r"\s+([A-Za-z][A-Za-z0-9_ /()-]{0,60}):(?: (.*))?", re.DOTALL)
_MANAGER = re.compile(r"Timestamp ([a-z-]{1,40}): (.*)", re.DOTALL)
_HEAD = re.compile(r"\s*(?:Manager: |Features: |-> |→ |Jobs: |Subscribed: )")
_DATE = re.compile(
    r"[A-Z][a-z]{2} (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.\d{1,9})?(?: (\S{1,40}))?\s*", re.ASCII
)
_STATES = (
    "Inactive Exit Timestamp",
    "Active Enter Timestamp",
    "Active Exit Timestamp",
    "Inactive Enter Timestamp",
)
_MILESTONES = {"initrd": "initrd", "userspace": "systemd", "finish": "systemd-finished"}
_MOST_NAMES = 20


@dataclass
class _Block:
    """A unit: its dates as they are written, and what it is ordered after."""

    name: str
    dates: dict[str, str] = field(default_factory=dict)
    after: list[str] = field(default_factory=list)
    description: str = ""


class _File:
    """What the lines of a dump come to."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._units: dict[str, _Block] = {}
        self._block: _Block | None = None
        self._manager: dict[str, str] = {}
        self._zone = ""

    def take(self, number: int, line: str) -> bool:
        """The next line; whether it was understood."""
        if match := _UNIT.fullmatch(line):
            self._block = self._units.setdefault(match[1], _Block(match[1]))
            return True
        if match := _MANAGER.fullmatch(line):
            self._manager.setdefault(match[1], match[2])
            return True
        if _HEAD.match(line):
            # A job, or a list that begins: what is indented below it is not of the unit before.
            self._block = None
            return True
        match = _KEY.fullmatch(line)
        if match and self._block:
            self._property(self._block, match[1], match[2] or "")
        return bool(match)

    def _property(self, block: _Block, key: str, value: str) -> None:
        if key in _STATES:
            block.dates.setdefault(key, value)
        elif key == "Description":
            block.description = block.description or value
        elif key == "After" and value:
            block.after.append(value.split(" ")[0])

    def finish(self) -> Boot:
        """The boot: a track for each unit that was started."""
        self._zone = self._usual_zone()
        units = [self._unit(block) for block in self._units.values()]
        boot = Boot(_CLOCK, tracks=unit_tracks(units))
        for key, name in _MILESTONES.items():
            at_ns = self._at(self._manager.get(key, ""))
            if at_ns is not None:
                boot.points.append(milestone(at_ns, name, _S_NS))
        if blame := took(units):
            boot.tables.append(blame_table(blame))
        self._tally.ask("`systemctl show '*'` gives the same in microseconds: import its output beside this")
        return boot

    def _usual_zone(self) -> str:
        dates = [text for block in self._units.values() for text in block.dates.values()]
        zones = Counter(m[2] or "" for m in map(_DATE.fullmatch, [*dates, *self._manager.values()]) if m)
        return zones.most_common(1)[0][0] if zones else ""

    def _unit(self, block: _Block) -> Unit:
        starting, started, stopping, stopped = (self._at(block.dates.get(key, "")) for key in _STATES)
        detail: dict[str, str | int] = {"description": block.description} if block.description else {}
        known = [name for name in block.after if name in self._units]
        if known:
            more = f" and {len(known) - _MOST_NAMES} more" if len(known) > _MOST_NAMES else ""
            detail["after"] = " ".join(known[:_MOST_NAMES]) + more
        # Whole seconds do not tell which of several units was waited for: no waits are made of the order.
        return Unit(block.name, starting, started, stopping, stopped, detail=detail)

    def _at(self, text: str) -> int | None:
        """A date in ns; None for none, and for one of another time zone than most."""
        match = _DATE.fullmatch(text)
        if not match:
            return None
        if (match[2] or "") != self._zone:
            self._tally.repair("dates of another time zone than most are left out", 1)
            return None
        try:
            return timegm(datetime.strptime(match[1], "%Y-%m-%d %H:%M:%S").timetuple()) * _S_NS
        except ValueError:
            return None


def sure(source: Source) -> int:
    """How surely it is a dump, of 100."""
    lines = [line.decode("utf-8", "backslashreplace") for line in sample(source)]
    if not any(map(_UNIT.fullmatch, lines)) or b"Inactive Exit Timestamp: " not in source.head:
        return 0
    fit = sum(any(form.match(line) for form in (_UNIT, _KEY, _MANAGER, _HEAD)) for line in lines)
    return 97 * fit // len(lines)


READERS = (
    Reader(
        NAME,
        "systemd-analyze dump: units with their dates",
        "systemd-analyze dump",
        sure,
        lambda source, _options: read_one(source, NAME, "output of systemd-analyze dump", _File),
    ),
)
