# SPDX-License-Identifier: Apache-2.0
"""Spans to tracks: in order, nested where they nest, and said so where they do not."""

from __future__ import annotations

from bootscope.timeline.trace import Span, Track


def track(
    ident: str, kind: str, title: str, spans: list[Span], *, parent: str = "", slack_ns: int = 0
) -> Track:
    """A track of `spans` in the order that tracks promise.

    Stamps are often cut to microseconds while lengths are not: a span that ends inside the next one by
    no more than `slack_ns` is cut to end where that begins.
    """
    ordered = sorted(spans, key=lambda s: (s.start_ns, -s.end_ns))
    placed, overlaps = _fitted(ordered, slack_ns)
    return Track(ident, kind, title, tuple(placed), overlaps, parent)


def _fitted(ordered: list[Span], slack_ns: int) -> tuple[list[Span], bool]:
    placed: list[Span] = []
    open_at: list[int] = []  # indexes into `placed` of the spans that the next one may lie in
    overlaps = False
    for span in ordered:
        end_ns = span.end_ns
        while open_at:
            above = placed[open_at[-1]]
            if above.end_ns <= span.start_ns:
                open_at.pop()
            elif above.end_ns >= end_ns:
                break
            elif above.end_ns - span.start_ns <= slack_ns:
                placed[open_at.pop()] = _until(above, span.start_ns)
            elif end_ns - above.end_ns <= slack_ns:
                end_ns = above.end_ns
                break
            else:
                overlaps = True
                open_at.pop()
        placed.append(span if end_ns == span.end_ns else _until(span, end_ns))
        open_at.append(len(placed) - 1)
    return placed, overlaps


def _until(span: Span, end_ns: int) -> Span:
    return Span(span.start_ns, end_ns, span.name, span.detail)
