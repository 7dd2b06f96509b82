# SPDX-License-Identifier: Apache-2.0
"""The log of a GitLab CI job whose runner stamps lines (`FF_TIMESTAMPS`).

The runner writes the time of the first bytes of a line in UTC, the number of the stream, `O` or `E` for
standard output or error, and `+` where the line goes on that the one before began.
"""

from __future__ import annotations

import re
from dataclasses import replace

from bootscope.readers.base import FIRST_BYTE, Options, Reader, Reading, Source
from bootscope.readers.console import Tool, form_share
from bootscope.readers.runner import read_job
from bootscope.readers.stamp_forms import Form, clock_of, date_s

_STAMP = rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{6})Z [0-9a-f]{2}[OE]"
_LINE = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z ([0-9a-f]{2}[OE])(\+?)")
_SECTION = re.compile(rb"section_(?:start|end):\d{1,12}:[\w.-]{1,200}(?:\[[^\]\n]{0,200}\])?\r(?:\x1b\[0K)?")
_FORMS = (Form("FF_TIMESTAMPS", _STAMP + rb"[ +]?", clock_of("wall", "1970, UTC", 6, FIRST_BYTE), date_s),)
_TOOL = Tool("gitlab-ci", _FORMS)


def _sure(source: Source) -> int:
    form, part = form_share(source, _FORMS)
    return int(98 * part) if form and part >= 0.2 else 0


def _whole_lines(data: bytes) -> bytes:
    """The log with each piece of a line behind the piece of the same stream that it goes on."""
    lines: list[bytes] = []
    last: dict[bytes, int] = {}
    for line in data.split(b"\n"):
        match = _LINE.match(line)
        if match and match[2] and match[1] in last:
            at = last[match[1]]
            lines[at] = lines[at].rstrip(b"\r") + line[match.end() :]
            continue
        if match:
            last[match[1]] = len(lines)
        lines.append(line)
    return b"\n".join(lines)


def _read(source: Source, options: Options) -> Reading:
    data = _whole_lines(_SECTION.sub(b"", source.data))
    return read_job(replace(source, data=data), options, _TOOL)


READERS = (
    Reader("gitlab-ci", "log of a GitLab CI job", "FF_TIMESTAMPS: true in .gitlab-ci.yml", _sure, _read),
)
