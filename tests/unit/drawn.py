# SPDX-License-Identifier: Apache-2.0
"""What the tests of pictures draw, and what they see of a picture."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass, replace

from bootscope.analysis.rows import Rows
from bootscope.analysis.samples import of_traces
from bootscope.analysis.trace_rows import rows_of_trace
from bootscope.pictures.draw import picture
from bootscope.pictures.subject import Boot, Subject
from bootscope.pictures.theme import LIGHT, Theme
from bootscope.timeline.trace import LENGTH, NOT_KNOWN, OR_LESS, OR_MORE, Point, Span, Trace, Track

S, MS = 10**9, 10**6
NAMESPACE = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Seen:
    """A picture: its texts, its <title>s, the fills of its bars, its size in pixels and in bytes."""

    texts: list[str]
    titles: list[str]
    fills: list[str]
    width: int
    height: int
    size: int


def see(svg: str) -> Seen:
    """Reads a picture back; fails where it is no well-formed XML."""
    root = ET.fromstring(svg)
    texts = [
        ("".join(t.itertext()) if len(t) == 0 else t[0].tail or "") for t in root.iter(f"{NAMESPACE}text")
    ]
    titles = [t.text or "" for t in root.iter(f"{NAMESPACE}title")]
    fills = [r.get("fill") or "" for r in root.iter(f"{NAMESPACE}rect")]
    return Seen(texts, titles, fills, int(root.get("width", "0")), int(root.get("height", "0")), len(svg))


def boot(trace: Trace, boot_id: str = "20260102-030405-board/001", until: str = "") -> Boot:
    """A boot of which there is this trace."""

    def tables(name: str) -> tuple[Rows, ...]:
        return rows_of_trace(name, trace)

    return Boot(boot_id, trace.title, trace, tables, until)


def drawn(view: str | None, *boots: Boot, theme: Theme = LIGHT, width: int | None = None) -> Seen:
    """The picture of boots, read back."""
    return see(picture(Subject(boots), theme, view, width).svg)


def phases(*lengths: tuple[str, int], total: int | None = None, title: str = "board.log") -> Trace:
    """A boot of phases, each with its length in ms."""
    spans, at = [], 0
    for name, ms in lengths:
        spans.append(Span(at, at + ms * MS, name))
        at += ms * MS
    track = Track("phases", "phase", "phases", tuple(spans))
    points = (Point(at, "app-ready", "milestone"),)
    return Trace(title, "host clock", at if total is None else total, (track,), points)


BOUNDED = replace(
    phases(("spl", 500), ("kernel", 1000), ("init", 200)),
    total_or_later=True,
    tracks=(
        Track(
            "p",
            "phase",
            "phases",
            (
                Span(0, 500 * MS, "spl", {LENGTH: OR_LESS}),
                Span(500 * MS, 1500 * MS, "kernel", {LENGTH: NOT_KNOWN}),
                Span(1500 * MS, 1700 * MS, "init", {LENGTH: OR_MORE}),
            ),
        ),
    ),
)
"""A boot of whose phases only bounds are known."""


def run(name: str, *totals_ms: int) -> Boot:
    """A run of boots that took so many ms."""
    traces = [(f"{name}/{n:03}", phases(("kernel", ms), title=name)) for n, ms in enumerate(totals_ms, 1)]
    boots = of_traces(name, traces, "app-ready")
    return replace(boot(traces[0][1], f"{name}/001", "app-ready"), boots=boots)
