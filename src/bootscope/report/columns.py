# SPDX-License-Identifier: Apache-2.0
"""A trace as columns of numbers for the report's page: small to transfer, fast to read.

Starts are differences from the previous span, texts are numbers in one table, details are a shape (the
labels) with the values of all spans in one row. A label of the shape begins with `#` if its value is a number
and with `$` if it is the number of a text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from bootscope.export.collapsed import in_order
from bootscope.export.lanes import MAX_DEPTH, ordered
from bootscope.export.text import MAX_KEY, plain
from bootscope.timeline.trace import Point, Span, Stack, StackAt, Trace, Track

_SAFE_INT = (1 << 53) - 1


class Texts:
    """One table of all texts, made safe for pages and terminals."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self._seen: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The number of a text."""
        if text not in self._seen:
            self._seen[text] = self.numbers.setdefault(plain(text), len(self.numbers))
        return self._seen[text]


def columns(trace: Trace, shared: Texts | None = None) -> dict[str, object]:
    """The data of a trace. Times are nanoseconds from `origin_ns`, which is 0 for nearly all traces.

    With texts that are `shared` with other boots, the data lacks them: the page contains them once.
    """
    texts = Texts() if shared is None else shared
    tracks = [*trace.tracks, *_moments(trace.points)]
    ends = [s.end_ns for t in tracks for s in t.spans]
    starts = [s.start_ns for t in tracks for s in t.spans]
    # JavaScript's numbers are exact up to 2**53, and the page begins at zero.
    origin = min(starts, default=0)
    if origin >= 0 and max(ends, default=0) <= _SAFE_INT:
        origin = 0
    return {
        "total_ns": min(_SAFE_INT, max([trace.total_ns, *ends]) - origin),
        "origin_ns": str(origin) if origin else "",
        "milestones": [[plain(name), _safe(at - origin)] for name, at in trace.milestones().items()],
        "tracks": [_track(track, texts, origin) for track in tracks],
        "flame": _flame(in_order(trace), texts, trace.sampled, origin),
        **({"stalls": _flame(trace.stalls, texts, (), origin)} if trace.stalls else {}),
        **({"texts": list(texts.numbers)} if shared is None else {}),
    }


def _safe(value: int) -> int:
    return min(max(value, -_SAFE_INT), _SAFE_INT)


def _moments(points: Iterable[Point]) -> list[Track]:
    """Tracks of points in time; milestones are drawn over all tracks instead."""
    kinds: dict[str, list[Span]] = defaultdict(list)
    for p in points:
        if p.kind != "milestone":
            detail = {"error_ns": p.error_ns} if p.error_ns else {}
            kinds[p.kind].append(Span(p.at_ns, p.at_ns, p.name, detail))
    return [Track(f"points {kind}", kind, f"{kind}s", tuple(spans)) for kind, spans in kinds.items()]


def _track(track: Track, texts: Texts, origin: int) -> dict[str, object]:
    spans = ordered(track.spans)
    starts = [_safe(span.start_ns - origin) for span in spans]
    names: list[int] = []
    details = _Details(texts)
    for span in spans:
        names.append(texts.number(span.name))
        details.add(span.detail)
    return {
        "id": plain(track.ident),
        "kind": plain(track.kind, MAX_KEY),
        "title": plain(track.title, MAX_KEY),
        "parent": plain(track.parent) if track.parent else "",
        "overlaps": track.overlaps,
        "start": [start - before for before, start in pairwise([0, *starts])],
        "length": [_safe(s.end_ns - origin) - start for s, start in zip(spans, starts, strict=True)],
        "name": names,
        **details.columns(),
    }


class _Details:
    """The details of a track's spans. Most have the same shape, which is stored once."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._shapes: dict[tuple[str, ...], int] = {}
        self._shape: list[int] = []
        self._values: list[int] = []

    def add(self, detail: Mapping[str, str | int]) -> None:
        """Adds the details of the next span."""
        labels: list[str] = []
        for label, value in detail.items():
            fits = isinstance(value, int) and abs(value) <= _SAFE_INT
            labels.append(("#" if fits else "$") + plain(label, MAX_KEY))
            self._values.append(int(value) if fits else self._texts.number(str(value)))
        self._shape.append(self._shapes.setdefault(tuple(labels), len(self._shapes)))

    def columns(self) -> dict[str, object]:
        """The data for the page."""
        shape = self._shape if len(self._shapes) > 1 else []
        return {"shapes": list(self._shapes), "shape": shape, "values": self._values}


def _flame(
    stacks: Iterable[Stack], texts: Texts, sampled: Sequence[StackAt], origin: int
) -> dict[str, object]:
    """The stacks as one tree: each node's parent (-1: none), name and own time, parents first; and the times
    of the samples in them."""
    known: dict[tuple[int, int], int] = {}
    parents: list[int] = []
    names: list[int] = []
    own: list[int] = []
    for stack in stacks:
        at = -1
        for frame in stack.frames[:MAX_DEPTH]:
            key = (at, texts.number(frame))
            if key not in known:
                known[key] = len(parents)
                parents.append(at)
                names.append(key[1])
                own.append(0)
            at = known[key]
        if at >= 0:
            own[at] += max(0, min(stack.ns, _SAFE_INT))
    return {"parent": parents, "name": names, "self": own, "samples": _samples(sampled, known, texts, origin)}


def _samples(
    sampled: Sequence[StackAt], known: Mapping[tuple[int, int], int], texts: Texts, origin: int
) -> dict[str, list[int]] | None:
    """Samples as stretches of one node each: start (relative to the previous start), length, node.

    A sample stands for the time until the next one, but at most for twice the usual interval: where samples
    are missing, no code ran.
    """
    if len(sampled) < 2:
        return None
    moments = [_safe(sample.at_ns - origin) for sample in sampled]
    usual_ns = sorted(b - a for a, b in pairwise(moments))[(len(moments) - 1) // 2]
    starts, lengths, nodes = [0], [0], [-1]
    for sample, (at_ns, next_ns) in zip(sampled, pairwise([*moments, moments[-1] + usual_ns]), strict=True):
        node = -1
        for frame in sample.frames[:MAX_DEPTH]:
            node = known.get((node, texts.number(frame)), -1)
        length = min(next_ns - at_ns, 2 * usual_ns)
        if node == nodes[-1] and at_ns == starts[-1] + lengths[-1]:
            lengths[-1] += length
        else:
            starts.append(at_ns)
            lengths.append(length)
            nodes.append(node)
    deltas = [start - before for before, start in pairwise(starts)]
    return {"start": deltas, "length": lengths[1:], "node": nodes[1:]}
