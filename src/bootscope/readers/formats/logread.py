# SPDX-License-Identifier: Apache-2.0
"""OpenWrt's log, as `logread` prints it: a date, facility and level, who said it, and the text.

The date is that of ubox's logd; with `-t` the seconds since 1970 with milliseconds stand behind it. The
kernel's lines have its own stamp too.
"""

from __future__ import annotations

from bootscope.readers.base import WHEN_LOGGED, Options, Reader, Reading, Source
from bootscope.readers.console import Tool, form_share, read_console
from bootscope.readers.stamp_forms import Form, clock_of, month_s

_DAY = rb"[A-Z][a-z]{2} "
_MONTH = rb"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}"
_WHO = rb"[a-z0-9]{2,9}\.[a-z]{3,7} (?:kernel: )?"
_WALL = "1970, by the target's local time"
_FORMS = (
    Form(
        "-t",
        _DAY + _MONTH + rb" \[(\d{9,11})\.(\d{3})\] " + _WHO,
        clock_of("wall", "1970, UTC", 3, WHEN_LOGGED),
    ),
    Form(
        "",
        _DAY + rb"(" + _MONTH + rb")() " + _WHO,
        clock_of("wall", _WALL, 0, WHEN_LOGGED),
        month_s,
    ),
)
_TOOL = Tool("logread", _FORMS)


def _sure(source: Source) -> int:
    form, part = form_share(source, _FORMS)
    return int(97 * part) if form and part >= 0.5 else 0


def _read(source: Source, options: Options) -> Reading:
    return read_console(source, options, _TOOL)


READERS = (Reader("logread", "log of OpenWrt", "logread", _sure, _read),)
