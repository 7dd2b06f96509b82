# SPDX-License-Identifier: Apache-2.0
"""minicom's captures with timestamps (Ctrl-A N).

A stamp is taken at the first character after a newline. The mode of one stamp a second writes it on a line
of its own, and does not close the bracket.
"""

from __future__ import annotations

from bootscope.readers.base import Reader, Source
from bootscope.readers.console import Tool, form_share, read_console
from bootscope.readers.stamp_forms import Form, clock_of, date_s

_DATE = rb"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)"
_ZERO = "1970, by the computer's local time"
_EXTENDED = Form("extended", _DATE + rb"\.(\d{3})\] ", clock_of("wall", _ZERO, 3), date_s)
_SIMPLE = Form("simple", _DATE + rb"()\] ", clock_of("wall", _ZERO, 0), date_s)
_EACH_SECOND = Form("once a second", _DATE + rb"()\r?(?=\n)", _SIMPLE.clock, date_s, sparse=True)
# From version 2.10 on: since the line before. Tegra's boot loaders write zeros before their seconds.
_DELTA = Form("delta", rb"\[(0|[1-9]\d{0,5})\.(\d{3})\] ", clock_of("host", "the first line", 3), deltas=True)
_FORMS = (_EXTENDED, _SIMPLE, _EACH_SECOND, _DELTA)


def _sure(source: Source) -> int:
    form, part = form_share(source, _FORMS)
    if not form:
        return 0
    if form is _EACH_SECOND:
        return 85
    return int((90 if form is _EXTENDED else 70) * part) if part >= 0.2 else 0


READERS = (
    Reader(
        "minicom",
        "minicom capture",
        "minicom -D /dev/ttyUSB0 -C console.log, then Ctrl-A N",
        _sure,
        lambda source, options: read_console(source, options, Tool("minicom", _FORMS)),
    ),
)
