# SPDX-License-Identifier: Apache-2.0
"""Logs of Tera Term with the time since the log or the connection began.

Tera Term stamps a line when it writes its first character. With a date before each line, its log looks like
minicom's and is read as that.
"""

from __future__ import annotations

import re

from bootscope.readers.base import Options, Reader, Reading, Source
from bootscope.readers.console import Tool, form_share, read_console
from bootscope.readers.stamp_forms import Form, clock_of

_ELAPSED = rb"\[(\d{1,4} \d\d:\d\d:\d\d)\.(\d{3})\] "
_DAYS = re.compile(rb"(\d{1,4}) (\d\d):(\d\d):(\d\d)")


def days_s(text: bytes) -> int | None:
    """Seconds of ``0 00:01:02``: days, hours, minutes, seconds; None when there is no such time."""
    match = _DAYS.fullmatch(text)
    if not match or int(match[2]) > 23 or int(match[3]) > 59 or int(match[4]) > 60:
        return None
    return ((int(match[1]) * 24 + int(match[2])) * 60 + int(match[3])) * 60 + int(match[4])


_FORMS = (
    Form("elapsed", _ELAPSED, clock_of("host", "the start of the log, or of the connection", 3), days_s),
)
_TOOL = Tool("teraterm", _FORMS)


def _sure(source: Source) -> int:
    form, part = form_share(source, _FORMS)
    return int(96 * part) if form and part >= 0.2 else 0


def _read(source: Source, options: Options) -> Reading:
    return read_console(source, options, _TOOL)


READERS = (Reader("teraterm", "Tera Term log", "Tera Term: File, Log, Timestamp", _sure, _read),)
