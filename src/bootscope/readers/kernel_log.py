# SPDX-License-Identifier: Apache-2.0
"""What the kernel's own lines tell, whoever carried them: initcalls, probes, facts, root and init."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, compress, islice
from operator import sub

from bootscope.loaders.console import BOOT_LOADER
from bootscope.readers import startup_line
from bootscope.readers.base import PREVIOUS_NEWLINE, Boot, Log
from bootscope.readers.boots import Part
from bootscope.readers.early_kernel import CLOCK_BEGINS
from bootscope.readers.initcalls import Calls
from bootscope.readers.lines import decode
from bootscope.readers.stamp_forms import Columns
from bootscope.readers.ubi_attach import UbiAttach
from bootscope.timeline.kernel_lines import FREED, INIT, OTHER_TASK
from bootscope.timeline.trace import Point

_POINTS = (
    ("root-mounted", "milestone", re.compile(rb"VFS: Mounted root \(")),
    ("kernel-done", "milestone", re.compile(FREED.encode())),
    ("init", "milestone", re.compile(INIT.encode())),
)
_OTHER_TASK = re.compile(OTHER_TASK.encode())
_FACTS = (
    ("kernel", re.compile(rb"Linux version (\S{1,200})")),
    ("command line", re.compile(rb"Kernel command line: ([^\n]{1,4096})")),
    ("machine", re.compile(rb"(?:OF: fdt: )?Machine model: ([^\n]{1,200})")),
    ("boot loader", re.compile(rf"((?:{BOOT_LOADER})\S{{0,80}})".encode())),
)
_PENDING = re.compile(rb": deferred probe pending")
_PENDING_MOST = 1000
# The lines that tell how the kernel's clock lies: those of the boot, not of the days after it.
_FIT_ENOUGH = 3
_FIT_LINES = 20_000
_FIT_NS = 120_000_000_000
# What agrees: within this, and the drift of two crystals (1 / 2000).
_CLOSE_NS = 5_000_000
_DRIFT = 2000
_AT_ONCE = 10_000
"""Lines whose times are worked out together: one by one takes longer, all at once much memory."""


@dataclass(frozen=True, slots=True)
class Way:
    """From the kernel's stamps to the clock of the boot: `offset_ns` to add, and how far off that may be.

    Without an offset the two clocks do not run alike (as in an emulator), and a line's own stamp is taken.
    """

    offset_ns: int | None
    error_ns: int = 0
    or_more: bool = False
    """`error_ns` is only the least: nothing tells how late a line was stamped."""

    def at(self, kernel_ns: int, line_ns: int) -> int:
        """When the line was printed that the kernel stamped with `kernel_ns` and its carrier with
        `line_ns`, in ns of the boot's clock."""
        return line_ns if self.offset_ns is None or kernel_ns < 0 else kernel_ns + self.offset_ns


@dataclass(frozen=True, slots=True)
class _When:
    """When a line came, off by `error_ns` at most (at least, with `error_or_more`); then or later with
    `earliest`."""

    at_ns: int
    error_ns: int
    earliest: bool
    error_or_more: bool

    def point(self, name: str, kind: str) -> Point:
        """Something that happened then."""
        return Point(self.at_ns, name, kind, self.error_ns, self.earliest, self.error_or_more)


@dataclass
class _Findings:
    calls: Calls
    ubi: UbiAttach = field(default_factory=UbiAttach)
    facts: dict[str, str] = field(default_factory=dict)
    points: list[Point] = field(default_factory=list)


def describe(boot: Boot, found: Columns, part: Part, own_clock: bool) -> None:
    """Adds to `boot`, whose log is lines part.first <= i < part.end, what its kernel lines tell.

    With `own_clock` the stamps before the lines are the kernel's, however they are spelled.
    """
    way = Way(0) if own_clock else kernel_way(boot)
    findings = _Findings(Calls(follows_lines=way.offset_ns is None))
    first = bisect_left(found.notable, part.first)
    last = bisect_left(found.notable, part.end)
    kernel_stamps = found.at_ns if own_clock else found.kernel_ns
    takers, blob = {**findings.calls.takers, **findings.ubi.takers}, found.blob
    rows = _notable(found, range(first, last), kernel_stamps, way)
    for index, offset, byte, kernel_ns, at_ns in chain.from_iterable(rows):
        take = takers.get(byte) if kernel_ns >= 0 else None
        if take is None or not take(blob, offset, at_ns):
            when = _when(boot.log, index - part.first, way, kernel_ns, at_ns)
            late = bool(_OTHER_TASK.search(blob, found.starts[index], offset))
            _take(findings, blob, offset, None if late else when)
    boot.tracks += findings.calls.tracks() + findings.ubi.tracks()
    boot.points += findings.points + findings.calls.open_calls() + findings.ubi.open()
    boot.points += islice(_pending(found, part, way, boot.log, kernel_stamps), _PENDING_MOST)
    boot.tracks += startup_line.phases(boot)
    boot.facts.update(findings.facts)
    _zero_stamps(boot)
    if not own_clock:
        _clock_facts(boot, way)


def _notable(
    found: Columns, lines: range, kernel_stamps: array[int], way: Way
) -> Iterator[Iterable[tuple[int, int, int, int, int]]]:
    """These of the notable lines, some at a time: the line's number, where its words begin, their first byte,
    the kernel's stamp (-1: none) and when it was printed, in ns."""
    for at in lines[::_AT_ONCE]:
        end = min(at + _AT_ONCE, lines.stop)
        indices, words = found.notable[at:end], found.words[at:end]
        told = _stamps(found, indices, kernel_stamps)
        times = _times(found, indices, told, way)
        yield zip(indices, words, map(found.blob.__getitem__, words), told, times, strict=True)


def _stamps(found: Columns, indices: Sequence[int], kernel_stamps: array[int]) -> list[int]:
    """The kernel's stamps of these lines: the line's own where that is the kernel's, else the one in it."""
    inside = list(map(found.kernel_ns.__getitem__, indices))
    if kernel_stamps is found.kernel_ns:
        return inside
    own = map(found.own.__getitem__, indices)
    return [kernel_stamps[i] if mine else ns for i, mine, ns in zip(indices, own, inside, strict=True)]


def _times(found: Columns, indices: Sequence[int], told: Sequence[int], way: Way) -> list[int]:
    """When these lines were printed, whose stamps of the kernel are `told`, as :meth:`Way.at` says."""
    times = list(map(found.at_ns.__getitem__, indices))
    offset_ns = way.offset_ns
    if offset_ns is None:
        return times
    return [ns if stamp < 0 else stamp + offset_ns for stamp, ns in zip(told, times, strict=True)]


def _when(log: Log, index: int, way: Way, kernel_ns: int, at_ns: int) -> _When | None:
    """When line `index` came, which the kernel stamped with `kernel_ns` (-1: not) and which is placed at
    `at_ns`; None where neither its own stamp nor one before it tells."""
    if kernel_ns >= 0 and way.offset_ns is not None:
        return _When(at_ns, way.error_ns, False, way.or_more)
    since = log.stamped_line(index)
    return _When(at_ns, way.error_ns, since < index, way.or_more) if since >= 0 else None


def _take(findings: _Findings, blob: bytes, offset: int, when: _When | None) -> None:
    for name, kind, pattern in _POINTS:
        if when and pattern.match(blob, offset):
            findings.points.append(when.point(name, kind))
    for name, pattern in _FACTS:
        match = pattern.match(blob, offset)
        if match and name not in findings.facts:
            findings.facts[name] = decode(match[1]).strip()


def kernel_way(boot: Boot) -> Way:
    """From kernel time to the boot's clock, by the first lines that have both stamps.

    A line reaches the host after the kernel wrote it, seldom at once and never before, so that the least
    differences between the stamps are the true one. (Where the stamp is that of the newline before, a line
    is never late, and the largest are.) The clocks run alike when a third of the lines agree.
    """
    log = boot.log
    kernel_ns: list[int] = []
    away: list[int] = []
    sign = -1 if boot.clock.stamp == PREVIOUS_NEWLINE else 1
    for first in range(0, len(log), _FIT_LINES):
        if len(kernel_ns) >= _FIT_LINES:
            break
        stamps, times = log.kernel_ns[first : first + _FIT_LINES], log.at_ns[first : first + _FIT_LINES]
        told = [0 < stamp <= _FIT_NS for stamp in stamps]
        kernel_ns += compress(stamps, told)
        away += compress(map(sub, times, stamps) if sign > 0 else map(sub, stamps, times), told)
    del kernel_ns[_FIT_LINES:], away[_FIT_LINES:]
    resolution_ns = boot.clock.resolution_ns + 1000
    rest = sorted(away)
    if len(rest) < _FIT_ENOUGH:
        return Way(None, boot.clock.resolution_ns, boot.clock.delay_unmeasured)
    # The very least may be a line that was damaged.
    least_ns = rest[len(rest) // 50]
    close_ns = least_ns + _CLOSE_NS + 2 * resolution_ns
    used = sorted(
        [abs(e - least_ns) for k, e in zip(kernel_ns, away, strict=True) if e <= close_ns + k // _DRIFT]
    )
    if len(used) * 3 < len(away):
        return Way(None, boot.clock.resolution_ns, boot.clock.delay_unmeasured)
    return Way(sign * least_ns, used[(len(used) * 95 - 1) // 100] + resolution_ns)


def _pending(found: Columns, part: Part, way: Way, log: Log, kernel_stamps: array[int]) -> Iterator[Point]:
    """Devices that still waited for something when the kernel gave up waiting."""
    if part.first >= part.end:
        return
    for match in _PENDING.finditer(found.blob, found.starts[part.first], found.ends[part.end - 1]):
        index = bisect_left(found.starts, match.start() + 1) - 1
        device = found.blob[found.starts[index] : match.start()].split()[-1:]
        kernel_ns = kernel_stamps[index] if found.own[index] else found.kernel_ns[index]
        when = _when(log, index - part.first, way, kernel_ns, way.at(kernel_ns, found.at_ns[index]))
        if device and when:
            yield when.point(f"{decode(device[0][:200])} still deferred", "mark")


def _zero_stamps(boot: Boot) -> None:
    """How many lines the kernel printed before its clock ran: the time that they took shows nowhere."""
    count = 0
    for kernel_ns in boot.log.kernel_ns:
        if kernel_ns > 0:
            break
        count += kernel_ns == 0
    if count:
        boot.facts["lines before the kernel's clock ran"] = str(count)


def _clock_facts(boot: Boot, way: Way) -> None:
    """Where the kernel's clock began, in a log stamped by another."""
    if way.offset_ns is not None:
        boot.points.append(Point(way.offset_ns, CLOCK_BEGINS, "mark", way.error_ns))
        boot.facts["kernel clock"] = f"began at {way.offset_ns} ns of this log, to within {way.error_ns} ns"
    elif any(ns > 0 for ns in boot.log.kernel_ns):
        boot.facts["kernel clock"] = "differs from that of this log: kernel events are placed at their lines"
