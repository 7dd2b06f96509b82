# SPDX-License-Identifier: Apache-2.0
"""Where one boot ends and the next begins, in a file that holds several."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise

from bootscope.loaders import console
from bootscope.readers.base import NO_STAMP
from bootscope.readers.stamp_forms import Columns

# What each stage of a boot begins with, in order; the last is the kernel, the one before hands over to it.
_STAGES = tuple(
    re.compile(pattern.encode())
    for pattern in (*console.in_order(), r"Starting kernel ", r"Booting Linux on |Linux version ")
)
_FIRST_BYTES = b"BLS" + "".join(banner.pattern[0] for banner in console.BANNERS).encode()
_KERNEL = len(_STAGES) - 1
_HANDOVER = _KERNEL - 1
# "Booting Linux on" and "Linux version" belong together when so few lines lie between them.
_TOGETHER = 20
_PROBE_LINES = 200
MOST_BOOTS = 5000
"""A file that seems to hold more is not taken apart any further."""
_PROBE_ENOUGH = 3
# The log of a boot's kernel is found within so many lines of its beginning.
_LOOK_BACK_LINES = 20_000
# Each comparison reads all of that; more of them than this are not made.
_COMPARISONS = 32


@dataclass(frozen=True, slots=True)
class Part:
    """Lines first <= i < end of a file are one boot."""

    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Parts:
    """The boots of a file, and the lines from which the kernel's log was printed once more (by `dmesg`
    at a prompt), each with the first line of its boot."""

    boots: list[Part]
    repeats: list[Part]


@dataclass
class _Boot:
    """What is known of the boot that the lines belong to: its earliest and latest stage."""

    first: int
    lowest: int = len(_STAGES)
    highest: int = -1
    kernel_line: int | None = None

    def sees(self, index: int, stage: int) -> None:
        self.lowest, self.highest = min(self.lowest, stage), max(self.highest, stage)
        if stage == _KERNEL:
            self.kernel_line = index


@dataclass
class _Cutter:
    found: Columns
    repeats: list[Part] = field(default_factory=list)
    comparisons: int = 0

    def ends(self, boot: _Boot, index: int, stage: int) -> bool:
        """Whether a new boot begins at a line of this stage."""
        if stage == _HANDOVER or boot.highest < 0:
            return False
        if stage < _HANDOVER:
            return stage <= boot.lowest or boot.highest == _KERNEL
        if boot.kernel_line is None or index - boot.kernel_line <= _TOGETHER:
            return False
        if self.printed_before(boot.first, index):
            self.repeats.append(Part(boot.first, index))
            return False
        return True

    def printed_before(self, first: int, index: int) -> bool:
        """Whether the kernel lines from `index` on repeat, stamp for stamp, lines of the same boot."""
        self.comparisons += 1
        if self.comparisons > _COMPARISONS:
            return False
        kernel_ns = self.found.kernel_ns
        end = min(index + _PROBE_LINES, len(self.found))
        wanted = {self._words(i) for i in range(index, end) if kernel_ns[i] > 0}
        if len(wanted) < _PROBE_ENOUGH:
            return False
        stamps = {ns for ns, _ in wanted}
        end = min(index, first + _LOOK_BACK_LINES)
        had = {self._words(i) for i in range(first, end) if kernel_ns[i] in stamps}
        return len(had & wanted) * 10 >= len(wanted) * 8

    def _words(self, index: int) -> tuple[int, bytes]:
        """A line's kernel stamp and the end of its text."""
        found = self.found
        end = found.ends[index]
        return found.kernel_ns[index], found.blob[max(found.starts[index], end - 24) : end]


def parts(found: Columns) -> Parts:
    """Cuts a file where a board starts again. There is always at least one boot."""
    cutter = _Cutter(found)
    boot = _Boot(0)
    cuts = [0]
    for index, stage in _stages(found):
        if len(cuts) < MOST_BOOTS and cutter.ends(boot, index, stage):
            boot = _Boot(index)
            cuts.append(index)
        boot.sees(index, stage)
    if len(cuts) == 1:
        cuts += _silent_restarts(cutter)
    bounds = [*cuts, len(found)]
    return Parts([Part(a, b) for a, b in pairwise(bounds)], cutter.repeats)


def _stages(found: Columns) -> list[tuple[int, int]]:
    """Line and stage of each line that begins a stage."""
    result = []
    for index, start in zip(found.notable, found.words, strict=True):
        if found.blob[start] in _FIRST_BYTES:
            stage = next((n for n, p in enumerate(_STAGES) if p.match(found.blob, start)), None)
            if stage is not None:
                result.append((index, stage))
    return result


def _silent_restarts(cutter: _Cutter) -> list[int]:
    """Lines at which a kernel's clock begins again at 0 and nothing says why.

    Only a log of nothing but kernel lines can tell; elsewhere it is some other print of that log.
    """
    kernel_ns = cutter.found.kernel_ns
    if NO_STAMP in kernel_ns:
        return []
    restarts = [i for i in range(1, len(kernel_ns)) if kernel_ns[i] == 0 < kernel_ns[i - 1]]
    if len(restarts) > _COMPARISONS:
        return []
    return [i for i in restarts if not cutter.printed_before(0, i)]


def neutralise(found: Columns, repeats: list[Part]) -> int:
    """Takes the kernel stamps from lines that were printed before, until news come; how many those are.

    They say when a line was first printed, not when this one was.
    """
    count = seen = 0
    first, latest_ns = -1, NO_STAMP
    for part in repeats:
        if part.first != first:
            first, seen, latest_ns = part.first, part.first, NO_STAMP
        latest_ns = max(latest_ns, max(found.kernel_ns[seen : part.end], default=NO_STAMP))
        seen = part.end
        for index in range(part.end, len(found)):
            if found.kernel_ns[index] > latest_ns:
                break
            count += found.kernel_ns[index] >= 0
            found.kernel_ns[index] = NO_STAMP
    return count
