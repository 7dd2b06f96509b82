# SPDX-License-Identifier: Apache-2.0
"""tio's logs and screens with timestamps.

tio reads what has come in one go and stamps a line when it gets to its first character, so lines that came
together have one stamp.
"""

from __future__ import annotations

from dataclasses import replace

from bootscope.readers.base import Options, Reader, Reading, Source
from bootscope.readers.console import Tool, clean_head, form_share, read_console
from bootscope.readers.stamp_forms import DAY_NS, Form, clock_of, clock_s, date_s

_TIME = rb"\[(\d\d:\d\d:\d\d)\.(\d{3})\] "
_SINCE_1970 = "1970, UTC"
_FORMS = (
    Form("24hour", _TIME, clock_of("wall", "midnight before the first line", 3), clock_s, wrap_ns=DAY_NS),
    Form("24hour-delta", _TIME, clock_of("host", "the first line", 3), clock_s, deltas=True),
    Form(
        "iso8601",
        rb"\[(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{3})\] ",
        clock_of("wall", "1970, by the computer's local time", 3),
        date_s,
    ),
    Form("epoch", rb"\[(\d{9,11})\.(\d{3})\] ", clock_of("wall", _SINCE_1970, 3)),
    Form("epoch-usec", rb"\[(\d{9,11})\.(\d{6})\] ", clock_of("wall", _SINCE_1970, 6)),
)
_START = Form(
    "24hour-start", _TIME, clock_of("host", "the first line that tio stamped", 3), clock_s, wrap_ns=DAY_NS
)
_SINCE_TIO = replace(_START, clock=replace(_START.clock, zero="the start of tio"))
_SOON, _FIRST = b"[00:0", b"[00:00:00.000]"
_TOOL = Tool("tio", _FORMS)


def _sure(source: Source) -> int:
    form, part = form_share(source, _FORMS)
    return int((85 if form and form.name == "epoch-usec" else 95) * part) if part >= 0.2 else 0


def _read(source: Source, options: Options) -> Reading:
    form, _ = form_share(source, _FORMS)
    if form and form.pattern == _TIME:
        first = form.at_line_start().search(clean_head(source.head).blob)
        # A clock that shows minutes after midnight is more likely one that counts from the start.
        if first and first[0].startswith(_SOON):
            start = _START if first[0].startswith(_FIRST) else _SINCE_TIO
            return read_console(source, options, replace(_TOOL, forms=(start, _FORMS[1])))
    return read_console(source, options, _TOOL)


READERS = (Reader("tio", "tio log", "tio --timestamp --log /dev/ttyUSB0", _sure, _read),)
