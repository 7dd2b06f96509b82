# SPDX-License-Identifier: Apache-2.0
"""A span's own time: without the spans nested in it, on its track or on another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from bootscope.timeline.trace import Span, Track

PROBES, INITCALLS = "probe", "initcall"
_DEEPEST = 64
"""The number of open spans that are searched for the enclosing one."""


@dataclass(slots=True)
class Nested:
    """A span of `track`; `own_ns` is its time outside of the spans directly in it, `inside` the span that
    encloses it."""

    span: Span
    track: Track
    own_ns: int
    inside: Nested | None = None
    covered_ns: int = 0
    """Nested spans have been subtracted up to here."""


def nested(tracks: Iterable[Track]) -> Iterator[Nested]:
    """All spans of the tracks with their own time. A driver's probe is nested in the initcall of the first
    process that ran at the time, although the two are on separate tracks."""
    found = list(tracks)
    first = next((t for t in found if t.kind == INITCALLS), None)
    probes = [t for t in found if t.kind == PROBES]
    alone = [t for t in found if t is not first and t not in probes]
    for group in ([t for t in (first, *probes) if t], *([t] for t in alone)):
        yield from _of_group(group)


def _of_group(tracks: list[Track]) -> list[Nested]:
    """The same for tracks of one thread of work. Spans that overlap only partly ran concurrently: neither
    encloses the other, and their overlap is subtracted only once from a span that encloses both."""
    spans = [Nested(span, track, span.duration_ns) for track in tracks for span in track.spans]
    spans.sort(key=lambda n: (n.span.start_ns, -n.span.end_ns, n.track.kind != INITCALLS))
    open_spans: list[Nested] = []
    for each in spans:
        start_ns, end_ns = each.span.start_ns, each.span.end_ns
        while open_spans and open_spans[-1].span.end_ns <= start_ns:
            open_spans.pop()
        if not each.track.overlaps or each.track.kind == PROBES:
            each.inside = next(
                (o for o in islice(reversed(open_spans), _DEEPEST) if o.span.end_ns >= end_ns), None
            )
        if outer := each.inside:
            new_ns = end_ns - max(start_ns, outer.covered_ns)
            outer.own_ns -= max(0, new_ns)
            outer.covered_ns = max(outer.covered_ns, end_ns)
        each.covered_ns = start_ns
        open_spans.append(each)
    return spans
