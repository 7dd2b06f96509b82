# SPDX-License-Identifier: Apache-2.0
"""Lines of the kernel that begin behind a prompt, or behind other words of a program that ended no line."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator

from bootscope.readers.base import NO_STAMP
from bootscope.readers.stamp_forms import KERNEL_STAMP, STRICT_KERNEL_STAMP, WORDS, Columns

# A prompt's end, then a stamp. Looked for as texts, which costs far less than an expression.
_ENDS = (b"login: [", b"Password: [", b"# [", b"$ [", b"> [", b"~#[", b"~$[")
_STAMP = re.compile(KERNEL_STAMP + b" ?")
_LONGEST_PROMPT = 120
_STRICT = re.compile(STRICT_KERNEL_STAMP + b" ?")
_LONGEST_ROW = 400


def give_stamps(found: Columns) -> None:
    """Takes the kernel's stamp from rows that a program and a line of the kernel share, in a log on the
    kernel's clock.

    It becomes `kernel_ns` of the row, and the time of the lines after it that have no stamp. The row keeps
    the time of the line before: its first words were there first, and came then at the earliest. (A host's
    stamp is that of the first words, so that the two say nothing of each other.)
    """
    rows = {**_behind_words(found), **_rows(found)}
    notable = dict(zip(found.notable, found.words, strict=True)) if rows else {}
    following = len(found) - 1
    # From the last on, so that each line is written once.
    for index in sorted(rows, reverse=True):
        stamp = rows[index]
        kernel_ns = int(stamp[1] + stamp[2]) * 1000
        found.kernel_ns[index] = kernel_ns
        stamped = found.own.find(1, index + 1)
        for late in range(index + 1, following + 1 if stamped < 0 else min(stamped, following + 1)):
            found.at_ns[late] = kernel_ns
        following = index
        words = WORDS.match(found.blob, stamp.end())
        if words and words[1] is not None:
            notable.setdefault(index, words.start(1))
    if rows:
        found.notable = array("q", sorted(notable))
        found.words = array("q", (notable[index] for index in found.notable))


def _rows(found: Columns) -> dict[int, re.Match[bytes]]:
    """The stamp behind a prompt, by the line; the first where there are several."""
    rows: dict[int, re.Match[bytes]] = {}
    if NO_STAMP not in found.kernel_ns:
        return rows
    for bracket in (at for end in _ENDS for at in _brackets(found.blob, end)):
        stamp = _STAMP.match(found.blob, bracket)
        index = bisect_right(found.starts, bracket) - 1
        if not stamp or index < 0 or found.kernel_ns[index] != NO_STAMP:
            continue
        if bracket - found.starts[index] <= _LONGEST_PROMPT and bracket < found.ends[index]:
            rows[index] = min(stamp, rows.get(index, stamp), key=re.Match.start)
    return rows


def _behind_words(found: Columns) -> dict[int, re.Match[bytes]]:
    """The stamp behind any words, by the line, where it lies between the stamps before and after: a program
    that shows a line of the kernel shows an earlier one, which tells nothing."""
    rows: dict[int, re.Match[bytes]] = {}
    latest_ns = 0
    for mark in re.finditer(b"\0", found.own):
        index = mark.start()
        start, end = found.starts[index], found.ends[index]
        if (
            found.kernel_ns[index] != NO_STAMP
            or b"." not in found.blob[start : min(end, start + _LONGEST_ROW)]
        ):
            continue
        stamp = _STRICT.search(found.blob, start + 1, min(end, start + _LONGEST_ROW))
        if stamp is None:
            continue
        kernel_ns = int(stamp[1] + stamp[2]) * 1000
        following = found.own.find(1, index + 1)
        ahead = following >= 0 and 0 < found.at_ns[following] < kernel_ns
        if kernel_ns >= max(latest_ns, found.at_ns[index]) and not ahead:
            rows[index] = stamp
            latest_ns = kernel_ns
    return rows


def _brackets(blob: bytes, end: bytes) -> Iterator[int]:
    at = blob.find(end)
    while at >= 0:
        yield at + len(end) - 1
        at = blob.find(end, at + 1)
