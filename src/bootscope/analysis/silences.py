# SPDX-License-Identifier: Apache-2.0
"""The stretches in which the console was silent: where to look first on a chatty system."""

from __future__ import annotations

import heapq
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count, islice, pairwise
from operator import sub
from typing import TYPE_CHECKING

from bootscope.timeline.model import Timeline

if TYPE_CHECKING:
    # An index needs nothing of what makes its content, and loading that takes longer than reading the index.
    from bootscope.analysis.gaps import Reason
    from bootscope.importing.files import Understood
    from bootscope.timeline.trace import Trace


@dataclass(frozen=True, slots=True)
class Silence:
    """Nothing was printed from `start_ns` to `end_ns`; `before` and `after` are the lines around."""

    start_ns: int
    end_ns: int
    before: bytes
    after: bytes

    @property
    def duration_ns(self) -> int:
        """Length in nanoseconds."""
        return self.end_ns - self.start_ns

    @property
    def reason(self) -> Reason | None:
        """What usually happens in such a gap; None if unknown."""
        from bootscope.analysis.gaps import reason
        from bootscope.readers.markers import split_line

        before, after = (split_line(line.decode("utf-8", "replace"))[1] for line in (self.before, self.after))
        return reason(before, after, self.duration_ns)


def silences(tl: Timeline, top: int = 5) -> list[Silence]:
    """The longest `top` silences, longest first; the ones before the first and after the last line count."""
    found: list[Silence] = []
    end_ns, before = 0, b"(power-on)"
    for line in tl.lines:
        found.append(Silence(end_ns, line.start_ns, before, line.data))
        end_ns, before = line.end_ns, line.data or before
    found.append(Silence(end_ns, tl.total_ns, before, b"(end of the recording)"))
    return sorted(found, key=lambda s: -s.duration_ns)[:top]


def quiet(u: Understood, number: int, trace: Trace, top: int) -> list[Silence]:
    """The longest silences of an imported boot's console until its end, longest first, from stamp to stamp,
    since a line has only one moment. None without a log or a clock. Left out: silences of one clock step or
    less, which may be next to nothing; those before the boot's own lines, including the one that ends with
    the first of them if what came before is lost."""
    log, way = u.log(number, trace.other_ns)
    if not len(log) or not trace.timed or trace.running:
        return []

    def said(index: int) -> bytes:
        return log.text(index).encode("utf-8", "backslashreplace")

    # If a boot ends before its log, there is no silence after its end.
    stamps = log.at_ns[: max(1, bisect_right(log.at_ns, way.inverse().at(trace.total_ns)))]
    begins = bisect_left(stamps, way.inverse().at(trace.begins_ns))
    first = min(begins, len(stamps) - 1) if trace.begins_ns or trace.other_ns else 0
    last = len(stamps) - 1
    # Only the stamps are compared, since a log may have a million lines.
    gaps = zip(
        map(sub, islice(stamps, first + 1, None), islice(stamps, first, None)),
        count(-first, -1),
        strict=False,
    )
    found = [
        Silence(way.at(stamps[-at]), way.at(stamps[-at + 1]), said(-at), said(-at + 1))
        for _, at in heapq.nlargest(top, gaps)
    ]
    if not trace.begins_ns:
        found.append(Silence(0, way.at(stamps[first]), b"(start)", said(first)))
    found.append(Silence(way.at(stamps[-1]), trace.total_ns, said(last), b"(end)"))
    step_ns = u.step_ns(number)
    return _longest((s for s in found if s.duration_ns > step_ns), top)


def silences_of_trace(trace: Trace, top: int = 5) -> list[Silence]:
    """The longest silences between the console lines of a trace, until its end."""
    points = sorted((p for p in trace.points if p.kind == "line"), key=lambda p: p.at_ns)
    lines = [
        (p.at_ns, p.name.encode("utf-8", "backslashreplace")) for p in points if p.at_ns <= trace.total_ns
    ]
    return _longest((Silence(a, b, said, then) for (a, said), (b, then) in pairwise(lines)), top)


def _longest(found: Iterable[Silence], top: int) -> list[Silence]:
    return heapq.nsmallest(top, (s for s in found if s.duration_ns > 0), key=lambda s: -s.duration_ns)
