# SPDX-License-Identifier: Apache-2.0
"""Where one boot ends and the next begins, in a file that holds several."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from bootscope.loaders import console
from bootscope.loaders.model import Banner, Order
from bootscope.readers.base import NO_STAMP
from bootscope.readers.stamp_forms import Columns

_KERNEL = re.compile(b"Booting Linux on |Linux version ")
_STAGE = re.compile(console.WHICH.encode())
_NO_STAGES = (b"initcall ", b"calling  ", b"probe of ")
"""A log may have a million of these."""
# "Booting Linux on" and "Linux version" belong together when so few lines lie between them.
_TOGETHER = 20
_PROBE_LINES = 200
_PROBE_MOST_LINES = 2_000
_MS_NS = 1_000_000
MOST_BOOTS = 5000
"""A file that seems to hold more is not taken apart any further."""
_PROBE_ENOUGH = 3
_ASKS = b"/proc/version"
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
    """What is known of the boot that the lines belong to: which stages it had, with their first lines."""

    first: int
    stages: dict[str, bytes] = field(default_factory=dict)
    last: Banner | None = None
    highest: Order = Order.FIRST
    kernel_line: int | None = None

    def sees(self, stage: Banner, words: bytes) -> None:
        self.stages.setdefault(stage.milestone, words)
        self.last, self.highest = stage, max(self.highest, stage.order)

    def begins_again(self, stage: Banner, words: bytes) -> bool:
        """Whether a program before Linux is that of another boot.

        Chips have two SPLs with the secure monitor between, and boot loaders that start another one: what
        came before belongs to the same boot as long as nothing later than it was reached.
        """
        if self.kernel_line is not None:
            return True
        if self.highest >= Order.LOADER > stage.order and stage.order != Order.SECURE:
            return True
        if self.stages.get(stage.milestone) != words or self._restarts_itself(stage):
            return False
        return not (self.last and self.last.order == Order.SECURE and stage.order == Order.EARLY_LOADER)

    def _restarts_itself(self, stage: Banner) -> bool:
        """Whether the first firmware of all begins again before anything else ran, as coreboot does when its
        verified boot or the embedded controller asks for it."""
        return stage.order == Order.FIRST and self.stages.keys() == {stage.milestone}


@dataclass
class _Cutter:
    found: Columns
    repeats: list[Part] = field(default_factory=list)
    comparisons: int = 0

    def kernel_again(self, boot: _Boot, index: int) -> bool:
        """Whether a new boot begins at a kernel's first line."""
        if boot.kernel_line is None or index - boot.kernel_line <= _TOGETHER:
            return False
        if self.printed_by_command(boot.kernel_line, index):
            return False
        if self.printed_before(boot.first, index):
            self.repeats.append(Part(boot.first, index))
            return False
        return True

    def printed_by_command(self, first: int, index: int) -> bool:
        """Whether the kernel's version is what a command printed: the line before asked for it, or it has no
        stamp while the kernel's first line, line `first`, has one."""
        found = self.found
        if found.kernel_ns[index] < 0 <= found.kernel_ns[first]:
            return True
        return found.blob.endswith(_ASKS, found.starts[index - 1], found.ends[index - 1])

    def printed_before(self, first: int, index: int) -> bool:
        """Whether the kernel lines from `index` on repeat, stamp for stamp, lines of the same boot."""
        self.comparisons += 1
        if self.comparisons > _COMPARISONS:
            return False
        kernel_ns = self.found.kernel_ns
        wanted = self._fine(index, _PROBE_LINES) or self._fine(index, _PROBE_MOST_LINES)
        if not wanted:
            end = min(index + _PROBE_LINES, len(self.found))
            wanted = {self._words(i) for i in range(index, end) if kernel_ns[i] > 0}
        if len(wanted) < _PROBE_ENOUGH:
            return False
        stamps = {ns for ns, _ in wanted}
        end = min(index, first + _LOOK_BACK_LINES)
        had = {self._words(i) for i in range(first, end) if kernel_ns[i] in stamps}
        return len(had & wanted) * 10 >= len(wanted) * 8

    def _fine(self, index: int, most: int) -> set[tuple[int, bytes]]:
        """Of `most` lines from `index` on those whose stamps are not of whole milliseconds, if enough.

        Before its clock is calibrated a kernel counts ticks: every boot has the same stamps then.
        """
        kernel_ns = self.found.kernel_ns
        lines = range(index, min(index + most, len(self.found)))
        fine = {self._words(i) for i in lines if kernel_ns[i] > 0 and kernel_ns[i] % _MS_NS}
        return fine if len(fine) >= _PROBE_ENOUGH else set()

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
    for index, stage, words in _stages(found):
        again = boot.begins_again(stage, words) if stage else cutter.kernel_again(boot, index)
        if again and len(cuts) < MOST_BOOTS:
            boot = _Boot(index)
            cuts.append(index)
        if stage:
            boot.sees(stage, words)
        else:
            boot.kernel_line = index
    if len(cuts) == 1:
        cuts += _silent_restarts(cutter)
    bounds = [*cuts, len(found)]
    return Parts([Part(a, b) for a, b in pairwise(bounds)], cutter.repeats)


def _stages(found: Columns) -> Iterator[tuple[int, Banner | None, bytes]]:
    """Each line that begins a stage: its index, its stage (None for the kernel) and its words."""
    blob = found.blob
    for index, start in zip(found.notable, found.words, strict=True):
        if blob.startswith(_NO_STAGES, start):
            continue
        if _KERNEL.match(blob, start):
            yield index, None, b""
        elif match := _STAGE.match(blob, start):
            yield index, console.banner_of(match), blob[start : found.ends[index]].rstrip()


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
