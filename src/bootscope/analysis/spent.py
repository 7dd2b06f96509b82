# SPDX-License-Identifier: Apache-2.0
"""How each moment of a boot was spent: CPU, storage, console, sleep or a constant, in order of time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from bootscope.analysis.evidence import Evidence
from bootscope.timeline.trace import Span

_CLOSE_NS = 1_000
"""Waits for the serial line this close to each other are merged; the CPU time in between is stated."""

Piece = tuple[int, int, str]


def spans(evidence: Evidence) -> tuple[Span, ...]:
    """The whole boot in stretches without gaps between them, none across the border of two phases.

    A stretch is called `cpu`, `storage`, `console`, `idle` or `fixed`; its detail `cpu_ns` is the CPU time
    inside it. Without that, lengths add up to the figures of the phases to the nanosecond.
    """
    cuts = sorted({ns for p in evidence.timeline.phases for ns in (p.start_ns, p.end_ns)})
    end_ns = evidence.timeline.total_ns
    return tuple(_joined(_filled(_cut(sorted(_pieces(evidence)), cuts), cuts, end_ns)))


def _pieces(evidence: Evidence) -> Iterator[Piece]:
    """Everything but the CPU, uncut."""
    clock = evidence.clock
    yield 0, evidence.run.board.power_on_ns.value, "fixed"
    for cost in evidence.costs:
        if cost.ns:
            yield clock.before(cost.index), clock.after(cost.index), cost.kind
    for sleep in evidence.timeline.sleeps:
        yield sleep.start_ns, sleep.end_ns, "idle"


def _cut(pieces: Iterable[Piece], cuts: list[int]) -> Iterator[Piece]:
    """The same, cut where phases begin."""
    for start, end, kind in pieces:
        inside = [ns for ns in cuts if start < ns < end]
        yield from ((a, b, kind) for a, b in pairwise((start, *inside, end)))


def _filled(pieces: Iterable[Piece], cuts: list[int], end_ns: int) -> Iterator[Piece]:
    """The same with the CPU's stretches in between, also cut."""
    at_ns = 0
    for start, end, kind in (*pieces, (end_ns, end_ns, "")):
        if start > at_ns:
            yield from _cut([(at_ns, start, "cpu")], cuts)
        if end > start:
            yield start, end, kind
        at_ns = max(at_ns, end)


def _joined(pieces: Iterable[Piece]) -> Iterator[Span]:
    """The same with neighbouring waits for the line merged."""
    kept: list[Piece] = []
    for piece in pieces:
        short_cpu = piece[2] == "cpu" and piece[1] - piece[0] <= _CLOSE_NS
        if kept and kept[0][2] == "console" and (piece[2] == "console" or short_cpu):
            kept.append(piece)
            continue
        yield from _span(kept)
        kept = [piece]
    yield from _span(kept)


def _span(pieces: list[Piece]) -> Iterator[Span]:
    """Pieces of one wait as one span; what follows its last part stays separate."""
    if not pieces:
        return
    kind = pieces[0][2]
    last = max(at for at, piece in enumerate(pieces) if piece[2] == kind)
    cpu_ns = sum(end - start for start, end, of in pieces[:last] if of != kind)
    yield Span(pieces[0][0], pieces[last][1], kind, {"cpu_ns": cpu_ns} if cpu_ns else {})
    yield from (Span(start, end, of) for start, end, of in pieces[last + 1 :])
