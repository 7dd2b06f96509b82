# SPDX-License-Identifier: Apache-2.0
"""Chrome's trace events in JSON: complete events, one thread per row, instants, names and order.

Times are microseconds with three decimals, written exactly. Viewers take the events of a thread as
calls, so a track whose spans overlap in part is spread over several threads.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from bootscope.export.base import Subject
from bootscope.export.lanes import lanes
from bootscope.export.text import MAX_KEY, decimal, plain
from bootscope.timeline.trace import Point, Span, Track

BOOT, PROCESSES, MOMENTS = 1, 2, 3
_GROUPS = {BOOT: "boot", PROCESSES: "processes", MOMENTS: "moments"}
_SAFE_INT = (1 << 53) - 1


def _us(ns: int) -> msgspec.Raw:
    return msgspec.Raw(decimal(ns, 3).encode())


def _value(value: str | int) -> str | int:
    """A detail; JavaScript would round too large a number, so that is written as text."""
    if isinstance(value, int):
        return value if abs(value) <= _SAFE_INT else str(value)
    return plain(value)


def _meta(pid: int, tid: int, what: str, **args: object) -> dict[str, object]:
    return {"ph": "M", "pid": pid, "tid": tid, "name": what, "args": args}


def _complete(pid: int, tid: int, kind: str, span: Span) -> dict[str, object]:
    return {
        "ph": "X",
        "pid": pid,
        "tid": tid,
        "ts": _us(span.start_ns),
        "dur": _us(span.duration_ns),
        "name": plain(span.name),
        "cat": plain(kind, MAX_KEY),
        "args": {plain(label, MAX_KEY): _value(value) for label, value in span.detail.items()},
    }


def _instant(tid: int, point: Point) -> dict[str, object]:
    return {
        "ph": "i",
        "pid": MOMENTS,
        "tid": tid,
        "ts": _us(point.at_ns),
        "s": "g" if point.kind == "milestone" else "t",
        "name": plain(point.name),
        "cat": plain(point.kind, MAX_KEY),
        "args": {"error_ns": point.error_ns} if point.error_ns else {},
    }


def _rows(tracks: tuple[Track, ...]) -> Iterator[dict[str, object]]:
    tid = 0
    for track in tracks:
        pid = PROCESSES if track.kind == "process" else BOOT
        for index, lane in enumerate(lanes(track)):
            tid += 1
            title = plain(track.title) + (f" ({index + 1})" if index else "")
            yield _meta(pid, tid, "thread_name", name=title)
            yield _meta(pid, tid, "thread_sort_index", sort_index=tid)
            yield from (_complete(pid, tid, track.kind, span) for span in lane)


def _moments(points: tuple[Point, ...]) -> Iterator[dict[str, object]]:
    for tid, kind in enumerate(dict.fromkeys(point.kind for point in points), start=1):
        yield _meta(MOMENTS, tid, "thread_name", name=plain(f"{kind}s", MAX_KEY))
        yield from (_instant(tid, point) for point in points if point.kind == kind)


def make(subject: Subject) -> bytes:
    """The bytes of a trace for chrome://tracing."""
    trace = subject.trace
    events: list[dict[str, object]] = []
    for pid, name in _GROUPS.items():
        events.append(_meta(pid, 0, "process_name", name=name))
        events.append(_meta(pid, 0, "process_sort_index", sort_index=pid))
    events += _rows(trace.tracks)
    events += _moments(trace.points)
    about = {
        "title": plain(trace.title),
        "clock": plain(trace.clock),
        "failure": plain(subject.failure),
        "notes": [plain(note) for note in trace.notes],
        **{plain(k, MAX_KEY): plain(v) for k, v in subject.facts.items()},
    }
    document = {"traceEvents": events, "displayTimeUnit": "ns", "otherData": about}
    return msgspec.json.encode(document) + b"\n"
