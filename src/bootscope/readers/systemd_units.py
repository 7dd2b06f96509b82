# SPDX-License-Identifier: Apache-2.0
"""Start-up of systemd units as tracks, wherever their times come from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

from bootscope.readers.base import Boot, Clock
from bootscope.readers.layout import ordered
from bootscope.timeline.trace import Point, Span, Table, Track

US_NS = 1_000
USER_SPACE = Clock(
    "userspace", "the start of systemd (that of the root file system, after an initrd)", 1_000_000
)
AFTER_SOFT_REBOOT = Clock("userspace", "the start of the soft reboot", 1_000_000)
"""systemd's times of a boot that was begun without a kernel (`systemctl soft-reboot`)."""
_SOFT_REBOOT_UNIT = "systemd-soft-reboot.service"
# systemd starts what waited for a unit at once; later than this, something else was waited for too.
RELEASE_NS = 50_000_000
LAST_BEFORE = "ordered after"
"""A detail of a unit's start: of the units that it is ordered after the one that was ready last."""
WAITS_FOR = "waits for"
"""A detail of a wait: the one unit that was still waited for."""
CHAIN_TITLE = "Critical chain, by systemd: ordering, not cause"
BLAME_TITLE = "Units by the time they took to start"
SOFT_REBOOT = "soft reboot"
PHASES = ("firmware", "loader", "kernel", "initrd", SOFT_REBOOT, "userspace")


@dataclass(frozen=True, slots=True)
class Unit:
    """The last start cycle of a unit, in ns of CLOCK_MONOTONIC; None for what has not happened.

    `starting_ns`: it left the state inactive. `started_ns`: it was active. `stopping_ns`: it left that
    state. `stopped_ns`: it was inactive again. `after` names units that it is ordered after, and at
    `checked_ns` its turn had come: systemd looked at its conditions.
    """

    name: str
    starting_ns: int | None
    started_ns: int | None
    stopping_ns: int | None
    stopped_ns: int | None
    after: tuple[str, ...] = ()
    checked_ns: int | None = None
    detail: Mapping[str, str | int] = field(default_factory=dict)

    @property
    def ready_ns(self) -> int | None:
        """When starting was over: active, or, for a one-shot service that leaves nothing, done."""
        begin = self.starting_ns
        if begin is None:
            return None
        for end in (self.started_ns, self.stopped_ns):
            if end is not None and end >= begin:
                return end
        return None


def unit_tracks(units: Iterable[Unit], release_ns: int = RELEASE_NS) -> list[Track]:
    """A track for each unit that was started, with its wait (as a track below it) where there is one.

    A unit that was started later than `release_ns` after the last one before it waited for something else.
    """
    known = {unit.name: unit for unit in units}
    tracks: list[Track] = []
    for unit in sorted(known.values(), key=lambda u: (u.starting_ns or 0, u.name)):
        spans = _spans(unit, known)
        if not spans:
            continue
        ident = f"systemd:{unit.name}"
        tracks.append(Track(ident, "service", unit.name, spans))
        if wait := _wait(unit, known, release_ns):
            tracks.append(
                Track(f"systemd-wait:{unit.name}", "wait", f"{unit.name} waits", (wait,), parent=ident)
            )
    return tracks


def _spans(unit: Unit, known: Mapping[str, Unit]) -> tuple[Span, ...]:
    found: list[Span] = []
    begin, ready = unit.starting_ns, unit.ready_ns
    if begin is not None and ready is not None:
        before = _ready_before(unit, begin, known)
        last = {LAST_BEFORE: before[-1][1]} if before else {}
        found.append(Span(begin, ready, "starting", {**unit.detail, **last}))
    stop, end = unit.stopping_ns, unit.stopped_ns
    if stop is not None and end is not None and end >= stop:
        apart = begin is None or ready is None or stop >= ready or end <= begin
        if apart:
            found.append(Span(stop, end, "stopping"))
    return tuple(ordered(found))


def _wait(unit: Unit, known: Mapping[str, Unit], release_ns: int) -> Span | None:
    """The stretch in which one other unit was all that this one still waited for.

    By the ordering alone (`After=`): the last of the units before it was ready just when it was started,
    and it was the only one not ready since the last but one was.
    """
    begin = unit.starting_ns
    if begin is None:
        return None
    if unit.checked_ns is not None and unit.checked_ns < begin:
        begin = unit.checked_ns
    before = _ready_before(unit, begin, known)
    if not before or begin - before[-1][0] > release_ns:
        return None
    last_ns, name = before[-1]
    cause = known[name]
    since_ns = max(cause.starting_ns or 0, before[-2][0] if len(before) > 1 else 0)
    if since_ns >= last_ns:
        return None
    detail: dict[str, str | int] = {WAITS_FOR: name, "then delayed_ns": begin - last_ns}
    return Span(since_ns, last_ns, f"waits for {name}", detail)


def _ready_before(unit: Unit, begin_ns: int, known: Mapping[str, Unit]) -> list[tuple[int, str]]:
    """What a unit is ordered after and was ready at `begin_ns`: (when, name), the last one last."""
    return sorted(
        (other.ready_ns, name)
        for name in unit.after
        if (other := known.get(name)) and other.ready_ns is not None and other.ready_ns <= begin_ns
    )


def track_of(ident: str, kind: str, title: str, spans: Iterable[Span], parent: str = "") -> Track:
    """A track of spans in any order, which says so itself if they overlap."""
    placed = tuple(ordered(spans))
    overlaps = any(b.start_ns < a.end_ns for a, b in pairwise(placed))
    return Track(ident, kind, title, placed, overlaps, parent)


def phase_track(bounds: Iterable[tuple[str, int, int]], ident: str = "systemd") -> Track:
    """The track of systemd's own phases: (name, start in ns, end in ns)."""
    spans = [Span(start, end, name) for name, start, end in bounds if end >= start]
    return track_of(ident, "phase", "Phases, by systemd", spans)


def milestone(at_ns: int, name: str, error_ns: int = US_NS) -> Point:
    """A milestone that systemd tells."""
    return Point(at_ns, name, "milestone", error_ns)


def blame_table(rows: Iterable[tuple[str, int]]) -> Table:
    """Units by how long they took to start: (name, ns), the longest first."""
    ranked = sorted(rows, key=lambda row: (-row[1], row[0]))
    return Table(BLAME_TITLE, ("unit", "ns"), tuple(ranked))


def took(units: Iterable[Unit]) -> list[tuple[str, int]]:
    """Which units took time to start, and how long: (name, ns)."""
    ready = [(u.name, u.ready_ns - u.starting_ns) for u in units if u.ready_ns and u.starting_ns is not None]
    return [(name, ns) for name, ns in ready if ns]


def unit_of_times(name: str, ns: Mapping[str, int]) -> Unit:
    """A unit by the columns of a plot, in ns. `time` is how long starting took, which 0 for `activated`
    would not tell."""
    starting = ns["activating"] or None
    started: int | None = ns["activated"] or None
    if starting is not None and (started is None or started < starting):
        started = starting + ns["time"]
    return Unit(name, starting, started, ns["deactivating"] or None, ns["deactivated"] or None)


def boot_of_plot(units: list[Unit], clock: Clock) -> Boot:
    """A boot of what a plot tells. In a plot a unit that is still active ends when booting was over."""
    ends = Counter(u.stopped_ns for u in units if u.stopped_ns and u.stopped_ns == u.stopping_ns)
    finish_ns, count = ends.most_common(1)[0] if ends else (0, 0)
    finished = 2 * count > len(units)
    if finished:
        units = [
            replace(u, stopping_ns=None, stopped_ns=None) if u.stopping_ns == finish_ns else u for u in units
        ]
    if any(u.name == _SOFT_REBOOT_UNIT and u.starting_ns is not None for u in units):
        clock = replace(AFTER_SOFT_REBOOT, resolution_ns=clock.resolution_ns)
    boot = Boot(clock, tracks=unit_tracks(units))
    if finished and finish_ns:
        boot.points.append(milestone(finish_ns, "systemd-finished", clock.resolution_ns))
    boot.tables.append(blame_table(took(units)))
    return boot
