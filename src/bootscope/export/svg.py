# SPDX-License-Identifier: Apache-2.0
"""The boot as one picture in the style of bootchart: phases, devices, then a row for each process.

A standalone SVG: no script, no font, nothing fetched; light or dark by the reader's setting. Spans closer
together than a pixel are drawn as one bar, so the file's size is bounded by the pixels, however long the
trace is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from xml.sax.saxutils import escape

from bootscope.core.text import seconds, span
from bootscope.export.base import Subject
from bootscope.export.lanes import ordered
from bootscope.export.text import plain
from bootscope.timeline.trace import Span, Trace, Track

WIDTH, LEFT, RIGHT = 1200, 150, 20
TOP, STRIP, ROW, GAP = 92, 22, 14, 4
MAX_PROCESSES = 200
MAX_LANES = 16
_BEFORE = ("storage", "console", "cpu", "path", "wait", "irq", "pin")
_AFTER = ("initcall", "probe", "service", "function", "other")
# States of processes, as opposed to programs that are called `sleep`.
_WAITING = re.compile(r"(waiting|sleeping|asleep|blocked|idle|stopped|ready)\b", re.IGNORECASE)
STYLE = """
  text { font: 11px system-ui, sans-serif; fill: #1d2430; }
  .paper { fill: #fbfbf9; } .big { font-size: 17px; font-weight: 600; } .quiet { fill: #68717f; }
  .grid { stroke: #d9dce1; } .mark { stroke: #1f7a4d; stroke-width: 1.5; } .mark-name { fill: #1f7a4d; }
  .phase { fill: #dfe6f0; stroke: #fbfbf9; } .phase.odd { fill: #cbd5e4; }
  .cpu, .path, .process, .function { fill: #3b6fb6; } .storage, .waiting-disk { fill: #a33f8f; }
  .console { fill: #d99a1c; } .wait, .waiting { fill: #aab2bd; } .irq, .pin { fill: #1f7a4d; }
  .open { fill: none; stroke: #d99a1c; }
  .initcall, .service { fill: #2f8f9d; } .probe { fill: #7a5fb0; } .other { fill: #6b7280; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6e9ee; } .paper { fill: #14181f; } .quiet { fill: #98a2b0; }
    .grid { stroke: #313843; } .mark { stroke: #5cc08f; } .mark-name { fill: #5cc08f; }
    .phase { fill: #2a3444; stroke: #14181f; } .phase.odd { fill: #364359; }
    .cpu, .path, .process, .function { fill: #6d9ee0; } .storage, .waiting-disk { fill: #cf7cbf; }
    .console { fill: #e6b450; } .wait, .waiting { fill: #5b6675; } .irq, .pin { fill: #5cc08f; }
    .open { stroke: #e6b450; }
    .initcall, .service { fill: #5ab8c5; } .probe { fill: #a68fd6; } .other { fill: #8b95a3; }
  }
"""


@dataclass(frozen=True, slots=True)
class Bar:
    """The bar for one span, or for several that are too close together to be told apart."""

    x: float
    end: float
    kind: str
    span: Span
    count: int = 1


@dataclass
class _Canvas:
    """The elements so far, and how far down the picture reaches."""

    start_ns: int
    end_ns: int
    y: float = TOP
    out: list[str] = field(default_factory=list)

    def x(self, at_ns: int) -> float:
        """The position of a time."""
        share = (at_ns - self.start_ns) / max(1, self.end_ns - self.start_ns)
        return LEFT + min(1.0, max(0.0, share)) * (WIDTH - LEFT - RIGHT)

    def text(self, x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> None:
        """A text; `words` may come from anywhere."""
        self.out.append(
            f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{_xml(words)}</text>'
        )

    def rect(self, x: float, y: float, width: float, height: float, kind: str, title: str) -> None:
        """A bar that shows its title when the pointer is on it."""
        at = f'x="{x:.1f}" y="{y:.1f}" width="{max(0.6, width):.1f}" height="{height:.1f}"'
        self.out.append(f'<rect {at} class="{kind}"><title>{_xml(title)}</title></rect>')

    def line(self, x: float, top: float, bottom: float, kind: str) -> None:
        """A vertical line."""
        self.out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top:.1f}" y2="{bottom:.1f}" class="{kind}"/>')


def _xml(words: str) -> str:
    return escape(plain(words, 200), {'"': "&quot;"})


def about(bar: Bar) -> str:
    """What a bar stands for, in words."""
    if bar.count > 1:
        return f"{bar.count} spans, the first: {bar.span.name}"
    return f"{bar.span.name}: {span(bar.span.duration_ns)} from {seconds(bar.span.start_ns, 6)} s"


def bars(place: Callable[[int], float], track: Track) -> list[Bar]:
    """The bars of a track in one row, in order; small ones closer than half a pixel are merged.
    `place` maps a time to a position in pixels."""
    found: list[Bar] = []
    for s in ordered(track.spans):
        bar = Bar(place(s.start_ns), place(s.end_ns), kind_of(track, s), s)
        last = found[-1] if found else None
        if last and bar.end <= last.end and last.count == 1 and last.end - last.x > 1:
            continue  # a span within one that is drawn already
        if last and bar.x - last.end < 0.5 and (bar.kind == last.kind or bar.end - bar.x < 0.5):
            small = bar.end - bar.x < 1 or last.end - last.x < 1
            if small:
                found[-1] = Bar(last.x, max(last.end, bar.end), last.kind, last.span, last.count + 1)
                continue
        found.append(bar)
    return found


def kind_of(track: Track, s: Span) -> str:
    """The class of a span's colour; a waiting process or path is drawn as waiting."""
    if track.kind == "path":
        return "path" if s.detail.get("how") == "runs" else "waiting"
    if track.kind != "process":
        return track.kind if track.kind in (*_BEFORE, *_AFTER) else "other"
    state = str(s.detail.get("state", s.name))
    if not _WAITING.match(state):
        return "process"
    return "waiting waiting-disk" if "disk" in state or "storage" in state else "waiting"


def _ruler(canvas: _Canvas, bottom: float) -> Iterator[str]:
    whole = max(1, canvas.end_ns - canvas.start_ns)
    power = 10 ** max(0, math.floor(math.log10(whole / 10)))
    step = next(n * power for n in (1, 2, 5, 10, 20) if n * power * 10 >= whole)
    digits = max(0, 9 - len(str(step)) + 1) if step < 10**9 else 0
    for at in range(-(-canvas.start_ns // step) * step, canvas.end_ns + 1, step):
        x = canvas.x(at)
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 6}" y2="{bottom:.1f}" class="grid"/>'
        yield f'<text x="{x + 2:.1f}" y="{TOP - 8}" class="quiet">{seconds(at, digits)} s</text>'


def _phases(canvas: _Canvas, trace: Trace) -> None:
    spans = trace.spans("phase")
    if not spans:
        return
    canvas.text(8, canvas.y + 15, "phases", "quiet")
    for index, s in enumerate(ordered(spans)[:MAX_PROCESSES]):
        x, end = canvas.x(s.start_ns), canvas.x(s.end_ns)
        about = f"{s.name}: {span(s.end_ns - s.start_ns)}"
        canvas.rect(x, canvas.y, end - x, STRIP, "phase odd" if index % 2 else "phase", about)
        _label(canvas, x, end, canvas.y + 15, about, s.name)
    canvas.y += STRIP + 2 * GAP


def _label(canvas: _Canvas, x: float, end: float, y: float, *words: str) -> None:
    """The first of the words that fits into a bar, at about six pixels per letter."""
    fits = next((w for w in words if len(w) * 6 + 6 <= end - x), None)
    if fits:
        canvas.text(x + 4, y, fits)


def _strips(canvas: _Canvas, trace: Trace, kinds: tuple[str, ...]) -> None:
    """One row for each track of these kinds; if a kind has many tracks, only the first of them."""
    for kind in kinds:
        tracks = [track for track in trace.tracks if track.kind == kind and track.spans]
        for track in tracks[:MAX_LANES]:
            canvas.text(8, canvas.y + 11, plain(track.title, 22), "quiet")
            _bars(canvas, track, trace)
            canvas.y += ROW + GAP
        if len(tracks) > MAX_LANES:
            canvas.text(8, canvas.y + 11, f"{len(tracks) - MAX_LANES} more of kind {kind}", "quiet")
            canvas.y += ROW + GAP


def _bars(canvas: _Canvas, track: Track, trace: Trace) -> None:
    """One row. A console line is an outline, filled while the boot waited for the serial line."""
    spent = trace.track("spent") if track.kind == "console" else None
    for bar in bars(canvas.x, track):
        kind = "open" if spent else bar.kind
        canvas.rect(bar.x, canvas.y, bar.end - bar.x, ROW, kind, about(bar))
    if spent:
        waits = tuple(s for s in spent.spans if s.name == "console")
        for bar in bars(canvas.x, replace(track, spans=waits)):
            canvas.rect(bar.x, canvas.y, bar.end - bar.x, ROW, bar.kind, f"serial line: {about(bar)}")


def _processes(canvas: _Canvas, trace: Trace) -> None:
    tracks = [track for track in trace.tracks if track.kind == "process" and track.spans]
    tracks.sort(key=lambda track: min(s.start_ns for s in track.spans))
    canvas.y += GAP
    for track in tracks[:MAX_PROCESSES]:
        for bar in bars(canvas.x, track):
            canvas.rect(bar.x, canvas.y, bar.end - bar.x, ROW, bar.kind, f"{track.title}: {about(bar)}")
        canvas.text(8, canvas.y + 11, plain(track.title, 22), "quiet")
        canvas.y += ROW + 2
    if len(tracks) > MAX_PROCESSES:
        canvas.text(8, canvas.y + 11, f"{len(tracks) - MAX_PROCESSES} more processes", "quiet")
        canvas.y += ROW + 2


def _milestones(canvas: _Canvas, trace: Trace, bottom: float) -> None:
    """Lines from top to bottom; names in three rows, so that close ones stay readable."""
    free = [0.0, 0.0, 0.0]
    later = trace.earliest()
    for known, at_ns in trace.milestones().items():
        name = f"{known} or later" if known in later else known
        x, width = canvas.x(at_ns), len(name) * 6.2 + 8
        left = min(x + 3, WIDTH - width)
        row = next((r for r in (2, 1, 0) if free[r] <= left), None)
        canvas.line(x, TOP - 6, bottom, "mark")
        if row is not None:
            free[row] = left + width
            canvas.text(left, 46 + 13 * row, name, "mark-name")


def make(subject: Subject) -> bytes:
    """The bytes of a .svg file."""
    trace = subject.trace
    spans = [s for track in trace.tracks for s in track.spans]
    start = min([0, *(s.start_ns for s in spans)])
    canvas = _Canvas(start, max([trace.total_ns, *(s.end_ns for s in spans)]))
    _phases(canvas, trace)
    _strips(canvas, trace, _BEFORE)
    _processes(canvas, trace)
    _strips(canvas, trace, _AFTER)
    body, canvas.out = canvas.out, []
    bottom = canvas.y
    _milestones(canvas, trace, bottom)
    marks, canvas.out = canvas.out, []
    ended = f"not complete: {subject.failure}" if subject.failure else trace.took(seconds)
    canvas.text(8, 24, f"{trace.title}: {ended}", "big")
    canvas.text(8, bottom + 20, "; ".join([trace.clock, *trace.notes][:4]), "quiet")
    height = bottom + 32
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" '
        f'height="{height:.0f}" role="img"><title>{_xml(trace.title)}</title><style>{STYLE}</style>'
        f'<rect width="100%" height="100%" class="paper"/>'
    )
    parts = [head, *canvas.out, *_ruler(canvas, bottom), *body, *marks, "</svg>", ""]
    return "\n".join(parts).encode()
