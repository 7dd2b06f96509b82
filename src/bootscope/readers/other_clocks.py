# SPDX-License-Identifier: Apache-2.0
"""Stamps before the kernel's first line that are not of its clock, though they look alike."""

from __future__ import annotations

import re
from bisect import bisect_left

from bootscope.readers.base import NO_STAMP, Repair
from bootscope.readers.boots import Part
from bootscope.readers.stamp_forms import STRICT_KERNEL_STAMP, Columns
from bootscope.timeline.kernel_lines import BEGINS

_KERNEL = re.compile(BEGINS.encode())
_KERNELS = re.compile(rb"\s{0,16}(?:<\d{1,3}>)?" + STRICT_KERNEL_STAMP)
_LOOK_AHEAD_LINES = 20_000


def forget(found: Columns, part: Part, first_number: int) -> list[Repair]:
    """Takes the stamps from lines of a boot before the kernel's first line that are later than its stamp, in
    a log on the kernel's clock, in place.

    Firmware that counts from power-on wrote them, or the system that ran before. How its clock lies to the
    kernel's is not told. `first_number` is the number of the file's line that part.first is.
    """
    kernel = _first_line(found, part)
    if kernel is None:
        before = _of_firmware(found, part)
    else:
        begin_ns = found.at_ns[kernel]
        before = [i for i in range(part.first, kernel) if found.own[i] and found.at_ns[i] > begin_ns]
        before = [] if before and _printed_again(found, part, kernel, before) else before
    if not before:
        return []
    for index in before:
        found.own[index] = 0
        found.kernel_ns[index] = NO_STAMP
    what = "stamps before the kernel's first line are of another clock: ignored"
    return [Repair(what, len(before), first_number + before[0] - part.first)]


def _of_firmware(found: Columns, part: Part) -> list[int]:
    """The stamped lines of a boot without a kernel, if the first of them has a stamp that no kernel writes.

    It has less than five places before the point; PLM's are milliseconds.
    """
    stamped = [i for i in range(part.first, part.end) if found.own[i]]
    if not stamped:
        return []
    at = found.blob.rfind(b"\n", 0, found.starts[stamped[0]]) + 1
    return [] if _KERNELS.match(found.blob, at) else stamped


def _first_line(found: Columns, part: Part) -> int | None:
    # A file may hold thousands of boots: each looks at its own lines only.
    first, end = bisect_left(found.notable, part.first), bisect_left(found.notable, part.end)
    for place in range(first, end):
        index = found.notable[place]
        if found.own[index] and _KERNEL.match(found.blob, found.words[place]):
            return index
    return None


def _printed_again(found: Columns, part: Part, kernel: int, before: list[int]) -> bool:
    """Whether it is the same kernel's log, from the beginning by a command, that the lines before are of."""
    end = min(part.end, kernel + _LOOK_AHEAD_LINES)
    later = {found.at_ns[index] for index in range(kernel, end) if found.own[index]}
    return sum(found.at_ns[index] in later for index in before) * 2 >= len(before)
