# SPDX-License-Identifier: Apache-2.0
"""Consoles that were cut out of a page or a screen: without the tags of HTML, the numbers of a list, the
blanks up to a screen's edge.

Nothing is done unless the beginning of a file shows that it is one, and no line is added or taken away.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from itertools import pairwise

from bootscope.readers.base import Repair

_HEAD_BYTES = 65536
# A page shows a console in these; the kernel's levels, `<6>[`, are escaped in one.
_SHOWS = re.compile(rb"<(?:pre|code)\b[^<>\n]{0,200}>|^&lt;[0-7]&gt;\[", re.MULTILINE)
_TAG = re.compile(rb"</?(?:a|b|br|code|div|em|font|i|p|pre|span|strong|tt|u)\b[^<>\n]{0,200}>", re.IGNORECASE)
# Of wikis that set three dots and blanks in type.
_SET = ((b"&nbsp;", b" "), (b"&hellip;", b"..."), ("\u2026".encode(), b"..."), ("\xa0".encode(), b" "))
# A list of lines, copied from a page that numbers them: each number is on a row of its own.
_NUMBER = re.compile(rb"^[ \t]{0,8}(\d{1,6})\.[ \t]*(\r?\n)(?=[ \t])", re.MULTILINE)
_LEAST_NUMBERS = 5
# A screen's rows are filled with blanks to one width.
_ROW = re.compile(rb"^[^\n]*\S[^\n]*$", re.MULTILINE)
_FILLED = re.compile(rb"(?<![ \t])[ \t]{2,}+(?=\r?$)", re.MULTILINE)
_LEAST_ROWS = 20


def console_of(data: bytes) -> tuple[bytes, list[Repair]]:
    """The console in a piece of a page, and what was mended."""
    head = data[:_HEAD_BYTES]
    repairs: list[Repair] = []
    shows = _SHOWS.search(head)
    if shows:
        line = data.count(b"\n", 0, shows.start()) + 1
        data = _without_tags(data)
        repairs.append(Repair("tags and escapes of HTML read as text", 1, line))
    elif _is_numbered(head):
        data, count = _NUMBER.subn(rb"\2", data)
        repairs.append(Repair("numbers of lines, on rows of their own, left out", count, 1))
    if _is_screen(head):
        data, count = _FILLED.subn(b"", data)
        repairs.append(Repair("blanks up to a screen's edge left out", count, 1))
    return data, repairs


def _is_screen(head: bytes) -> bool:
    """Whether nearly all rows of a file's head are of one width, most of them filled with blanks."""
    rows = [row.rstrip(b"\r") for row in _ROW.findall(head, 0, head.rfind(b"\n") + 1)]
    filled = [len(row) for row in rows if row.endswith(b"  ")]
    if len(rows) < _LEAST_ROWS or len(filled) * 2 < len(rows):
        return False
    width, _ = Counter(filled).most_common(1)[0]
    return sum(len(row) == width for row in rows) * 10 >= len(rows) * 8


def _without_tags(data: bytes) -> bytes:
    data = _TAG.sub(b"", data)
    for sign, plain in _SET:
        data = data.replace(sign, plain)
    text = html.unescape(data.decode("utf-8", "surrogateescape"))
    return text.encode("utf-8", "surrogateescape")


def _is_numbered(head: bytes) -> bool:
    """Whether every second row of a file's head is a number, each one more than that before."""
    numbers = [int(match[1]) for match in _NUMBER.finditer(head)]
    counts = all(b - a == 1 for a, b in pairwise(numbers))
    return len(numbers) >= _LEAST_NUMBERS and counts and len(numbers) * 2 >= head.count(b"\n") - 1
