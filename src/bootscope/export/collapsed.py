# SPDX-License-Identifier: Apache-2.0
"""Collapsed stacks: one line per call path, frames joined by semicolons, then its time in nanoseconds."""

from __future__ import annotations

from collections import defaultdict

from bootscope.export.base import Subject
from bootscope.export.lanes import MAX_DEPTH, self_times
from bootscope.export.text import plain
from bootscope.timeline.trace import Stack, Trace


def _frame(name: str) -> str:
    """A name without characters that would end its frame or the line."""
    return plain(name).replace(";", ",").strip() or "?"


def in_order(trace: Trace) -> list[Stack]:
    """The stacks phase by phase in order of time, within a phase by their frames."""
    places: dict[str, int] = {}
    phases = (span.name for span in trace.spans("phase"))
    for name in (*phases, *(stack.frames[0] for stack in trace.stacks if stack.frames)):
        places.setdefault(name, len(places))
    return sorted(trace.stacks, key=lambda s: (places[s.frames[0]] if s.frames else -1, s.frames))


def call_paths(trace: Trace) -> dict[tuple[str, ...], int]:
    """Path, outermost first -> ns: the trace's stacks, or the nesting of its tracks if it has none."""
    if not trace.stacks:
        return self_times(trace.tracks)
    sums: dict[tuple[str, ...], int] = defaultdict(int)
    for stack in trace.stacks:
        sums[stack.frames[:MAX_DEPTH]] += stack.ns
    return dict(sums)


def make(subject: Subject) -> bytes:
    """The bytes of a .folded file."""
    sums: dict[str, int] = defaultdict(int)
    for path, ns in call_paths(subject.trace).items():
        sums[";".join(_frame(name) for name in path) or "?"] += ns
    return "".join(f"{path} {ns}\n" for path, ns in sorted(sums.items()) if ns > 0).encode()
