# SPDX-License-Identifier: Apache-2.0
"""Moments that two boots' logs both saw: identical lines, kernel stamps inside lines, known events."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from bootscope.readers.base import Boot, Clock
from bootscope.readers.markers import MARKERS, marker_lines, split_line

MAX_LINES = 200_000
"""Of a boot's log that are looked at: what is common stands near the start."""
_MIN_KEY = 10
_SAME_NS = 2_000


@dataclass(frozen=True, slots=True)
class Seen:
    """A line that occurs once in a log: its place, its stamp, and the kernel's stamp (-1: none)."""

    index: int
    at_ns: int
    kernel_ns: int


class Moments:
    """What a boot's log can be matched by; found when it is first asked for."""

    def __init__(self, boot: Boot) -> None:
        self.boot = boot

    @cached_property
    def lines(self) -> dict[str, Seen]:
        """Lines that occur once, by their words."""
        found: dict[str, Seen | None] = {}
        log = self.boot.log
        for index, (at_ns, text) in enumerate(islice(log, MAX_LINES)):
            kernel_ns, words = split_line(text)
            if len(words) >= _MIN_KEY:
                seen = Seen(index, at_ns, max(kernel_ns, log.kernel_ns[index]))
                found[words] = None if words in found else seen
        return {words: seen for words, seen in found.items() if seen}

    @cached_property
    def kernel_stamps(self) -> list[tuple[int, int]]:
        """(kernel's stamp, the log's stamp) of lines that have both, by the former, for logs on another
        clock. A leading run of zeros (the kernel's clock did not run yet) is left out."""
        if self.boot.clock.name == "kernel":
            return []
        log = self.boot.log
        return sorted(
            pair for pair in islice(zip(log.kernel_ns, log.at_ns, strict=True), MAX_LINES) if pair[0] > 0
        )

    @cached_property
    def events(self) -> dict[str, int]:
        """Milestones of the file and known lines of the log -> ns, the first of each."""
        found = {
            p.name: p.at_ns for p in sorted(self.boot.points, key=lambda p: -p.at_ns) if p.kind == "milestone"
        }
        for name, hit in marker_lines(self.boot.log, MARKERS).items():
            found.setdefault(name, hit.at_ns)
        return found


@dataclass(frozen=True, slots=True)
class Common:
    """Lines that stand once in both of two logs, in the same order: pairs of stamps (first, second).

    Of `both_kernel` lines with a kernel stamp on both sides, `same_kernel` are `shift_ns` apart (first minus
    second, to 2 µs): two boots of a real board never agree in that. `shift_ns` is 0 unless a log counts
    from its own first line.
    """

    pairs: list[tuple[int, int]]
    same_kernel: int
    both_kernel: int
    shift_ns: int


def since_start(clock: Clock) -> bool:
    """Whether a kernel clock counts from where the kernel's own does, not from the first line of a log."""
    return clock.name == "kernel" and "kernel's clock" in clock.zero


def common_lines(a: Moments, b: Moments) -> Common:
    """What the logs of two boots have in common."""
    small, large = (a.lines, b.lines) if len(a.lines) <= len(b.lines) else (b.lines, a.lines)
    words = [w for w in small if w in large]
    seen = sorted(((a.lines[w], b.lines[w]) for w in words), key=lambda pair: pair[0].index)
    kept = [seen[i] for i in increasing([pair[1].index for pair in seen])]
    # A stamp of 0 was made before the kernel's clock ran.
    shifts = sorted(x.kernel_ns - y.kernel_ns for x, y in kept if x.kernel_ns > 0 and y.kernel_ns > 0)
    # A changed setting moves all stamps of an emulated boot alike: only a log's own zero may explain that.
    begun_anew = any(m.boot.clock.name == "kernel" and not since_start(m.boot.clock) for m in (a, b))
    shift_ns = shifts[len(shifts) // 2] if shifts and begun_anew else 0
    same = sum(abs(shift - shift_ns) <= _SAME_NS for shift in shifts)
    return Common([(x.at_ns, y.at_ns) for x, y in kept], same, len(shifts), shift_ns)


def increasing(values: list[int]) -> list[int]:
    """Indexes of a longest increasing part of `values`: lines that two logs have in another order are
    not the same event."""
    ends: list[int] = []
    at: list[int] = []
    before = [-1] * len(values)
    for index, value in enumerate(values):
        place = bisect_left(ends, value)
        if place == len(ends):
            ends.append(value)
            at.append(index)
        else:
            ends[place], at[place] = value, index
        before[index] = at[place - 1] if place else -1
    chain: list[int] = []
    index = at[-1] if at else -1
    while index >= 0:
        chain.append(index)
        index = before[index]
    return chain[::-1]
