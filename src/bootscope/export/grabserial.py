# SPDX-License-Identifier: Apache-2.0
"""The console's lines as `grabserial -t` prints them, for scripts that read that format: seconds since time
zero, seconds since the previous line, text."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter

from bootscope.export.base import Subject
from bootscope.export.text import plain

_US = 1000


def _said(subject: Subject) -> list[tuple[int, str]]:
    """(time in ns, text) of each console line: a recording has them as spans, other boots as points."""
    trace = subject.trace
    points = [(p.at_ns, p.name) for p in trace.points if p.kind == "line"]
    spans = [(s.start_ns, s.name) for t in trace.tracks if t.kind == "console" for s in t.spans]
    return sorted(points or spans, key=itemgetter(0))


def _lines(subject: Subject) -> Iterator[str]:
    before_us = 0
    for at_ns, text in _said(subject):
        at_us = at_ns // _US
        yield f"[{_seconds(at_us)} {_seconds(at_us - before_us)}] {plain(text)}\n"
        before_us = at_us


def _seconds(us: int) -> str:
    return f"{us // 1_000_000}.{us % 1_000_000:06}"


def make(subject: Subject) -> bytes:
    """The bytes of the file (UTF-8)."""
    return "".join(_lines(subject)).encode()
