# SPDX-License-Identifier: Apache-2.0
"""A journal's lines in the order of their stamps.

journald writes lines in the order in which it reads them, and shows the time at which some of them were sent:
where it was busy, those come behind younger ones.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import accumulate, compress, islice, pairwise
from operator import attrgetter, le
from typing import NamedTuple

from bootscope.readers.lines import Lines, Memo
from bootscope.readers.stamp_forms import NS, Columns, Form

_AT_ONCE = 1000
_SOON = 3
"""So many lines in a row may be older than the one before, on a clock that may be set too."""


@dataclass(frozen=True, slots=True)
class _Lines:
    """A stamped line with those after it that have none."""

    at_ns: int
    text: bytes


class Written(NamedTuple):
    """Lines of records in one text; of each line when it was written, in us, and what tells its level, as
    before a stamp of the kernel's log."""

    text: bytes
    at_us: array[int]
    levels: list[str]

    def stamped(self) -> bytes:
        """The lines as those of the kernel's log, with level and stamp before each."""
        lines = self.text.split(b"\n")[:-1]
        rows = zip(lines, self.at_us, self.levels, strict=True)
        return b"".join(
            b"%b[%5d.%06d] %b\n" % (level.encode(), at // 1_000_000, at % 1_000_000, line)
            for line, at, level in rows
        )


class Records:
    """Lines of records with the times at which they were written, gathered as one text: a million small
    pieces take three times its memory."""

    def __init__(self) -> None:
        self._times = array("q")
        self._levels: list[str] = []
        self._lengths = array("q")
        self._text = BytesIO()
        self._last: list[str] = []
        self._more: dict[int, int] = {}
        """The number of lines of records that have several."""

    def add(self, at_us: int, level: str, lines: str) -> None:
        """Appends a record, without the end of its last line; `at_us` fits 64 bits. What is no UTF-8 in it
        are surrogates."""
        self._times.append(at_us)
        self._levels.append(level)
        if "\n" in lines:
            self._more[len(self._times) - 1] = lines.count("\n") + 1
        self._last.append(lines)
        if len(self._last) == _AT_ONCE:
            self._gather()

    def _gather(self) -> None:
        if not self._last:
            return
        text = "\n".join(self._last) + "\n"
        pieces = self._last if text.isascii() else map(_encoded, self._last)
        self._lengths.extend([length + 1 for length in map(len, pieces)])
        self._text.write(_encoded(text))
        self._last.clear()

    def in_order(self) -> Written:
        """All lines by their time, those of one time as they came. Lets what was gathered go."""
        self._gather()
        text, times, levels, lengths = self._text.getvalue(), self._times, self._levels, self._lengths
        more = self._more
        self._text, self._lengths = BytesIO(), array("q")
        if _ordered(times) and not more:
            return Written(text, times, levels)
        ends = array("q", accumulate(lengths))
        order = sorted(range(len(times)), key=times.__getitem__)
        by_line = [i for i in order for _ in range(more.get(i, 1))]
        return Written(
            b"".join(text[ends[i] - lengths[i] : ends[i]] for i in order),
            array("q", [times[i] for i in by_line]),
            [levels[i] for i in by_line],
        )


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def in_order(lines: Lines, found: Columns, form: Form) -> tuple[Lines, int]:
    """The lines, read as `form` says, by their time, and how many were out of order.

    On a calendar, which may be set back, only a few lines in a row are moved: the clock goes on after them.
    """
    if _ordered(found.at_ns):
        return lines, 0
    stamped = list(compress(range(len(found)), found.own))
    late = _late([found.at_ns[index] for index in stamped], form.clock.name == "kernel")
    if not late:
        return lines, 0
    # What stands before the first stamp is of its line.
    starts = [0, *(found.ends[index - 1] + 1 for index in stamped[1:]), len(found.blob)]
    pieces = zip(stamped, pairwise(starts), strict=True)
    groups = [_Lines(found.at_ns[i], found.blob[a:b]) for i, (a, b) in pieces]
    moved = sorted((groups[i] for i in late), key=lambda g: g.at_ns, reverse=True)[::-1]
    result: list[bytes] = []
    # Where the clock was set back, the last place that fits is the one nearest to where the line was.
    for group in reversed([g for i, g in enumerate(groups) if i not in late]):
        while moved and moved[-1].at_ns >= group.at_ns:
            result.append(moved.pop().text)
        result.append(group.text)
    result += [group.text for group in reversed(moved)]
    return replace(lines, blob=b"".join(reversed(result))), len(late)


def _ordered(times: array[int]) -> bool:
    return all(map(le, times, islice(times, 1, None)))


def by_time(blob: bytes, form: Form, first: re.Pattern[bytes]) -> tuple[bytes, int]:
    """The lines of `blob`, stamped as `form` says, by their time, and how many were out of order; of several
    buffers that a tool printed one after the other.

    What is older than the first line in which `first` is found has a clock that was not set: it stays behind
    the line before it, without its stamp.
    """
    starts, times = _stamps(blob, form)
    if not starts:
        return blob, 0
    pieces = [blob[a:b] for a, b in zip(starts, [*starts[1:], len(blob)], strict=True)]
    begin_ns = next((at for at, piece in zip(times, pieces, strict=True) if first.search(piece)), 0)
    stamp = form.at_line_start()
    ordered: list[_Lines] = []
    moved = latest_ns = 0
    for at_ns, piece in zip(times, pieces, strict=True):
        unset = at_ns < begin_ns
        now_ns = (ordered[-1].at_ns if ordered else begin_ns) if unset else at_ns
        ordered.append(_Lines(now_ns, stamp.sub(b"", piece, count=1) if unset else piece))
        moved += now_ns < latest_ns
        latest_ns = max(latest_ns, now_ns)
    return b"".join(piece.text for piece in sorted(ordered, key=attrgetter("at_ns"))), moved


def _stamps(blob: bytes, form: Form) -> tuple[list[int], list[int]]:
    """Where each stamped line begins (the first at 0), and its time in ns."""
    seconds = Memo(form.seconds)
    starts: list[int] = []
    times: list[int] = []
    for match in form.at_line_start().finditer(blob):
        second = seconds[match[1]]
        if second is not None:
            starts.append(match.start() if starts else 0)
            times.append(second * NS + int((match[2] or b"").ljust(9, b"0")))
    return starts, times


def _late(times: list[int], steady: bool) -> set[int]:
    """Which lines are older than one before them; on a clock that is not `steady`, only where a younger line
    follows soon."""
    late: set[int] = set()
    row: list[int] = []
    latest_ns = -1
    for index, at_ns in enumerate(times):
        if at_ns >= latest_ns:
            late.update(row)
            row = []
            latest_ns = at_ns
        elif steady:
            late.add(index)
        else:
            row.append(index)
            if len(row) > _SOON:
                row, latest_ns = [], at_ns
    return late
