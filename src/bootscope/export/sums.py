# SPDX-License-Identifier: Apache-2.0
"""The few figures of a trace that summaries and metrics show."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from bootscope.analysis.compare import SPLIT
from bootscope.timeline.trace import LENGTH, Span, Trace


def phases(trace: Trace) -> dict[str, int]:
    """Phase -> ns, in order of time; stretches with the same name are added up."""
    return _by_name(trace.spans("phase"))


def known_phases(trace: Trace) -> dict[str, int]:
    """:func:`phases` without those whose length is only a bound."""
    return _by_name(span for span in trace.spans("phase") if LENGTH not in span.detail)


def _by_name(spans: Iterable[Span]) -> dict[str, int]:
    sums: dict[str, int] = defaultdict(int)
    for span in spans:
        sums[span.name] += max(0, span.duration_ns)
    return dict(sums)


_WHOLE = ("phase", "path", "spent")


def spent(trace: Trace) -> dict[str, int]:
    """What the boot's time went into (cpu, storage, console, idle, fixed) -> ns, adding up to the whole.

    Empty if the phases lack this.
    """
    sums: dict[str, int] = defaultdict(int)
    for span in trace.spans("phase"):
        for kind in SPLIT:
            value = span.detail.get(kind)
            if isinstance(value, int):
                sums[kind.removesuffix("_ns")] += value
    return dict(sums)


def busy(trace: Trace) -> dict[str, int]:
    """Kind of track -> ns in which at least one span of that kind was open.

    Phases, the critical path and what the time went into are left out: each of them covers the whole boot.
    """
    kinds = dict.fromkeys(track.kind for track in trace.tracks)
    return {kind: covered(trace.spans(kind)) for kind in kinds if kind not in _WHOLE}


def covered(spans: Iterable[Span]) -> int:
    """The total length of all spans in ns; overlaps count once."""
    total, reached = 0, None
    for span in sorted(spans, key=lambda s: s.start_ns):
        start = span.start_ns if reached is None else max(span.start_ns, reached)
        if span.end_ns > start:
            total += span.end_ns - start
            reached = span.end_ns
    return total


def longest(trace: Trace, kind: str, top: int) -> list[tuple[str, int]]:
    """The names of that kind of track that took the most time, with that time in ns."""
    sums = [(name, ns) for name, ns in _by_name(trace.spans(kind)).items() if ns]
    return sorted(sums, key=lambda item: (-item[1], item[0]))[:top]
