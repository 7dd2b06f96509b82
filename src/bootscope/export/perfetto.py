# SPDX-License-Identifier: Apache-2.0
"""Perfetto's own trace format: named tracks in our order, processes, details, counters of bytes.

A trace is a sequence of packets, field 1 of the message Trace. Field numbers are those of
protos/perfetto/trace in Perfetto's sources. Times are on the clock BOOTTIME, with a snapshot that says that
the trace begins at its zero; since Perfetto has no negative times, these move the whole trace.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from heapq import merge
from itertools import accumulate
from operator import itemgetter

from bootscope.export.base import Subject
from bootscope.export.lanes import edges, lanes
from bootscope.export.proto import message, number, text
from bootscope.export.text import MAX_KEY, plain
from bootscope.timeline.trace import Point, Span, Track

BOOTTIME, MONOTONIC = 6, 3
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
EXPLICIT = 3
BYTES = 3
SEQUENCE = 1
CLEARED, NEEDS_STATE = 1, 2
ROOT = 1
_LARGEST = (1 << 63) - 1
_PID = re.compile(r"\d{1,7}")


Event = tuple[int, bytes]
"""A future packet, and its time in ns: sorted by time over all tracks, in order within each."""


@dataclass
class _Writer:
    """Packets, with names defined once and referred to by number afterwards."""

    origin_ns: int
    packets: list[bytes] = field(default_factory=list)
    _names: dict[int, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    _new: list[bytes] = field(default_factory=list)
    _tracks: int = 0

    def packet(self, *parts: bytes) -> None:
        """One packet on our sequence."""
        self.packets.append(message(1, *parts, number(10, SEQUENCE)))

    def track(self, *parts: bytes) -> int:
        """Describes one more track, and returns its number."""
        self._tracks += 1
        self.packet(message(60, number(1, self._tracks), *parts))
        return self._tracks

    def intern(self, kind: int, name: str) -> int:
        """The number of a name among those of its kind; a new one is written with the next packet."""
        table = self._names[kind]
        if name not in table:
            table[name] = len(table) + 1
            self._new.append(message(kind, number(1, table[name]), text(2, name)))
        return table[name]

    def name(self, name: str) -> bytes:
        """The field of an event's name."""
        return number(10, self.intern(2, plain(name)))

    def category(self, kind: str) -> bytes:
        """The field of an event's category."""
        return number(3, self.intern(1, plain(kind, MAX_KEY)))

    def annotations(self, detail: Mapping[str, str | int]) -> bytes:
        """The fields of a span's details."""
        found = []
        for label, value in detail.items():
            key = number(1, self.intern(3, plain(label, MAX_KEY)))
            fits = isinstance(value, int) and -_LARGEST <= value <= _LARGEST
            shown = number(4, int(value)) if fits else text(6, plain(str(value)))
            found.append(message(4, key, shown))
        return b"".join(found)

    def event(self, at_ns: int, body: bytes) -> None:
        """One event; times beyond the format's range are clamped."""
        stamp = min(max(at_ns - self.origin_ns, 0), _LARGEST)
        new = message(12, *self._new) if self._new else b""
        self._new.clear()
        self.packet(number(8, stamp), message(11, body), new, number(13, NEEDS_STATE))


def make(subject: Subject) -> bytes:
    """The bytes of a .pftrace file."""
    trace = subject.trace
    starts = (s.start_ns for t in trace.tracks for s in t.spans)
    writer = _Writer(min([0, *starts, *(p.at_ns for p in trace.points)]))
    _preamble(writer, subject)
    tracks = _Tracks(writer)
    streams = [stream for track in _parents_first(trace.tracks) for stream in tracks.add(track)]
    streams += tracks.points(trace.points)
    # An event's names must be defined before it: bodies are made when their turn comes.
    for at_ns, body in merge(*streams, key=itemgetter(0)):
        writer.event(at_ns, body)
    return b"".join(writer.packets)


def _preamble(writer: _Writer, subject: Subject) -> None:
    clocks = [message(1, number(1, clock), number(2, 0)) for clock in (BOOTTIME, MONOTONIC)]
    defaults = message(59, number(58, BOOTTIME))
    writer.packet(message(6, *clocks, number(2, BOOTTIME)), number(13, CLEARED), number(87, 1), defaults)
    trace = subject.trace
    lines = [f"clock: {trace.clock}", *(f"{k}: {v}" for k, v in subject.facts.items()), *trace.notes]
    if writer.origin_ns:
        lines.append(f"all times are {-writer.origin_ns} ns later than on that clock")
    about = "; ".join(plain(line) for line in lines)
    writer.track(text(2, plain(trace.title)), text(14, about), number(11, EXPLICIT))


def _parents_first(tracks: tuple[Track, ...]) -> list[Track]:
    """Tracks with each parent before its children; a cycle of parents is broken."""
    known: dict[str, Track] = {}
    for track in tracks:
        known.setdefault(track.ident, track)
    done: dict[int, Track] = {}
    for track in tracks:
        line: dict[int, Track] = {}
        now: Track | None = track
        while now and id(now) not in done and id(now) not in line:
            line[id(now)] = now
            now = known.get(now.parent)
        done.update(reversed(line.items()))
    return list(done.values())


class _Tracks:
    """Describes tracks, and yields the events of each of their rows."""

    def __init__(self, writer: _Writer) -> None:
        self._writer = writer
        self._uuids: dict[str, int] = {}
        self._pids: set[int] = set()
        self._rank = 0

    def add(self, track: Track) -> Iterator[Iterator[Event]]:
        """The rows of a track: usually one. A process becomes a process with its thread."""
        rows = lanes(track)
        uuid = self._process(track) if track.kind == "process" else self._plain(track)
        self._uuids.setdefault(track.ident, uuid)
        for index, row in enumerate(rows):
            yield self._row(uuid if not index else self._lane(track, uuid, index), track.kind, row)
        yield from self._bytes(track, uuid)

    def _plain(self, track: Track) -> int:
        parent = number(5, self._uuids.get(track.parent, ROOT))
        named = text(2, plain(track.title)) + text(14, plain(track.kind))
        return self._writer.track(parent, named, number(11, EXPLICIT), self._next_rank())

    def _next_rank(self) -> bytes:
        self._rank += 1
        return number(12, self._rank)

    def _process(self, track: Track) -> int:
        """Describes a process and its one thread; returns the thread's track."""
        pid, title = self._pid(track), plain(track.title)
        process = self._writer.track(text(2, title), message(3, number(1, pid), text(6, title)))
        named = message(4, number(1, pid), number(2, pid), text(5, title))
        return self._writer.track(number(5, process), named)

    def _pid(self, track: Track) -> int:
        """The process's own number if the trace has it, otherwise an unused one."""
        told = track.spans[0].detail.get("pid") if track.spans else None
        found = _PID.fullmatch(str(told))
        pid = int(found[0]) if found else 0
        if pid <= 0 or pid in self._pids:
            pid = 1_000_001 + len(self._pids)
            while pid in self._pids:
                pid += 1
        self._pids.add(pid)
        return pid

    def _lane(self, track: Track, parent: int, index: int) -> int:
        name = f"{plain(track.title)} ({index + 1})"
        return self._writer.track(number(5, parent), text(2, name), self._next_rank())

    def _row(self, uuid: int, kind: str, row: list[Span]) -> Iterator[Event]:
        on = number(11, uuid)
        for edge in edges(row):
            if not edge.begin:
                yield edge.at_ns, number(9, END) + on
                continue
            names = self._writer.name(edge.span.name) + self._writer.category(kind)
            details = self._writer.annotations(edge.span.detail)
            yield edge.at_ns, number(9, BEGIN) + on + names + details

    def _bytes(self, track: Track, parent: int) -> Iterator[Iterator[Event]]:
        """A counter of the bytes transferred, for tracks that have them."""
        moved = [(s.end_ns, n) for s in track.spans if isinstance(n := s.detail.get("bytes"), int)]
        if not moved:
            return
        name, unit = text(2, f"{plain(track.title)}: bytes so far"), message(8, number(3, BYTES))
        uuid = self._writer.track(number(5, parent), name, unit, self._next_rank())
        yield self._counts(uuid, sorted(moved))

    @staticmethod
    def _counts(uuid: int, moved: list[tuple[int, int]]) -> Iterator[Event]:
        for (at_ns, _), total in zip(moved, accumulate(count for _, count in moved), strict=True):
            yield at_ns, number(9, COUNTER) + number(11, uuid) + number(30, min(total, _LARGEST))

    def points(self, points: tuple[Point, ...]) -> Iterator[Iterator[Event]]:
        """A track of moments for each kind of point."""
        for kind in dict.fromkeys(point.kind for point in points):
            uuid = self._plain(Track(f"points {kind}", kind, f"{kind}s", ()))
            yield self._instants(uuid, kind, [p for p in points if p.kind == kind])

    def _instants(self, uuid: int, kind: str, points: list[Point]) -> Iterator[Event]:
        for point in sorted(points, key=lambda p: p.at_ns):
            names = self._writer.name(point.name) + self._writer.category(kind)
            error = self._writer.annotations({"error_ns": point.error_ns} if point.error_ns else {})
            yield point.at_ns, number(9, INSTANT) + number(11, uuid) + names + error
