# SPDX-License-Identifier: Apache-2.0
"""Stamps that count gaps, start again or go back, made into one clock; each repair told."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Collection, Sequence
from itertools import compress, islice, pairwise
from operator import le

from bootscope.readers.base import NO_STAMP, Repair
from bootscope.readers.stamp_forms import DAY_NS, LATEST_NS, NS, Columns, Form
from bootscope.timeline.kernel_lines import BEGINS

# Messages of several CPUs may be written a little out of order; that is no fault of the clock.
_OUT_OF_ORDER_NS = NS
# So many lines may be ahead of their time by more: another CPU writes while one writes a long dump.
_MOST_AHEAD = 3
_MOST_LATE_NS = 60 * NS
# A calendar that goes on by so much more than the kernel's clock was set.
_SET_NS = 120 * NS
# Who wrote a record of a journal; the kernel's have no such words.
_SPEAKER = re.compile(rb"[^\s\[\]:]{1,64}\[\d{1,10}\]: ")
# A gap longer than this between two lines is a date where a gap should be (bootterm's first line).
_LONGEST_GAP_NS = DAY_NS
_BEGINS = re.compile(BEGINS.encode())
# Finer gaps are cut off too, but a boot has too few lines for that to matter.
_CUT_NS = 1_000_000


def counts_gaps(at_ns: array[int], own: bytearray) -> bool:
    """Whether stamps count from the line before: they go back as often as forth, a clock's hardly ever."""
    back = forth = 0
    for before, after in pairwise(compress(at_ns, own)):
        back += before > after
        forth += before < after
    return back >= 3 and back * 4 > forth


def lead(at_ns: array[int], own: bytearray, first: int, end: int) -> None:
    """Gives the lines before the first stamp of a boot that stamp, in place."""
    index = own.find(1, first, end)
    if index > first:
        at_ns[first:index] = array("q", [at_ns[index]]) * (index - first)


def sum_gaps(found: Columns, form: Form, first: int, end: int, line_of: Sequence[int]) -> list[Repair]:
    """Makes the gaps of lines first <= i < end into times from the first of them, in place."""
    at_ns, own = found.at_ns, found.own
    now_ns = gaps = 0
    seen = False
    for index in range(first, end):
        if own[index]:
            gap_ns = at_ns[index] if seen and at_ns[index] < _LONGEST_GAP_NS else 0
            now_ns = min(now_ns + gap_ns, LATEST_NS)
            gaps += seen
            seen = True
        at_ns[index] = now_ns
    if not gaps or form.clock.resolution_ns < _CUT_NS:
        return []
    short_ms = gaps * form.clock.resolution_ns // _CUT_NS
    what = f"times summed from truncated intervals: they may be up to {short_ms:,} ms short at the end"
    return [Repair(what, gaps, line_of[first])]


def mend(found: Columns, form: Form, first: int, end: int, line_of: Sequence[int]) -> list[Repair]:
    """Makes the stamps of lines first <= i < end never go back, where that is the clock's doing.

    `line_of[i]` is the number of line `i` in its file.
    """
    if form.repeats_kernel and form.clock.name == "wall":
        repairs = _set_forward(found, _kernel_begins(found, first, end), end, line_of)
        return repairs + _mended(found, form, first, end, line_of)
    return _mended(found, form, first, end, line_of)


def _kernel_begins(found: Columns, first: int, end: int) -> int:
    """The first line of first <= i < end with a kernel's first words; `first` where there is none. Before it
    are lines of a system that ran, whose calendar needs no mending."""
    since, until = (bisect_left(found.notable, line) for line in (first, end))
    pairs = zip(found.notable[since:until], found.words[since:until], strict=True)
    return next((index for index, at in pairs if _BEGINS.match(found.blob, at)), first)


def _set_forward(found: Columns, first: int, end: int, line_of: Sequence[int]) -> list[Repair]:
    """A calendar that was set forward, or went on while the system was suspended: the kernel's stamps in two
    lines tell how much time went by, and everything after is moved back."""
    at_ns, kernel_ns = found.at_ns, found.kernel_ns
    offset_ns, before = 0, -1
    steps: list[int] = []
    for index in range(first, end):
        at_ns[index] -= offset_ns
        if kernel_ns[index] == NO_STAMP:
            continue
        went_by_ns = kernel_ns[index] - kernel_ns[before] if before >= 0 else NO_STAMP
        more_ns = at_ns[index] - at_ns[before] - went_by_ns
        if went_by_ns >= 0 and more_ns > _SET_NS:
            steps.append(max(range(before + 1, index + 1), key=lambda i: at_ns[i] - at_ns[i - 1]))
            offset_ns += more_ns
            for late in range(steps[-1], index + 1):
                at_ns[late] -= more_ns
        before = index
    what = (
        f"calendar set forward by {offset_ns // NS:,} s in all, by the kernel's stamps: later stamps shifted"
    )
    return [Repair(what, len(steps), line_of[steps[0]])] if steps else []


def _mended(found: Columns, form: Form, first: int, end: int, line_of: Sequence[int]) -> list[Repair]:
    at_ns = found.at_ns
    stamps = at_ns[first:end]
    if all(map(le, stamps, islice(stamps, 1, None))):
        return []
    if form.wrap_ns:
        return _unwrap(at_ns, form.wrap_ns, first, end, line_of)
    if form.restarts:
        return _rebase(at_ns, first, end, line_of)
    allowed_ns = _OUT_OF_ORDER_NS if form.repeats_kernel else 0
    return _step(at_ns, allowed_ns, first, end, line_of, _early(found, first, end) if form.records else ())


def _early(found: Columns, first: int, end: int) -> set[int]:
    """The lines first <= i < end that are earlier than lines before them of other programs, and of none of
    their own: records that came into the journal late, by up to a minute. A clock that is set back shows in
    the lines of one program, too."""
    at_ns, latest_ns = found.at_ns, NO_STAMP
    last_ns: dict[bytes, int] = {}
    early: set[int] = set()
    for index in range(first, end):
        if not found.own[index]:
            continue
        now_ns = at_ns[index]
        said = _SPEAKER.match(found.blob, found.starts[index], found.ends[index])
        who = said[0] if said else b""
        if last_ns.get(who, NO_STAMP) - _OUT_OF_ORDER_NS <= now_ns < latest_ns <= now_ns + _MOST_LATE_NS:
            early.add(index)
        last_ns[who] = max(now_ns, last_ns.get(who, NO_STAMP))
        latest_ns = max(latest_ns, now_ns)
    return early


def _unwrap(at_ns: array[int], wrap_ns: int, first: int, end: int, line_of: Sequence[int]) -> list[Repair]:
    """A clock that begins again at 0 every `wrap_ns`."""
    offset_ns = 0
    wraps: list[int] = []
    for index in range(first + 1, end):
        if at_ns[index - 1] - at_ns[index] - offset_ns > wrap_ns // 2:
            offset_ns += wrap_ns
            wraps.append(index)
        at_ns[index] = min(at_ns[index] + offset_ns, LATEST_NS)
    every = "at midnight" if wrap_ns == DAY_NS else f"every {wrap_ns // NS} seconds"
    repairs = [Repair(f"stamps wrap {every}: unwrapped", len(wraps), line_of[wraps[0]])] if wraps else []
    return repairs + _step(at_ns, 0, first, end, line_of)


def _rebase(at_ns: array[int], first: int, end: int, line_of: Sequence[int]) -> list[Repair]:
    """A clock that was set to 0 at a line (`grabserial -m`): the next stamp counts from there."""
    offset_ns = 0
    where: list[int] = []
    for index in range(first + 1, end):
        if at_ns[index] + offset_ns < at_ns[index - 1]:
            offset_ns = at_ns[index - 1]
            where.append(index)
        at_ns[index] = min(at_ns[index] + offset_ns, LATEST_NS)
    what = "stamps were reset to 0 (grabserial -m): continued from the line before"
    return [Repair(what, len(where), line_of[where[0]])]


def _before_ahead(at_ns: array[int], first: int, index: int, at: int, allowed_ns: int) -> int:
    """The stamp before a few lines that came ahead of their time, when line `index` has stamp `at`; 0 where
    more than a few are later than that."""
    before = range(index - 2, max(first, index - 1 - _MOST_AHEAD) - 1, -1)
    return next((at_ns[i] for i in before if at_ns[i] <= at + allowed_ns), 0)


def _returns(at_ns: array[int], index: int, end: int, latest_ns: int) -> bool:
    """Whether only line `index` and a few after it are late, and the clock goes on where it was."""
    if at_ns[index] < latest_ns - _MOST_LATE_NS:
        return False
    return any(
        ns >= latest_ns - _OUT_OF_ORDER_NS for ns in at_ns[index + 1 : min(end, index + 1 + _MOST_AHEAD)]
    )


def _step(
    at_ns: array[int],
    allowed_ns: int,
    first: int,
    end: int,
    line_of: Sequence[int],
    early: Collection[int] = (),
) -> list[Repair]:
    """A clock that was set back: everything after is moved on, so that no time runs backwards.

    How long the gap there really was cannot be known; it is taken as none. Steps up to `allowed_ns` stay, and
    those of the lines `early`.
    """
    offset_ns = latest_ns = 0
    steps: list[int] = []
    small: list[int] = []
    latest_ns = at_ns[first] if end > first else 0
    for index in range(first + 1, end):
        at = min(at_ns[index] + offset_ns, LATEST_NS)
        if index in early:
            small.append(index)
            at_ns[index] = at
            continue
        late = allowed_ns and at < latest_ns - allowed_ns
        if late and (before_ns := _before_ahead(at_ns, first, index, at, allowed_ns)):
            latest_ns = before_ns
            small.append(index - 1)
        if allowed_ns and at < latest_ns - allowed_ns and _returns(at_ns, index, end, latest_ns - offset_ns):
            small.append(index)
        elif at < latest_ns - allowed_ns:
            offset_ns += latest_ns - at
            at = latest_ns
            steps.append(index)
        elif at < latest_ns:
            small.append(index)
        at_ns[index] = at
        latest_ns = max(latest_ns, at)
    repairs = []
    if steps:
        what = f"clock went back by {offset_ns // 1_000_000:,} ms in all: later stamps shifted"
        repairs.append(Repair(what, len(steps), line_of[steps[0]]))
    if small:
        repairs.append(
            Repair("lines a little out of order, their stamps kept", len(small), line_of[small[0]])
        )
    return repairs
