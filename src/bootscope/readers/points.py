# SPDX-License-Identifier: Apache-2.0
"""Points of a joined boot: its milestones and its lines, on one clock."""

from __future__ import annotations

from itertools import islice

import msgspec

from bootscope.readers import boot_begin
from bootscope.readers.fit import Map
from bootscope.readers.hits import Hit, View
from bootscope.readers.markers import split_line
from bootscope.timeline.trace import Point


def milestones(view: View, hits: list[Hit], every: bool) -> list[Point]:
    """One point for each milestone, the first where several files tell it; with `every`, other points as they
    are."""
    points = [
        Point(h.at_ns, h.marker.name, "milestone", h.error_ns, h.earliest, h.error_or_more)
        for h in hits
        if not h.latest
    ]
    others: list[Point] = []
    late = boot_begin.read_until(hits)
    for member in view.members:
        way = view.map(member)
        told = view.boot(member).points
        if not every:
            told = [p for p in told if p.kind == "milestone"]
        # What nothing moves need not be made anew.
        moved = way != Map() or member.error_ns != 0
        for point in told:
            at_ns = way.at(point.at_ns) if moved else point.at_ns
            if moved:
                error_ns = point.error_ns + member.error_ns
                point = msgspec.structs.replace(point, at_ns=at_ns, error_ns=error_ns)
            if point.kind != "milestone":
                others.append(point)
            elif at_ns > late:
                points.append(point)
    first: dict[str, Point] = {}
    for point in points:
        known = first.setdefault(point.name, point)
        # One that is known comes before one of which only the earliest time is.
        if (point.earliest, point.at_ns) < (known.earliest, known.at_ns):
            first[point.name] = point
    return [*first.values(), *others]


def lines_of(view: View, first: int = 0) -> list[Point]:
    """Every line of every log once: what another log has too is taken from the first. Of the log that tells
    the boot best, those from line `first` on."""
    points: list[Point] = []
    known: set[str] = set()
    logs = [m for m in view.members if len(view.boot(m).log)]
    for member in logs:
        boot, way = view.boot(member), view.map(member)
        error_ns = member.error_ns + max(0, boot.clock.resolution_ns)
        steady = way == Map()
        own: set[str] = set()
        for at_ns, text in islice(boot.log, first if member == logs[0] else 0, None):
            if len(logs) > 1:
                words = split_line(text)[1]
                if words in known:
                    continue
                own.add(words)
            points.append(Point(at_ns if steady else way.at(at_ns), text, "line", error_ns))
        known |= own
    return points
