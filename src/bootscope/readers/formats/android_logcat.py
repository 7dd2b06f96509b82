# SPDX-License-Identifier: Apache-2.0
"""Android's log, as `adb logcat` prints it: date, process and thread, priority, tag and text
(system/logging/liblog/logprint.cpp).

The date is that of logd, which gives the kernel's lines their time by its own reckoning. It takes what stands
before a colon in a line of the kernel for a tag; where there is none, the tag is empty.
"""

from __future__ import annotations

import re
from dataclasses import replace

from bootscope.readers.base import WHEN_LOGGED, Options, Reader, Reading, Repair, Source
from bootscope.readers.console import Tool, form_share, read_console
from bootscope.readers.journal_order import by_time
from bootscope.readers.lines import split
from bootscope.readers.stamp_forms import Form, best, clock_of, date_s, decimal_s, epoch_s
from bootscope.timeline.kernel_lines import BEGINS

_MONTH_DAY = rb"(\d\d-\d\d \d\d:\d\d:\d\d)\.(\d{3}|\d{6})"
_YEAR = rb"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\.(\d{3}|\d{6}|\d{9})"
_EPOCH = rb" {0,11}(\d{1,11})\.(\d{3}|\d{6})"
_ZONE = rb"(?: [+-]\d{4})?"
# Who: user (-v uid), process and thread, the priority; an empty tag.
_THREAD = rb" +(?:[a-z0-9_]{1,16} +)?\d{1,7} +\d{1,7} [VDIWEFS] (?: {8}: )?"
_BRIEF = rb" [VDIWEFS]/(?: {8}\( *\d{1,7}\): )?"
_KERNEL = re.compile(BEGINS.encode())
_SEPARATOR = re.compile(rb"--------- (?:beginning of|switch to) \w{1,16}|-{9} \d{1,9}")


def _month_day_s(text: bytes) -> int | None:
    """Seconds of ``01-31 23:59:59``; with no year 2000 is taken, a leap year."""
    return epoch_s(2000, int(text[:2]), int(text[3:5]), text[6:14])


_FORMS = tuple(
    Form(f"{name}{how}", stamp + who, clock_of("wall", zero, 3, WHEN_LOGGED), seconds, records=True)
    for how, who in (("-v threadtime", _THREAD), ("-v time", _BRIEF))
    for name, stamp, zero, seconds in (
        ("", _MONTH_DAY + _ZONE, "the first of January of an unknown year", _month_day_s),
        ("-v year ", _YEAR + _ZONE, "1970, by the target's local time", date_s),
        ("-v epoch ", _EPOCH, "1970, UTC, or the kernel's start", decimal_s),
    )
)
_TOOL = Tool("logcat", _FORMS, known=lambda line: bool(_SEPARATOR.match(line)))


def _sure(source: Source) -> int:
    form, part = form_share(source, _FORMS)
    return int(97 * part) if form and part >= 0.5 else 0


def _read(source: Source, options: Options) -> Reading:
    """The boots, the buffers' lines in the order of their time; FormatError where no line has a stamp."""
    lines = split(source.data)
    form, _ = best(lines, _FORMS)
    text, moved = by_time(lines.blob, form, _KERNEL) if form else (lines.blob, 0)
    found = read_console(replace(source, data=text), options, _TOOL)
    if moved:
        found.repairs.append(Repair("lines of several buffers brought in the order of their time", moved, 1))
    return found


READERS = (Reader("logcat", "log of Android", "adb logcat -b all -d", _sure, _read),)
