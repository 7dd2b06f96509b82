# SPDX-License-Identifier: Apache-2.0
"""`systemd-analyze blame --json=short` and `=pretty` (systemd 260 on; src/analyze/analyze-blame.c)."""

from __future__ import annotations

import json
import re

from bootscope.readers.base import Boot, Clock, FormatError, Options, Reader, Reading, Source
from bootscope.readers.json_objects import objects
from bootscope.readers.systemd_units import US_NS, blame_table
from bootscope.readers.tally import Tally
from bootscope.readers.timespan import LONGEST_NS, whole

NAME = "systemd-blame-json"
_BEGIN = re.compile(rb'\s*\[\s*\{\s*"time"\s*:\s*\d{1,18}\s*,\s*"unit"\s*:\s*"[^"]{1,2000}\.[a-z]{4,9}"\s*\}')
_CLOCK = Clock("none", "no times of day, only durations", US_NS)


def sure(source: Source) -> int:
    """How surely it is that list, of 100."""
    return 97 if _BEGIN.match(source.head) else 0


def read(source: Source, options: Options) -> Reading:
    """The units with how long each took to start; FormatError where there is none."""
    tally = Tally()
    rows: list[tuple[str, int]] = []
    for number, entry in enumerate(objects(source.data), 1):
        if row := _row(entry or {}):
            rows.append(row)
            tally.understood += 1
        else:
            tally.miss(number, json.dumps(entry)[:2000])
    if not rows:
        raise FormatError(source.name, NAME, 1, "there is no unit with a time in it")
    return tally.reading([Boot(_CLOCK, tables=[blame_table(rows)])])


def _row(entry: dict[str, object]) -> tuple[str, int] | None:
    name, time = entry.get("unit"), entry.get("time")
    took_us = whole(time) if isinstance(time, str) else None
    if not isinstance(name, str) or took_us is None or took_us > LONGEST_NS // US_NS:
        return None
    return name, took_us * US_NS


READERS = (Reader(NAME, "systemd-analyze blame as JSON", "systemd-analyze blame --json=short", sure, read),)
