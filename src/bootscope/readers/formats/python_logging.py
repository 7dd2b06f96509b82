# SPDX-License-Identifier: Apache-2.0
"""Consoles that a Python program logged: `asctime` of its logging module, a level, perhaps a name.

The stamp is when the record was made, after the line was complete.
"""

from __future__ import annotations

from collections.abc import Iterator

from bootscope.readers.base import END_OF_LINE, Options, Reader, Reading, Source
from bootscope.readers.console import Tool, form_share, read_console
from bootscope.readers.runner import read_job
from bootscope.readers.stamp_forms import DAY_NS, Form, clock_of, clock_s, date_s

_LEVEL = rb"(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|CONSOLE|SERIAL)"
_SYSLOG = rb"(?:DEBUG|INFO|NOTICE|WARNING|WARN|ERR|ERROR|CRIT|CRITICAL|ALERT|EMERG)"
_NAME = rb"[A-Za-z_][\w.-]{0,60}"
_DATE, _TIME = rb"\[?(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)", rb"\[?(\d\d:\d\d:\d\d)"
_WHOLE = "level kernel:"
"""A system's own log, not that of a program that watched one: what Anaconda keeps."""
_BEHIND = {
    "name - level -": rb" - " + _NAME + rb" {0,20}- " + _LEVEL + rb" {0,4}- ",
    "- level -": rb" - " + _LEVEL + rb" {0,4}- ",
    "level name:": rb" \[?" + _LEVEL + rb" {0,4}\]? " + _NAME + rb": {1,2}",
    "level:": rb" {1,2}" + _LEVEL + rb": ?",
    "level": rb" {1,2}\[?" + _LEVEL + rb" {0,4}\]? ?",
    _WHOLE: rb" {1,2}" + _SYSLOG + rb" (?:kernel:|(?=[A-Za-z][\w.-]{0,60}(?:\[\d{1,10}\])?:))",
}


def _forms() -> Iterator[Form]:
    """Of several that fit as well the first is taken: the longer ones come first."""
    for name, behind in _BEHIND.items():
        text = rb"[,.](\d{3})\]?" + behind
        clock = clock_of("wall", "1970, by the computer's local time", 3, END_OF_LINE)
        yield Form(name, _DATE + text, clock, date_s)
        clock = clock_of("wall", "midnight before the first line", 3, END_OF_LINE)
        yield Form(f"time {name}", _TIME + text, clock, clock_s, wrap_ns=DAY_NS)


_FORMS = tuple(_forms())
_TOOL = Tool("python-logging", _FORMS)


def _sure(source: Source) -> int:
    form, part = form_share(source, _FORMS)
    return int(90 * part) if form and part >= 0.2 else 0


def _read(source: Source, options: Options) -> Reading:
    form, _ = form_share(source, _FORMS)
    if form and form.name.endswith(_WHOLE):
        return read_console(source, options, _TOOL, form)
    return read_job(source, options, _TOOL)


READERS = (Reader("python-logging", "console logged by a Python program", "pytest --log-file", _sure, _read),)
