# SPDX-License-Identifier: Apache-2.0
"""Consoles that were pasted into a text, each line moved in."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from bootscope.readers.base import Repair
from bootscope.readers.lines import Lines, split

_HEAD_BYTES = 65536
_MOST_COLUMNS = 16
_LEAST_LINES = 3
# Stamps of the kernel that do not begin their lines.
_MOVED = re.compile(rb"^([ \t]{1,%d})(?:<\d{1,3}>)?\[ {0,11}\d{1,9}\.\d{6}\]" % _MOST_COLUMNS, re.MULTILINE)
_IN_PLACE = re.compile(rb"^(?:<\d{1,3}>)?\[ {0,11}\d{1,9}\.\d{6}\]", re.MULTILINE)


_BLANKS = re.compile(rb"^([ \t]*)\S", re.MULTILINE)


def console_lines(data: bytes) -> Lines:
    """The clean lines of a console (:func:`~bootscope.readers.lines.split`), moved back where all lines, or
    nearly all stamps of the kernel, stand behind the same blanks."""
    lines = split(data)
    margin = _margin(lines.blob[:_HEAD_BYTES])
    if not margin:
        return lines
    blob, moved = re.subn(rb"^" + margin, b"", lines.blob, flags=re.MULTILINE)
    return replace(lines, blob=blob, repairs=[*lines.repairs, Repair("lines moved in by blanks", moved, 1)])


def _margin(head: bytes) -> bytes:
    if head.lstrip(b"\n")[:1] in (b" ", b"\t"):
        blanks: list[bytes] = _BLANKS.findall(head)
        least = min(blanks, key=len, default=b"")[:_MOST_COLUMNS]
        if least and len(blanks) >= _LEAST_LINES and all(each.startswith(least) for each in blanks):
            return least
    if b" [" not in head and b"\t[" not in head and b" <" not in head:
        return b""
    (margin, count), *_ = Counter(_MOVED.findall(head)).most_common(1) or [(b"", 0)]
    enough = count >= max(_LEAST_LINES, 4 * len(_IN_PLACE.findall(head)))
    return margin if enough else b""
