# SPDX-License-Identifier: Apache-2.0
"""The log of a LAVA job: a record a line, in YAML's flow style (`output.yaml`) or as JSON objects.

A record holds the time at which the dispatcher had the line (UTC, microseconds), its level and the line.
`target` is the console of the board; the other levels are the dispatcher's own words.
"""

from __future__ import annotations

import re
from dataclasses import replace

from bootscope.readers.base import END_OF_LINE, FormatError, Options, Reader, Reading, Repair, Source
from bootscope.readers.console import Tool, read_console
from bootscope.readers.stamp_forms import Form, clock_of, date_s

_RECORD = re.compile(
    rb'^(?:- )?\{ ?"dt": ?"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{6})?)(?:Z|\+00:00)?", ?'
    rb'"lvl": ?"(\w{1,20})", ?"msg": ?(?:"((?:[^"\\\n]++|\\.){0,65536}+)"|[^\n]{0,65536}?)'
    rb'(?:, ?"ns": ?"[^"\n]{0,200}")?,? ?\},?\r?$',
    re.MULTILINE,
)
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


def _console(data: bytes, left_out: list[int]) -> bytes:
    """The lines of the board, each with its time before it."""
    last = 0
    number = 1
    found = bytearray()
    for record in _RECORD.finditer(data):
        time, level, text = record.groups()
        if level != CONSOLE or text is None:
            number += data.count(b"\n", last, record.start())
            last = record.start()
            left_out.append(number)
            continue
        found += time + b" " + (_ESCAPE.sub(_escape, text) if b"\\" in text else text) + b"\n"
    return (_ESCAPED_COLOUR if b"\x1b" in found else _COLOUR).sub(b"", found)


def _read(source: Source, options: Options) -> Reading:
    left_out: list[int] = []
    data = _console(source.data, left_out)
    if not data:
        raise FormatError(source.name, "lava", 1, "no record holds a line of the target")
    result = read_console(replace(source, data=data), options, _TOOL, _FORM)
    if left_out:
        result.lines_total += len(left_out)
        result.lines_understood += len(left_out)
        result.repairs.append(Repair(LEFT_OUT, len(left_out), left_out[0]))
    return result


READERS = (Reader("lava", "log of a LAVA job", "lavacli jobs logs --raw 1234", _sure, _read),)
