# SPDX-License-Identifier: Apache-2.0
"""Where one boot ends and the next begins, in a file that holds several."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from bootscope.loaders import console
from bootscope.loaders.model import Banner, Order
from bootscope.readers.base import NO_STAMP
from bootscope.readers.stamp_forms import Columns
from bootscope.timeline.kernel_lines import FREED, INIT

_KERNEL = re.compile(b"Booting Linux on |Linux version ")
_INIT = re.compile(f"{FREED}|{INIT}".encode())
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
_SAID_TWICE = 4
"""Lines between, at most, where a program says its first words on two consoles at once."""
_HANDED_OVER, _RESETS = (re.compile(words.encode()) for words in (console.HANDED_OVER, console.RESETS))
_COMPILER = re.compile(console.VERSION_GOES_ON.encode())
_BEFORE = 6
_FIRST_BOOT_NS = 120_000_000_000
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
    last_line: int = -1
    restarted: bool = False
    last: Banner | None = None
    highest: Order = Order.FIRST
    kernel_line: int | None = None

    def sees(self, stage: Banner, words: bytes, index: int) -> None:
        self.stages.setdefault(stage.milestone, words)
        self.last, self.highest, self.last_line = stage, max(self.highest, stage.order), index

    def begins_again(
        self, stage: Banner, words: bytes, index: int, *, resets: bool, handed_over: bool
    ) -> bool:
        """Whether a program before Linux is that of another boot.

        Chips have two SPLs with the secure monitor between, and boot loaders that start another one: what
        came before belongs to the same boot as long as nothing later than it was reached. `handed_over`: the
        lines just before say that the next program was started; `resets`: that this one resets the chip.
        """
        if self.kernel_line is not None:
            return True
        if self.highest >= Order.LOADER > stage.order and stage.order != Order.SECURE:
            return True
        if handed_over and stage.order == Order.FIRST:
            return stage.milestone in self.stages
        if self.stages.get(stage.milestone) != words or self._restarts_itself(stage, resets=resets):
            return False
        if stage.order == Order.SECOND and self.last == stage and index - self.last_line <= _SAID_TWICE:
            return False
        return not (self.last and self.last.order == Order.SECURE and stage.order == Order.EARLY_LOADER)

    def _restarts_itself(self, stage: Banner, *, resets: bool) -> bool:
        """Whether the first program of all begins again before anything else ran: coreboot, when its verified
        boot or the embedded controller asks for it, a chip's ROM, or a loader, once, that resets the chip."""
        if self.stages.keys() != {stage.milestone}:
            return False
        if stage.order != Order.EARLY_LOADER:
            return stage.milestone in ("coreboot", "rom")
        first, self.restarted = resets and not self.restarted, True
        return first


@dataclass
class _Cutter:
    found: Columns
    repeats: list[Part] = field(default_factory=list)
    comparisons: int = 0

    def kernel_again(self, boot: _Boot, index: int) -> bool:
        """Whether a new boot begins at a kernel's first line."""
        if boot.kernel_line is None:
            return self.ran_before(boot.first, index)
        if index - boot.kernel_line <= _TOGETHER:
            return False
        if self.printed_by_command(boot.kernel_line, index):
            return False
        if self.printed_before(boot.first, index):
            self.repeats.append(Part(boot.first, index))
            return False
        return True

    def ran_before(self, first: int, index: int) -> bool:
        """Whether lines first <= i < `index` are of a boot whose kernel's first line is not there: its clock
        ran for seconds, it said that it starts init, and at `index` a kernel's clock begins anew."""
        kernel_ns = self.found.kernel_ns
        if kernel_ns[index] != 0:
            return False
        began = next((ns for ns in kernel_ns[first:index] if ns != NO_STAMP), None)
        if began is None or not 0 < began < _FIRST_BOOT_NS:
            return False
        return self._starts_init(first, index) and not self.printed_before(first, index)

    def _starts_init(self, first: int, end: int) -> bool:
        """Whether one of lines first <= i < end is that with which a kernel starts init."""
        found = self.found
        since, until = (bisect_left(found.notable, line) for line in (first, end))
        return any(
            _INIT.match(found.blob, start) and found.kernel_ns[index] < _FIRST_BOOT_NS
            for index, start in zip(found.notable[since:until], found.words[since:until], strict=True)
        )

    def kernel_begins(self, index: int) -> int:
        """The line with which a kernel begins whose line `index` names its version: old ones say a few words
        before, with a stamp of 0."""
        kernel_ns = self.found.kernel_ns
        first = index
        while first > 0 and index - first < _TOGETHER and kernel_ns[first - 1] == 0 and kernel_ns[index] == 0:
            first -= 1
        return first

    def says_before(self, index: int, what: re.Pattern[bytes]) -> bool:
        """Whether one of a few lines before line `index` says something."""
        found = self.found
        first = max(0, index - _BEFORE)
        return index > 0 and bool(what.search(found.blob, found.starts[first], found.ends[index - 1]))

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
        if stage:
            handed_over = cutter.says_before(index, _HANDED_OVER)
            resets = cutter.says_before(index, _RESETS)
            again = boot.begins_again(stage, words, index, resets=resets, handed_over=handed_over)
        else:
            again = cutter.kernel_again(boot, index)
            index = max(cutter.kernel_begins(index), boot.first) if again else index
        if again and len(cuts) < MOST_BOOTS:
            boot = _Boot(index)
            cuts.append(index)
        if stage:
            boot.sees(stage, words, index)
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
            if index + 1 < len(found) and _COMPILER.match(blob, found.starts[index + 1]):
                continue
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
