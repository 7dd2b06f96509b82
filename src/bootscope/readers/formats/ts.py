# SPDX-License-Identifier: Apache-2.0
"""Lines through `ts` (moreutils), which stamps a line when it is complete."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from bootscope.readers.base import END_OF_LINE, Options, Reader, Reading, Source
from bootscope.readers.console import Tool, clean_head, form_share, read_console
from bootscope.readers.stamp_forms import DAY_NS, NS, Form, clock_of, clock_s, date_s, month_s

_MONTH = rb"([A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d)"
_DATE = rb"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)"
_TIME = rb"(\d\d:\d\d:\d\d)"
_ZONE = rb"(?:Z| ?[+-]\d\d:?\d\d)? "
_MICRO = rb"\.(\d{6})"
_NUMBER = rb"(\d{1,8})" + _MICRO + rb" "

_LOCAL = "1970, by the computer's local time"
_MIDNIGHT = "midnight before the first line"
_FIRST, _START = "the first line", "the start of ts"


_YEAR = "the first of January of an unknown year"
_clock = partial(clock_of, stamp=END_OF_LINE)
_FORMS = (
    Form("%b %d %H:%M:%S", _MONTH + rb"() ", _clock("wall", _YEAR, 0), month_s),
    Form("%b %d %H:%M:%.S", _MONTH + _MICRO + rb" ", _clock("wall", _YEAR, 6), month_s),
    Form("%Y-%m-%dT%H:%M:%.S", _DATE + _MICRO + _ZONE, _clock("wall", _LOCAL, 6), date_s),
    Form("%Y-%m-%dT%H:%M:%S", _DATE + rb"()" + _ZONE, _clock("wall", _LOCAL, 0), date_s),
    Form("%.s", rb"(\d{9,11})" + _MICRO + rb" ", _clock("wall", "1970, UTC", 6)),
    Form("%s", rb"(\d{10})() ", _clock("wall", "1970, UTC", 0)),
    Form("%H:%M:%.S", _TIME + _MICRO + rb" ", _clock("wall", _MIDNIGHT, 6), clock_s, wrap_ns=DAY_NS),
    Form("-i %H:%M:%.S", _TIME + _MICRO + rb" ", _clock("host", _FIRST, 6), clock_s, deltas=True),
    Form("%H:%M:%S", _TIME + rb"() ", _clock("wall", _MIDNIGHT, 0), clock_s, wrap_ns=DAY_NS),
    Form("-i", _TIME + rb"() ", _clock("host", _FIRST, 0), clock_s, deltas=True),
    Form("%.S", rb"([0-5]\d)" + _MICRO + rb" ", _clock("host", _START, 6), wrap_ns=60 * NS),
    Form("-s %.s", _NUMBER, _clock("host", _START, 6)),
    Form("-i %.s", _NUMBER, _clock("host", _FIRST, 6), deltas=True),
)
_SURE = {"%b %d %H:%M:%S": 70, "%s": 40, "%Y-%m-%dT%H:%M:%S": 60, "-s %.s": 70, "%.S": 70}
_SOON = b"00:0"


def _sure(source: Source) -> int:
    form, part = form_share(source, _FORMS)
    return int(_SURE.get(form.name, 75) * part) if form and part >= 0.5 else 0


def _read(source: Source, options: Options) -> Reading:
    form, _ = form_share(source, _FORMS)
    forms = list(_FORMS)
    if form and form.wrap_ns == DAY_NS:
        first = form.at_line_start().search(clean_head(source.head).blob)
        # A clock that shows minutes after midnight is more likely one that counts from the start.
        if first and first[0].startswith(_SOON):
            digits = 6 if b"." in first[0] else 0
            started = replace(form, name="-s", clock=_clock("host", _START, digits))
            forms[forms.index(form)] = started
    return read_console(source, options, Tool("ts", forms))


READERS = (
    Reader("ts", "lines through ts", "picocom /dev/ttyUSB0 | ts -s '%.s' > console.log", _sure, _read),
)
