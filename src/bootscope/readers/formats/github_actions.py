# SPDX-License-Identifier: Apache-2.0
"""The log of a job of GitHub Actions, as the web page and `gh run view --log` give it.

The runner stamps a line when it is complete, in UTC, with seven digits (the .NET round-trip format). `gh`
puts the job's and the step's names before it, with tabs between.
"""

from __future__ import annotations

from bootscope.readers.base import END_OF_LINE, Options, Reader, Reading, Source
from bootscope.readers.console import Tool, form_share
from bootscope.readers.runner import read_job
from bootscope.readers.stamp_forms import Form, clock_of, date_s

_STAMP = rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{7})Z ?"
_CLOCK = clock_of("wall", "1970, UTC", 7, END_OF_LINE)
_FORMS = (
    Form("raw log", rb"(?:\xef\xbb\xbf)?" + _STAMP, _CLOCK, date_s),
    Form("gh run view", rb"[^\t\n]{1,200}\t[^\t\n]{1,200}\t(?:\xef\xbb\xbf)?" + _STAMP, _CLOCK, date_s),
)
_TOOL = Tool("github-actions", _FORMS)


def _sure(source: Source) -> int:
    form, part = form_share(source, _FORMS)
    return int(97 * part) if form and part >= 0.2 else 0


def _read(source: Source, options: Options) -> Reading:
    return read_job(source, options, _TOOL)


READERS = (Reader("github-actions", "log of a GitHub Actions job", "gh run view --log", _sure, _read),)
