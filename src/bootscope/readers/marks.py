# SPDX-License-Identifier: Apache-2.0
"""Marks of a firmware, one after the other, as a boot: a point for each, and what lies between them."""

from __future__ import annotations

from itertools import pairwise

from bootscope.readers.base import Boot
from bootscope.readers.layout import track
from bootscope.readers.tally import Tally
from bootscope.timeline.trace import Point, Span


def place_marks(
    boot: Boot, marks: list[tuple[int, str]], ident: str, title: str, tally: Tally | None = None
) -> None:
    """Adds `marks`, (ns, name) in the order in which they were made, to `boot`, with a row called `title`."""
    boot.points += [Point(at_ns, name) for at_ns, name in marks]
    if tally:
        for number, ((before_ns, _), (at_ns, _)) in enumerate(pairwise(marks), 2):
            if at_ns < before_ns:
                tally.repair("the clock went back", number)
    spans = [
        Span(at_ns, end_ns, f"{name} to {after}")
        for (at_ns, name), (end_ns, after) in pairwise(marks)
        if end_ns >= at_ns
    ]
    if spans:
        boot.tracks.append(track(ident, "phase", title, spans))
