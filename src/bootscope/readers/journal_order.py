# SPDX-License-Identifier: Apache-2.0
"""A journal's lines in the order of their stamps.

journald writes lines in the order in which it reads them, and shows the time at which some of them were sent:
where it was busy, those come behind younger ones.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from operator import attrgetter

from bootscope.readers.lines import Memo
from bootscope.readers.stamp_forms import NS, Form

_SOON = 3
"""So many lines in a row may be older than the one before, on a clock that may be set too."""


@dataclass(frozen=True, slots=True)
class _Lines:
    """A stamped line with those after it that have none."""

    at_ns: int
    text: bytes


def in_order(blob: bytes, form: Form) -> tuple[bytes, int]:
    """The lines of `blob`, stamped as `form` says, by their time, and how many were out of order.

    On a calendar, which may be set back, only a few lines in a row are moved: the clock goes on after them.
    """
    starts, times = _stamps(blob, form)
    late = _late(times, form.clock.name == "kernel")
    if not late:
        return blob, 0
    groups = [_Lines(at, blob[a:b]) for at, a, b in zip(times, starts, [*starts[1:], len(blob)], strict=True)]
    moved = sorted((groups[i] for i in late), key=lambda g: g.at_ns, reverse=True)
    result: list[bytes] = []
    # Where the clock was set back, the last place that fits is the one nearest to where the line was.
    for group in reversed([g for i, g in enumerate(groups) if i not in late]):
        while moved and moved[0].at_ns >= group.at_ns:
            result.append(moved.pop(0).text)
        result.append(group.text)
    result += [group.text for group in moved]
    return b"".join(reversed(result)), len(late)


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
