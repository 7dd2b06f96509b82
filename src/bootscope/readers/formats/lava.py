# SPDX-License-Identifier: Apache-2.0
"""The log of a LAVA job: a record a line, in YAML's flow style (`output.yaml`) or as JSON objects.

A record holds the time at which the dispatcher had the line (UTC, microseconds), its level and the line.
`target` is the console of the board; the other levels are the dispatcher's own words.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field
from io import BytesIO

from bootscope.readers.base import (
    END_OF_LINE,
    NO_STAMP,
    FormatError,
    Options,
    Reader,
    Reading,
    Repair,
    Source,
)
from bootscope.readers.console import Tool, reading
from bootscope.readers.line_blocks import blocks
from bootscope.readers.lines import Memo, split
from bootscope.readers.stamp_forms import NS, Form, at_host_times, clock_of, date_s

_RECORD = re.compile(
    rb'^(?:- )?\{ ?"dt": ?"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{6}))?(?:Z|\+00:00)?", ?'
    rb'"lvl": ?"(\w{1,20})", ?"msg": ?(?:(")([^"\\\n]*+(?:\\.[^"\\\n]*+){0,65536}+)"|[^\n]{0,65536}?)'
    rb'(?:, ?"ns": ?"[^"\n]{0,200}")?,? ?\},?\r?$',
    re.MULTILINE,
)
_LINE = re.compile(_RECORD.pattern + rb"\n|^.*\n", re.MULTILINE)
"""Any line: of a record its second, microseconds and level, and the quotation mark and the text in it."""
_PLAIN = rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{6}))? "
_FORM = Form("output.yaml", _PLAIN, clock_of("wall", "1970, UTC", 6, END_OF_LINE), date_s)
_TOOL = Tool("lava", (_FORM,))
_ESCAPE = re.compile(rb"\\(x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)")
_SHORT = {b"n": b" ", b"t": b"\t", b"e": b"\x1b", **dict.fromkeys((b"r", b"0", b"a", b"b", b"f", b"v"), b"")}
_MOST = 0x110000
_COLOUR = re.compile(rb"\[\d{1,3}(?:;\d{1,3}){0,4}m")
"""The dispatcher takes the escape itself out of a line and leaves what follows it."""
_ESCAPED_COLOUR = re.compile(rb"\x1b?" + _COLOUR.pattern)
CONSOLE = b"target"
LEFT_OUT = "records of the dispatcher left out"


def _sure(source: Source) -> int:
    lines = source.head.count(b"\n") or 1
    return min(99, 99 * len(_RECORD.findall(source.head)) // lines) if b'"lvl"' in source.head else 0


def _escape(match: re.Match[bytes]) -> bytes:
    code = match[1]
    if len(code) > 1:
        value = int(code[1:], 16)
        return (
            chr(value).encode("utf-8", "replace")
            if value == ord("\x1b") or ord(" ") <= value < _MOST
            else b""
        )
    return _SHORT.get(code, code)


@dataclass
class _Console:
    """The lines of the board, and the time of each in ns, NO_STAMP where it is none."""

    text: bytes = b""
    at_ns: array[int] = field(default_factory=lambda: array("q"))
    left_out: list[int] = field(default_factory=list)
    """The numbers of the file's lines that are none of the board's."""


def _console(data: bytes) -> _Console:
    found = _Console()
    written = BytesIO()
    whole_ns = Memo(_whole_ns)
    number = 0
    for block in blocks(data if data.endswith(b"\n") else data + b"\n"):
        texts: list[bytes] = []
        for second, micros, level, quote, text in _LINE.findall(block):
            number += 1
            if level == CONSOLE and quote:
                texts.append(_ESCAPE.sub(_escape, text) if b"\\" in text else text)
                at_ns = whole_ns[second]
                found.at_ns.append(at_ns + int(micros) * 1000 if micros and at_ns >= 0 else at_ns)
            elif level:
                found.left_out.append(number)
        written.write(b"\n".join([*texts, b""]))
    text = written.getvalue().replace(b"\r", b"")
    found.text = (_ESCAPED_COLOUR if b"\x1b" in text else _COLOUR).sub(b"", text)
    return found


def _whole_ns(second: bytes) -> int:
    seconds = date_s(second)
    return NO_STAMP if seconds is None else seconds * NS


def _read(source: Source, options: Options) -> Reading:
    console = _console(source.data)
    if not console.at_ns:
        raise FormatError(source.name, "lava", 1, "no record holds a line of the target")
    lines = split(console.text, once=False)
    result = reading(source, options, _TOOL, _FORM, lines, at_host_times(lines, console.at_ns))
    if left_out := console.left_out:
        result.lines_total += len(left_out)
        result.lines_understood += len(left_out)
        result.repairs.append(Repair(LEFT_OUT, len(left_out), left_out[0]))
    return result


READERS = (Reader("lava", "log of a LAVA job", "lavacli jobs logs --raw 1234", _sure, _read),)
