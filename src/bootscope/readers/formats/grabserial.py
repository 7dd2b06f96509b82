# SPDX-License-Identifier: Apache-2.0
"""grabserial's logs, all its ways of stamping.

A stamp is taken when grabserial handles the first byte of a line; its zero is the first byte that came,
unless -l made it the launch or -m a line that matched. The kernel's own bracket is padded with blanks,
grabserial's never.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from bootscope.readers.base import UNKNOWN, Options, Reader, Reading, Repair, Source
from bootscope.readers.console import Tool, clean_head, form_share, read_console
from bootscope.readers.lines import split
from bootscope.readers.stamp_forms import DAY_NS, Form, clock_of, clock_s, date_s, filled
from bootscope.timeline.trace import Point

_ELAPSED = clock_of("host", "the first byte received; the launch, with -l", 6)
_DECIMAL = rb"(\d{1,10})\.(\d{6})"
_DELTA = rb" -?\d{1,10}\.\d{6}"
_TIME = rb"(\d\d:\d\d:\d\d)\.(\d{6})"
_DATE = rb"(\d{4}-\d\d-\d\d[ T_]\d\d:\d\d:\d\d)"
# What -F printed: anything that is no bracket and does not begin with the kernel's padding.
_ANY = rb"[^\]\s][^\]\n]{0,60}? "


_wall = partial(clock_of, "wall")
_MIDNIGHT = "midnight before the first line"
_CALENDAR = "1970, by the computer's local time"
# The first of several that fit as well is taken. Brackets with nothing but the time of day, or a date, are
# written by other tools too, at another moment of the line.
_INSIDE = (
    Form("-t", _DECIMAL + _DELTA, _ELAPSED, restarts=True),
    Form("-t -T", _ANY + _DECIMAL + _DELTA, _ELAPSED, restarts=True),
    Form("-T", _TIME + _DELTA, _wall(_MIDNIGHT, 6), clock_s, wrap_ns=DAY_NS),
    Form("-T -F", _DATE + rb"\.(\d{3,9})" + _DELTA, _wall(_CALENDAR, 6), date_s),
    Form("-T -F", _ANY + _DECIMAL, clock_of("host", "the first line", 6), deltas=True),
    Form("-t -n", _DECIMAL, _ELAPSED, restarts=True),
    Form("-T -n", _TIME, _wall(_MIDNIGHT, 6, UNKNOWN), clock_s, wrap_ns=DAY_NS),
    Form("-T -n -F", _DATE + rb"\.(\d{3,9})", _wall(_CALENDAR, 6, UNKNOWN), date_s),
    Form("-T -n -F", _DATE + rb"()", _wall(_CALENDAR, 0, UNKNOWN), date_s),
)
_FORMS = tuple(replace(form, pattern=rb"\[" + form.pattern + rb"\] ?") for form in _INSIDE)
_SURE = {"-t": 95, "-t -T": 95, "-T": 95, "-T -F": 80, "-t -n": 80, "-T -n": 75, "-T -n -F": 40}
_LABEL = re.compile(rb"^(\S[^\[\n]{0,80}?) (?=\[\d)", re.MULTILINE)
_TRAILER = re.compile(rb'The inlinepat: "([^\n]{1,500})" was matched at (\d{1,9})\.(\d{6})\s*$', re.MULTILINE)
_HEX_ROW = re.compile(rb"^((?:\[[^\]\n]{1,80}\] )?)((?:[0-9A-F]{2} ){1,256})(?:> [^\n]*)?$", re.MULTILINE)
_LATE_S = 10_000


def _tool(source: Source) -> Tool:
    label = _label(clean_head(source.head).blob)
    prefix = re.escape(label + b" ") if label else b""
    forms = [replace(form, pattern=prefix + form.pattern) for form in _FORMS]
    return Tool("grabserial", forms, known=lambda raw: bool(_TRAILER.match(raw)))


# Xilinx' PLM counts milliseconds; kernels up to 2.6.20 count from where their jiffies begin.
_OWN_STAMPS = re.compile(
    rb"^\[(?:\d{1,10}\.\d{6}\] ?(?:Xilinx|AMD) .{0,40}Platform Loader and Manager"
    rb"|(?:4294667|17179569|42949372)\.\d{6}\] ?Linux version \d)",
    re.MULTILINE,
)


def _label(blob: bytes) -> bytes:
    """What --label put before the bracket of every line, if anything."""
    found = Counter(_LABEL.findall(blob)).most_common(1)
    return found[0][0] if found and found[0][1] * 2 > blob.count(b"\n") else b""


def _sure(source: Source) -> int:
    head = clean_head(source.sample)
    if _is_hex(head.blob):
        return 90
    form, part = form_share(source, _tool(source).forms)
    if not form or part < 0.2:
        return 0
    if form.name == "-t -n" and _OWN_STAMPS.search(head.blob):
        return 0
    if form.name == "-t -n" and _like_kernel(head.blob):
        return 20
    return int(_SURE[form.name] * part)


def _like_kernel(blob: bytes) -> bool:
    """Whether unpadded brackets may be the kernel's, which are so after some hours."""
    stamps = re.findall(rb"^\[(\d{1,10})\.\d{6}\] (\[?)", blob, re.MULTILINE)
    return all(int(s) >= _LATE_S and not second for s, second in stamps)


def _is_hex(blob: bytes) -> bool:
    lines = filled(blob)
    return bool(lines) and len(_HEX_ROW.findall(blob)) * 10 >= lines * 9


def _read(source: Source, options: Options) -> Reading:
    hexadecimal = _is_hex(clean_head(source.head).blob)
    if hexadecimal:
        source = replace(source, data=b"".join(_text_of_hex(split(source.data).blob)))
    result = read_console(source, options, _tool(source))
    if hexadecimal:
        what = "hexadecimal rows read as text: a line has the stamp of its first row"
        result.repairs.append(Repair(what, 1, 1))
    _add_patterns(source, result)
    return result


def _text_of_hex(blob: bytes) -> Iterator[bytes]:
    """Rows of --hex-output as stamped lines."""
    begins = True
    for row in _HEX_ROW.finditer(blob):
        for piece in bytes.fromhex(row[2].decode("ascii")).splitlines(keepends=True):
            if begins:
                yield row[1]
            yield piece
            begins = piece.endswith(b"\n")


def _add_patterns(source: Source, result: Reading) -> None:
    """The times of -i patterns, which grabserial prints when it ends: of the end of the last line that
    matched. After -m they count from a zero that is not told."""
    rebased = any("-m" in repair.what for repair in result.repairs)
    if rebased or len(result.boots) != 1 or result.boots[0].clock.name != "host":
        return
    for pattern, whole, fraction in _TRAILER.findall(source.data[-65536:]):
        text = pattern.decode("utf-8", "backslashreplace")
        at_ns = int(whole + fraction) * 1000
        result.boots[0].points.append(Point(at_ns, f"last line with {text} ended", "mark"))


READERS = (Reader("grabserial", "grabserial log", "grabserial -d /dev/ttyUSB0 -t", _sure, _read),)
