# SPDX-License-Identifier: Apache-2.0
"""Spans in an order that formats for nested calls can represent.

The viewers of Chrome, Perfetto and speedscope take the spans of one row as calls: one that starts within
another must end within it. A track whose spans overlap in part is spread over several rows.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush

from bootscope.timeline.trace import Span, Track

MAX_DEPTH = 128
"""The most frames of a path; deeper calls are counted for the last of them."""


@dataclass(frozen=True, slots=True)
class Edge:
    """The beginning or the end of a span."""

    at_ns: int
    begin: bool
    span: Span


def ordered(spans: Iterable[Span]) -> list[Span]:
    """By start, longest first. A span that ends before it starts gets length 0."""
    whole = [s if s.end_ns >= s.start_ns else Span(s.start_ns, s.start_ns, s.name, s.detail) for s in spans]
    return sorted(whole, key=lambda s: (s.start_ns, -s.end_ns))


@dataclass
class _Lanes:
    """Lanes with the open spans of each, and the ends of the innermost of these in order."""

    spans: list[list[Span]] = field(default_factory=list)
    open: list[list[int]] = field(default_factory=list)
    ends: list[tuple[int, int]] = field(default_factory=list)
    free: list[int] = field(default_factory=list)

    def close(self, now_ns: int) -> None:
        """Closes all spans that have ended by `now_ns`."""
        while self.ends and self.ends[0][0] <= now_ns:
            _, lane = self.ends.pop(0)
            stack = self.open[lane]
            while stack and stack[-1] <= now_ns:
                stack.pop()
            if stack:
                insort(self.ends, (stack[-1], lane))
            else:
                heappush(self.free, lane)

    def put(self, span: Span) -> None:
        """Into the lane where it fits most closely, otherwise into an empty one, otherwise into a new one."""
        at = bisect_left(self.ends, (span.end_ns, -1))
        if at < len(self.ends):
            _, lane = self.ends.pop(at)
        elif self.free:
            lane = heappop(self.free)
        else:
            lane = len(self.spans)
            self.spans.append([])
            self.open.append([])
        self.open[lane].append(span.end_ns)
        self.spans[lane].append(span)
        insort(self.ends, (span.end_ns, lane))


def lanes(track: Track) -> list[list[Span]]:
    """The spans of a track in as many rows as needed for proper nesting in each; one row for most tracks."""
    found = _Lanes()
    for span in ordered(track.spans):
        found.close(span.start_ns)
        found.put(span)
    return found.spans


def edges(lane: Iterable[Span]) -> Iterator[Edge]:
    """Beginnings and ends of the spans of one lane in order of time, properly nested."""
    still_open: list[Span] = []
    for span in lane:
        while still_open and still_open[-1].end_ns <= span.start_ns:
            ended = still_open.pop()
            yield Edge(ended.end_ns, False, ended)
        yield Edge(span.start_ns, True, span)
        still_open.append(span)
    yield from (Edge(ended.end_ns, False, ended) for ended in reversed(still_open))


def paths(lane: Iterable[Span]) -> Iterator[tuple[tuple[str, ...], int]]:
    """Each span of a lane as its path from the outermost span, with the time in it but in no inner one."""
    stack: list[tuple[Span, int]] = []
    for edge in edges(lane):
        if edge.begin:
            stack.append((edge.span, edge.span.duration_ns))
            continue
        names = tuple(span.name for span, _ in stack[:MAX_DEPTH])
        span, self_ns = stack.pop()
        if stack:
            outer, left = stack[-1]
            stack[-1] = (outer, left - span.duration_ns)
        yield names, self_ns


def self_times(tracks: Iterable[Track]) -> dict[tuple[str, ...], int]:
    """Path (track, outermost span, ... ) -> ns, summed over all spans of that path."""
    sums: dict[tuple[str, ...], int] = defaultdict(int)
    for track in tracks:
        for lane in lanes(track):
            for names, ns in paths(lane):
                sums[track.title, *names] += ns
    return dict(sums)
