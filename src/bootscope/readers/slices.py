# SPDX-License-Identifier: Apache-2.0
"""Slices of Perfetto traces that programs wrote themselves: beginnings and ends on tracks.

https://perfetto.dev/docs/reference/trace-packet-proto#TrackEvent
"""

from __future__ import annotations

from dataclasses import dataclass, field

from bootscope.readers.layout import track
from bootscope.readers.lines import decode
from bootscope.readers.proto_fields import fields
from bootscope.timeline.trace import Point, Span, Track

_BEGIN, _END, _INSTANT, _COUNTER = 1, 2, 3, 4
_MOST_OPEN = 10_000


@dataclass(slots=True)
class _Row:
    spans: list[Span] = field(default_factory=list)
    open: list[tuple[int, str]] = field(default_factory=list)


class Slices:
    """Collects tracks and what happens on them, in the order of the file."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._rows: dict[int, _Row] = {}
        self._titles: dict[int, str] = {}
        self._parents: dict[int, int] = {}
        self._names: dict[tuple[int, int], str] = {}
        self.points: list[Point] = []
        self.counters = 0
        self.last_ns = 0

    def descriptor(self, start: int, end: int) -> None:
        """Takes the description of a track. Raises DamagedError."""
        uuid, title = 0, ""
        for number, value, stop in fields(self._data, start, end):
            if number == 1 and stop < 0:
                uuid = value
            elif number == 5 and stop < 0:
                self._parents[uuid] = value
            elif number in (2, 10) and stop >= 0:
                title = self._text(value, stop)
            elif number in (3, 4) and stop >= 0 and not title:
                wanted = 6 if number == 3 else 5  # the name of a process, or of a thread
                inside = [
                    self._text(v, s) for n, v, s in fields(self._data, value, stop) if n == wanted and s >= 0
                ]
                title = inside[0] if inside else ""
        self._titles[uuid] = title or self._titles.get(uuid, "")

    def interned(self, sequence: int, start: int, end: int) -> None:
        """Takes names that are told once and referred to by number. Raises DamagedError."""
        for number, value, stop in fields(self._data, start, end):
            if number == 2 and stop >= 0:
                parts = {n: (v, s) for n, v, s in fields(self._data, value, stop)}
                if 1 in parts and 2 in parts and parts[2][1] >= 0:
                    self._names[sequence, parts[1][0]] = self._text(*parts[2])

    def event(self, sequence: int, at_ns: int, start: int, end: int) -> None:
        """Takes what happens on a track. Raises DamagedError."""
        kind, name, uuid = 0, "", 0
        for number, value, stop in fields(self._data, start, end):
            if number == 9 and stop < 0:
                kind = value
            elif number == 10 and stop < 0:
                name = self._names.get((sequence, value), f"name {value}")
            elif number == 23 and stop >= 0:
                name = self._text(value, stop)
            elif number == 11 and stop < 0:
                uuid = value
        self.last_ns = max(self.last_ns, at_ns)
        row = self._rows.setdefault(uuid, _Row())
        if kind == _BEGIN and len(row.open) < _MOST_OPEN:
            row.open.append((at_ns, name))
        elif kind == _END and row.open:
            begun_ns, begun = row.open.pop()
            row.spans.append(Span(begun_ns, max(begun_ns, at_ns), begun))
        elif kind == _INSTANT:
            self.points.append(Point(at_ns, name[:400]))
        elif kind == _COUNTER:
            self.counters += 1

    def tracks(self) -> list[Track]:
        """A row for each track that has slices; those that do not end last to the last event."""
        made = []
        for uuid, row in self._rows.items():
            detail = {"ended": "not in the trace"}
            row.spans += [Span(at, max(at, self.last_ns), name, detail) for at, name in row.open]
            if row.spans:
                made.append(track(f"slices-{uuid}", "other", self._title(uuid), row.spans))
        return made

    def _title(self, uuid: int) -> str:
        above = self._titles.get(self._parents.get(uuid, 0), "")
        own = self._titles.get(uuid) or f"track {uuid}"
        return f"{above}: {own}" if above else own

    def _text(self, start: int, end: int) -> str:
        return decode(self._data[start:end])[:400]
