# SPDX-License-Identifier: Apache-2.0
"""Whether two boots from two files are the same boot, and how the clock of one leads to the other's.

Nothing is joined in silence: a link says what it rests on, and a pair that cannot be joined says why.
"""

from __future__ import annotations

from dataclasses import dataclass

from bootscope.readers.base import PREVIOUS_NEWLINE, UNKNOWN, Boot
from bootscope.readers.fit import EARLY, EITHER, LATE, Map, fit
from bootscope.readers.match import Common, Moments, common_lines, since_start

# What a link rests on, the best first.
TOLD, SAME_STAMPS, COUNTER, KERNEL, LINES, STAMPS, HOST, EVENTS, CALENDAR, BESIDE = range(10)
HOW = (
    "offset told", "same lines and kernel stamps", "same counter", "kernel clock", "same lines",
    "kernel stamps in lines", "host's clock", "events", "calendar", "no stamps",
)  # fmt: skip

_MIN_LINES = 5
_MIN_PROOF = 3
_LONE_EVENT_NS = 100_000_000
_CALENDAR_NS = 1_000_000_000
_EVENTS_MAX_NS = 5_000_000_000
_STEADY = ("kernel", "userspace", "counter", "sample")


@dataclass(frozen=True, slots=True)
class Side:
    """A boot with all that a link needs to know of it; `file` and `boot` count from 0."""

    file: int
    boot: int
    reader: str
    moments: Moments

    @property
    def data(self) -> Boot:
        """The boot itself."""
        return self.moments.boot

    @property
    def key(self) -> tuple[int, int]:
        """What it is called in links."""
        return self.file, self.boot


@dataclass(frozen=True, slots=True)
class Link:
    """Boot `b` is boot `a`: `map` leads from b's clock to a's, to within `error_ns`.

    `how` is one of the constants above; `used` of `matched` lines or events lie within the error.
    """

    a: tuple[int, int]
    b: tuple[int, int]
    how: int
    map: Map
    error_ns: int
    matched: int = 0
    used: int = 0

    @property
    def proven(self) -> bool:
        """Whether it is known, not only assumed, that this is one boot."""
        return self.how in (TOLD, SAME_STAMPS)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Two boots that are not joined, and why; `certain` when they are known to be two."""

    a: tuple[int, int]
    b: tuple[int, int]
    why: str
    certain: bool = False


def link(a: Side, b: Side) -> Link | Refusal | None:
    """The best link of two boots; a refusal when they contradict each other; None for nothing in common."""
    if "none" in (a.data.clock.name, b.data.clock.name):
        return None
    common = common_lines(a.moments, b.moments)
    if _contradicts(a, b, common):
        why = f"{common.both_kernel} lines are the same but their kernel stamps differ: two boots"
        return Refusal(a.key, b.key, why, certain=True)
    if common.same_kernel >= _MIN_PROOF and common.same_kernel * 2 >= common.both_kernel:
        return _proven(a, b, common)
    if a.reader == b.reader and a.data.clock.name == b.data.clock.name:
        if a.data.clock.name == "wall" and _overlap(a.data, b.data):
            return _calendar(a, b)
        return Refusal(a.key, b.key, "two files of one kind may be two boots, and nothing shows otherwise")
    return _assumed(a, b, common)


def _contradicts(a: Side, b: Side, common: Common) -> bool:
    # The journal of older systemd stamps kernel lines when it reads them.
    if "journal" in a.reader or "journal" in b.reader:
        return False
    return common.both_kernel >= _MIN_LINES and common.same_kernel * 5 < common.both_kernel


def _proven(a: Side, b: Side, common: Common) -> Link | Refusal:
    if a.data.clock.name == b.data.clock.name == "kernel":
        same, way = common.same_kernel, Map(0, common.shift_ns)
        return Link(a.key, b.key, SAME_STAMPS, way, _resolution(a, b), same, same)
    return _fitted(a, b, SAME_STAMPS, common.pairs)


def _assumed(a: Side, b: Side, common: Common) -> Link | Refusal | None:
    """A link between boots that nothing proves to be one."""
    clocks = a.data.clock, b.data.clock
    if clocks[0].counter_id and clocks[0].counter_id == clocks[1].counter_id:
        return Link(a.key, b.key, COUNTER, Map(), _resolution(a, b))
    if all(since_start(clock) for clock in clocks):
        return Link(a.key, b.key, KERNEL, Map(), _resolution(a, b))
    if len(common.pairs) >= _MIN_LINES:
        return _fitted(a, b, LINES, common.pairs)
    if clocks[1].name == "kernel" and len(a.moments.kernel_stamps) >= _MIN_LINES:
        return _fitted(a, b, STAMPS, [(y, x) for x, y in a.moments.kernel_stamps])
    if clocks[0].name == "kernel" and len(b.moments.kernel_stamps) >= _MIN_LINES:
        return _fitted(a, b, STAMPS, b.moments.kernel_stamps)
    if clocks[0].name == clocks[1].name == "wall" and _overlap(a.data, b.data):
        return _calendar(a, b)
    return _by_events(a, b)


def _fitted(a: Side, b: Side, how: int, pairs: list[tuple[int, int]]) -> Link | Refusal:
    """A link by moments, given as (time on a's clock, time on b's clock)."""
    swapped = sorted((y, x) for x, y in pairs)
    tries = [fit(swapped, side, _resolution(a, b)) for side in _sides(a.data, b.data)]
    # Of stamps of an unknown moment: the meaning under which they agree best.
    best = max(tries, key=lambda f: (f.credible, -f.error_ns, f.used))
    if not best.credible:
        return Refusal(a.key, b.key, f"{best.matched} lines are the same but their stamps do not match")
    return Link(a.key, b.key, how, best.map, best.error_ns, best.matched, best.used)


def _sides(a: Boot, b: Boot) -> tuple[int, ...]:
    """What a's stamps of a moment may be against b's."""
    if UNKNOWN in (a.clock.stamp, b.clock.stamp):
        return LATE, EITHER, EARLY
    lateness = _lateness(a) - _lateness(b)
    return (LATE if lateness > 0 else EARLY if lateness < 0 else EITHER,)


def _lateness(boot: Boot) -> int:
    if boot.clock.name in _STEADY:
        return 0
    return -1 if boot.clock.stamp == PREVIOUS_NEWLINE else 1


def _resolution(a: Side, b: Side) -> int:
    return max(0, a.data.clock.resolution_ns) + max(0, b.data.clock.resolution_ns)


def _overlap(a: Boot, b: Boot) -> bool:
    (a_first, a_last), (b_first, b_last) = extent(a), extent(b)
    return a_first <= b_last and b_first <= a_last


def _calendar(a: Side, b: Side) -> Link:
    return Link(a.key, b.key, CALENDAR, Map(), _CALENDAR_NS + _resolution(a, b))


def _by_events(a: Side, b: Side) -> Link | Refusal | None:
    """A link by milestones of the same name; without drift, since there are only a few."""
    names = [name for name in a.moments.events if name in b.moments.events]
    pairs = [(a.moments.events[name], b.moments.events[name]) for name in names]
    # A kernel line with the stamp 0 was printed before the kernel's clock ran.
    pairs = [
        (x, y)
        for x, y in pairs
        if (x or a.data.clock.name != "kernel") and (y or b.data.clock.name != "kernel")
    ]
    if not pairs:
        return None
    offsets = sorted(x - y for x, y in pairs)
    side = _sides(a.data, b.data)[0]
    offset_ns = {LATE: offsets[0], EARLY: offsets[-1], EITHER: offsets[len(offsets) // 2]}[side]
    error_ns = max(abs(o - offset_ns) for o in offsets) if len(pairs) > 1 else _LONE_EVENT_NS
    if error_ns > _EVENTS_MAX_NS:
        return Refusal(a.key, b.key, f"{len(pairs)} events are in both but at different distances")
    error_ns += _resolution(a, b)
    return Link(a.key, b.key, EVENTS, Map(0, offset_ns), error_ns, len(pairs), len(pairs))


def extent(boot: Boot) -> tuple[int, int]:
    """The first and the last moment of a boot on its own clock, in ns; (0, 0) for one without any."""
    low = [min(boot.log.at_ns)] if len(boot.log) else []
    high = [max(boot.log.at_ns)] if len(boot.log) else []
    low += [p.at_ns for p in boot.points] + [t.spans[0].start_ns for t in boot.tracks if t.spans]
    high += [p.at_ns for p in boot.points] + [max(s.end_ns for s in t.spans) for t in boot.tracks if t.spans]
    return (min(low), max(high)) if low else (0, 0)
