# SPDX-License-Identifier: Apache-2.0
"""Lines that journald found when it started: a journal's short forms tell when it read them, not when they
were written.

What the kernel and systemd logged while no journald ran, before it starts and between the one of the initrd
and the next, waits in the kernel's buffer. `-o short-monotonic` of older versions (252) shows the kernel's
own time for it; systemd 262 does not, nor do the forms with a calendar of any version.
"""

from __future__ import annotations

import re
from bisect import bisect_left

from bootscope.readers.base import NO_STAMP, Repair
from bootscope.readers.boots import Part
from bootscope.readers.stamp_forms import Columns, Form
from bootscope.timeline.kernel_lines import BEGINS

_JOURNALD = re.compile(
    rb"^[^\n]{0,400}?\bsystemd-journald?(?:\.service)?(?:\[\d{1,10}\])?: Journal (started|stopped)",
    re.MULTILINE,
)
_KERNEL = re.compile(BEGINS.encode())
# The kernel's own stamp of its first line is below this; journald starts later.
_OWN_NS = 100_000_000
_MOST = 100
WHAT = "stamps from before journald ran are those of its start: ignored"
"""What is told of them; `-o json` has their own times."""


def forget(found: Columns, form: Form, part: Part, first_number: int) -> list[Repair]:
    """Takes the stamps from lines first <= i < end of a journal that were written before journald ran, in
    place. `first_number` is the number of the file's line that part.first is.
    """
    kernel = next((i for i in _notable(found, part) if found.own[i]), None)
    if kernel is None or (form.clock.name == "kernel" and found.at_ns[kernel] < _OWN_NS):
        return []
    count = first = 0
    for begin, end in _unheard(found, part, kernel):
        before_ns = _before(found, part, begin)
        for index in range(begin, end):
            if found.own[index] and found.kernel_ns[index] == NO_STAMP:
                found.own[index] = 0
                found.at_ns[index] = found.at_ns[index] if before_ns is None else before_ns
                first = first or first_number + index - part.first
                count += 1
    return [Repair(WHAT, count, first)] if count else []


def _before(found: Columns, part: Part, begin: int) -> int | None:
    """The stamp of the last line before line `begin` that has one."""
    index = found.own.rfind(1, part.first, begin)
    return found.at_ns[index] if index >= 0 else None


def _notable(found: Columns, part: Part) -> list[int]:
    """The lines with which a kernel begins."""
    pairs = zip(found.notable, found.words, strict=True)
    return [i for i, at in pairs if part.first <= i < part.end and _KERNEL.match(found.blob, at)]


def _unheard(found: Columns, part: Part, kernel: int) -> list[tuple[int, int]]:
    """The stretches of lines that end where a journald starts, the first from line `kernel` on (before it is
    the system that ran before); none where none says that it does.

    Lines with a calendar may be of another program then (syslog); of the kernel's alone (`-k`) hits.py takes
    the stamps for the bounds that they are.
    """
    stretches: list[tuple[int, int]] = []
    begin: int | None = kernel
    for match in _JOURNALD.finditer(found.blob, _line_start(found, kernel), found.ends[part.end - 1]):
        index = bisect_left(found.ends, match.end())
        if match[1] == b"stopped":
            begin = index + 1
        elif begin is not None and len(stretches) < _MOST:
            stretches.append((begin, index))
            begin = None
    return stretches


def _line_start(found: Columns, index: int) -> int:
    return found.blob.rfind(b"\n", 0, found.starts[index]) + 1
