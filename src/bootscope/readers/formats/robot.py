# SPDX-License-Identifier: Apache-2.0
"""Messages of Robot Framework, among them what a library read from a console: the debug file and output.xml.

Its own lines of the debug file (`+-- START KEYWORD`) and messages of the level TRACE are left out. Each line
of a message has the time at which the message was made, which is after the line was read.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import replace

from bootscope.readers.base import END_OF_LINE, FormatError, Options, Reader, Reading, Source
from bootscope.readers.console import Tool
from bootscope.readers.runner import read_job
from bootscope.readers.stamp_forms import NS, Form, clock_of, epoch_s
from bootscope.readers.tally import sample
from bootscope.readers.timed_output import STAMP, stamped

NAME = "robot-framework"
# From version 7 on with dashes and microseconds; a T in the XML only.
_DATE = rb"(\d{4})-?(\d\d)-?(\d\d)[ T](\d\d:\d\d:\d\d)\.(\d{6}|\d{3})"
_LEVEL = rb"(?:TRACE|DEBUG|INFO|CONSOLE|HTML|WARN|ERROR|FAIL|SKIP)"
_LINE = re.compile(_DATE + rb" - (" + _LEVEL + rb") - ?([^\n]*)")
_OWN = re.compile(rb"\+-{0,200} (?:START|END) |[=-]{78}$")
_MESSAGE = re.compile(
    rb'<msg (?:[a-z]{1,12}="[^"<]{0,80}" ){0,3}time(?:stamp)?="'
    + _DATE
    + rb'"(?: [a-z]{1,12}="[^"<]{0,80}"){0,3}>'
)
_XML_LEVEL = re.compile(rb' level="([A-Z]{1,10})"')
_FORM = Form("", STAMP, clock_of("wall", "1970, by the computer's local time", 6, END_OF_LINE))


def _at_ns(date: tuple[bytes, ...]) -> int | None:
    year, month, day, time, fraction = date
    seconds = epoch_s(int(year), int(month), int(day), time)
    return None if seconds is None else seconds * NS + int(fraction.ljust(9, b"0"))


def _of_debug(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The messages of a debug file; a line without a date is a further one of its message."""
    now_ns: int | None = None
    for line in data.splitlines():
        found = _LINE.fullmatch(line)
        text = line
        if found:
            now_ns, text = _at_ns(found.groups()[:5]), found[7]
            now_ns = None if found[6] == b"TRACE" else now_ns
        if now_ns is not None and not _OWN.match(text):
            yield now_ns, text + b"\n"


def _of_xml(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The messages of output.xml, with what XML writes otherwise put right."""
    for begin in _MESSAGE.finditer(data):
        end = data.find(b"</msg>", begin.end())
        level = _XML_LEVEL.search(begin[0])
        at_ns = _at_ns(begin.groups()[:5])
        if at_ns is None or end < 0 or (level and level[1] == b"TRACE"):
            continue
        text = html.unescape(data[begin.end() : end].decode("utf-8", "backslashreplace"))
        yield at_ns, text.encode("utf-8", "backslashreplace") + b"\n"


def _is_xml(source: Source) -> bool:
    return b"<robot " in source.head[:1000]


def sure(source: Source) -> int:
    """How surely it is one of the two files, of 100."""
    if _is_xml(source):
        return 97 if b"<msg " in source.data[:4_000_000] else 0
    lines = sample(source)
    fit = sum(bool(_LINE.match(line) or _OWN.match(line)) for line in lines)
    own = any((found := _LINE.match(line)) and _OWN.match(found[7]) for line in lines)
    return 96 * fit // len(lines) if own else 0


def read(source: Source, options: Options) -> Reading:
    """The messages as a console's log; FormatError where there is none."""
    xml = _is_xml(source)
    text = stamped((_of_xml if xml else _of_debug)(source.data))
    if not text:
        raise FormatError(source.name, NAME, 1, "there is no message of Robot Framework in it")
    tool = Tool(NAME, (replace(_FORM, name="output.xml" if xml else "debug file"),))
    return read_job(Source(source.name, text), options, tool)


READERS = (
    Reader(
        NAME, "messages of Robot Framework", "robot --debugfile debug.txt SUITE (or output.xml)", sure, read
    ),
)
