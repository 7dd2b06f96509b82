# SPDX-License-Identifier: Apache-2.0
"""The phases of a boot in order of time, with what their time went into."""

from __future__ import annotations

from collections.abc import Iterator

from bootscope.analysis.compare import SPLIT
from bootscope.core.errors import UserError
from bootscope.core.text import seconds
from bootscope.export import sums
from bootscope.export.text import plain
from bootscope.pictures import gantt, sheet
from bootscope.pictures.canvas import Canvas
from bootscope.pictures.subject import Boot
from bootscope.report.phase_lengths import length_words, share_words
from bootscope.timeline.trace import LENGTH, Span, Trace

KINDS = tuple(key.removesuffix("_ns") for key in SPLIT)
MOST = 24
HEADS = ("length s", "share")


def draw(canvas: Canvas, boot: Boot) -> list[str]:
    """Draws a row for each phase; returns the notes to put below. Raises UserError if there are none."""
    spans = boot.trace.spans("phase") if boot.trace.timed else []
    if not spans:
        raise UserError(
            "this boot has no phases with times: its log has none, or has no clock",
            hint="--view timeline or --view units draws what other logs tell",
        )
    shown = longest(spans)
    split = sums.spent(boot.trace)
    rows = [_row(s, boot.trace, bool(split)) for s in shown]
    low, high = min(s.start_ns for s in spans), max(s.end_ns for s in spans)
    gantt.draw(canvas, rows, low, high, HEADS, marks(boot.trace, low, high))
    if split:
        sheet.legend(canvas, [(kind, f"{kind} {seconds(split[kind])} s") for kind in KINDS if split[kind]])
    return list(_notes(boot, len(spans) - len(shown), bool(split)))


def longest(spans: list[Span]) -> list[Span]:
    """The longest phases in order of time; all of them if they fit into a picture."""
    ranked = sorted(range(len(spans)), key=lambda at: -spans[at].duration_ns)[:MOST]
    return [spans[at] for at in sorted(ranked)]


def marks(trace: Trace, low_ns: int, high_ns: int) -> list[gantt.Mark]:
    """The milestones in a stretch of time, except those that begin a phase or are at its end."""
    starts = {s.start_ns for s in trace.spans("phase")}
    names = {s.name for s in trace.spans("phase")}
    later = trace.earliest()
    return [
        gantt.Mark(ns, f"{plain(name, 60)}{' or later' if name in later else ''}")
        for name, ns in trace.milestones().items()
        if low_ns <= ns < high_ns and ns not in starts and name not in names
    ][:MOST]


def _row(span: Span, trace: Trace, split: bool) -> gantt.Row:
    bound = str(span.detail.get(LENGTH, ""))
    length, share = length_words(span), share_words(span.duration_ns, None if bound else trace.known_total_ns)
    about = f"{plain(span.name)}: {length} s, {share}"
    parts = tuple(_parts(span, about)) if split else ()
    whole = (gantt.Part(span.start_ns, span.end_ns, "phase", about, bound),)
    return gantt.Row(plain(span.name), parts or whole, (length, share))


def _parts(span: Span, about: str) -> Iterator[gantt.Part]:
    """What the time of a phase went into, part after part."""
    at_ns = span.start_ns
    for kind in KINDS:
        length = span.detail.get(f"{kind}_ns")
        if isinstance(length, int) and length > 0:
            yield gantt.Part(at_ns, at_ns + length, kind, f"{about}; {kind} {seconds(length)} s")
            at_ns += length


def _notes(boot: Boot, left_out: int, split: bool) -> Iterator[str]:
    if left_out:
        yield f"{left_out} shorter phases are not drawn"
    if split:
        yield "within a phase, colours are shares, not the order of time"
    yield boot.clock
