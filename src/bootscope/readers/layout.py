# SPDX-License-Identifier: Apache-2.0
"""Spans to tracks: in order, nested where they nest, and said so where they do not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from operator import attrgetter
from typing import TypeVar

from bootscope.timeline.trace import Span, Track

T = TypeVar("T")
_START, _END = attrgetter("start_ns"), attrgetter("end_ns")


def track(
    ident: str, kind: str, title: str, spans: list[Span], *, parent: str = "", slack_ns: int = 0
) -> Track:
    """A track of `spans` in the order that tracks promise.

    Stamps are often cut to microseconds while lengths are not: a span that ends inside the next one by
    no more than `slack_ns` is cut to end where that begins.
    """
    placed, overlaps = ordered(spans), False
    if any(one.end_ns > following.start_ns for one, following in pairwise(placed)):
        placed, overlaps = _fitted(placed, slack_ns)
    return Track(ident, kind, title, tuple(placed), overlaps, parent)


def ordered(spans: Iterable[Span]) -> list[Span]:
    """Spans by their start, the longest of those that start together first."""
    # Sorted twice by a plain number, which spans nearly are already, not once by a pair made for each.
    found = sorted(spans, key=_END, reverse=True)
    found.sort(key=_START)
    return found


def ended(open_calls: list[T], fits: Callable[[T], bool]) -> T | None:
    """Takes the innermost open call that fits, with those inside it, which never ended; None for none. It
    looks at the last 64."""
    for depth in reversed(range(max(0, len(open_calls) - 64), len(open_calls))):
        if fits(open_calls[depth]):
            found = open_calls[depth]
            del open_calls[depth:]
            return found
    return None


def _fitted(spans: list[Span], slack_ns: int) -> tuple[list[Span], bool]:
    placed: list[Span] = []
    open_at: list[int] = []  # indexes into `placed` of the spans that the next one may lie in
    overlaps = False
    for index, span in enumerate(spans):
        start_ns, end_ns = span.start_ns, span.end_ns
        while open_at:
            above = placed[open_at[-1]]
            above_ns = above.end_ns
            if above_ns <= start_ns:
                open_at.pop()
            elif above_ns >= end_ns:
                break
            elif above_ns - start_ns <= slack_ns:
                placed[open_at.pop()] = _until(above, start_ns)
            elif end_ns - above_ns <= slack_ns:
                span = _until(span, above_ns)
                break
            else:
                overlaps = True
                open_at.pop()
        placed.append(span)
        open_at.append(index)
    return placed, overlaps


def _until(span: Span, end_ns: int) -> Span:
    return Span(span.start_ns, end_ns, span.name, span.detail)
