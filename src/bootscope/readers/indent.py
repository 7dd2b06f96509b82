# SPDX-License-Identifier: Apache-2.0
"""Lines of consoles where they ought to begin: pasted ones moved back, noise before first words taken off."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from bootscope.loaders.console import ANY, SPOKEN
from bootscope.readers.base import Repair
from bootscope.readers.lines import Lines, split
from bootscope.readers.page import console_of

_HEAD_BYTES = 65536
_MOST_COLUMNS = 16
_LEAST_LINES = 3
# Stamps of the kernel, and first words of programs, that do not begin their lines.
_STAMP = rb"(?:<\d{1,3}>)?\[ {0,11}\d{1,9}\.\d{6}[\]@]"
_FIRST = rb"(?:" + _STAMP + rb"|" + SPOKEN.encode() + rb")"
_MOVED = re.compile(rb"^([ \t]{1,%d})" % _MOST_COLUMNS + _FIRST, re.MULTILINE)
_IN_PLACE = re.compile(rb"^" + _FIRST, re.MULTILINE)
_BLANKS = re.compile(rb"^([ \t]*)\S", re.MULTILINE)
# A port that is switched on, or set to another speed, sends some bytes that nobody wrote.
_NOISE = re.compile(
    rb"^[\x80-\xff][\x01-\x08\x0e-\x1f\x7f-\xff]{0,7}(?=" + ANY.encode() + rb")", re.MULTILINE
)
# The same before a kernel is longer where its loader writes at another rate.
_KERNEL = re.compile(rb"(?<=[\x01-\x08\x0e-\x1f\x7f-\xff])Linux version \d\S{0,80} \(\S{1,80}@\S{1,80}\) \(")
_VERSION = b"Linux version "
_MOST_NOISE = 400
_MOST_KERNELS = 5000


def console_lines(data: bytes) -> Lines:
    """The clean lines of a console (:func:`~bootscope.readers.lines.split`), moved back where all lines, or
    nearly all stamps of the kernel, stand behind the same blanks; without noise before a program's first
    words."""
    data, mended = console_of(data)
    lines = _without_noise(split(data))
    lines = replace(lines, repairs=[*mended, *lines.repairs]) if mended else lines
    margin = _margin(lines.blob[:_HEAD_BYTES])
    if not margin:
        return lines
    blob, moved = re.subn(rb"^" + margin, b"", lines.blob, flags=re.MULTILINE)
    return replace(lines, blob=blob, repairs=[*lines.repairs, Repair("lines moved in by blanks", moved, 1)])


def _without_noise(lines: Lines) -> Lines:
    if lines.blob.isascii():
        return lines
    noises = sorted({match.span() for match in _NOISE.finditer(lines.blob)} | _before_kernels(lines.blob))
    if not noises:
        return lines
    ends = [0, *(end for _, end in noises)]
    starts = [*(start for start, _ in noises), len(lines.blob)]
    blob = b"".join(lines.blob[a:b] for a, b in zip(ends, starts, strict=True))
    line = lines.blob.count(b"\n", 0, noises[0][0]) + 1
    what = "noise before a program's first words removed"
    return replace(lines, blob=blob, repairs=[*lines.repairs, Repair(what, len(noises), line)])


def _before_kernels(blob: bytes) -> set[tuple[int, int]]:
    """Where the rows begin and end that are noise up to a kernel's first words."""
    found: set[tuple[int, int]] = set()
    at = blob.find(_VERSION)
    while at >= 0 and len(found) < _MOST_KERNELS:
        start = blob.rfind(b"\n", 0, at) + 1
        if start < at <= start + _MOST_NOISE and _KERNEL.match(blob, at):
            found.add((start, at))
        at = blob.find(_VERSION, at + 1)
    return found


def _margin(head: bytes) -> bytes:
    if head.lstrip(b"\n")[:1] in (b" ", b"\t"):
        blanks: list[bytes] = _BLANKS.findall(head)
        least = min(blanks, key=len, default=b"")[:_MOST_COLUMNS]
        if least and len(blanks) >= _LEAST_LINES and all(each.startswith(least) for each in blanks):
            return least
    (margin, count), *_ = Counter(_MOVED.findall(head)).most_common(1) or [(b"", 0)]
    enough = count >= max(_LEAST_LINES, 4 * len(_IN_PLACE.findall(head)))
    return margin if enough else b""
