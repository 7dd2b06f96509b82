# SPDX-License-Identifier: Apache-2.0
"""The log of a Jenkins job with the Timestamper plugin.

A pipeline's lines are stamped in UTC with milliseconds when they are complete. Of what else the plugin can be
asked to show, the time of the day and the time since the job began are read; these come from either end of a
line, by the kind and the age of the job.
"""

from __future__ import annotations

from bootscope.readers.base import END_OF_LINE, UNKNOWN, Options, Reader, Reading, Source
from bootscope.readers.console import Tool, form_share
from bootscope.readers.runner import read_job
from bootscope.readers.stamp_forms import DAY_NS, Form, clock_of, clock_s, date_s

_FORMS = (
    Form(
        "pipeline",
        rb"\[(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{3})Z\] ?",
        clock_of("wall", "1970, UTC", 3, END_OF_LINE),
        date_s,
    ),
    Form(
        "time of day",
        rb"(\d\d:\d\d:\d\d)()  ",
        clock_of("wall", "midnight before the first line", 0, UNKNOWN),
        clock_s,
        wrap_ns=DAY_NS,
    ),
    Form(
        "elapsed",
        rb"(\d\d:\d\d:\d\d)\.(\d{3})  ",
        clock_of("host", "the start of the job", 3, UNKNOWN),
        clock_s,
    ),
)
_TOOL = Tool("jenkins", _FORMS)


def _sure(source: Source) -> int:
    form, part = form_share(source, _FORMS)
    if not form or part < 0.2:
        return 0
    return int((96 if form.name == "pipeline" else 78) * part)


def _read(source: Source, options: Options) -> Reading:
    return read_job(source, options, _TOOL)


READERS = (
    Reader("jenkins", "log of a Jenkins job", "timestamps { } of the Timestamper plugin", _sure, _read),
)
