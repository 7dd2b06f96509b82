# SPDX-License-Identifier: Apache-2.0
"""A boot as rows of what was busy when: phases, what the time went into, devices, initcalls, processes.

Spans narrower than a pixel are merged with their neighbours, and the number of rows is limited, so that a
picture of any boot fits on a page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from bootscope.core.errors import UserError
from bootscope.export.svg import Bar, about, bars, kind_of
from bootscope.export.text import plain
from bootscope.pictures import axis, gantt, phases, sheet
from bootscope.pictures.canvas import SIZE, SMALL, STUB, Canvas
from bootscope.pictures.measure import fit, fit_middle, width
from bootscope.pictures.stretches import DEVICE
from bootscope.pictures.subject import Boot
from bootscope.report.phase_lengths import length_words
from bootscope.timeline.trace import LENGTH, Span, Trace, Track

STRIPS = ("path", "spent", "cpu", "storage", "console", "initcall", "probe", "wait", "irq", "pin", "function")
NAMED = ("process", "service")
MOST_STRIPS, MOST_NAMED, MOST_BARS = 12, 18, 4000
_GRAINS = (1, 2, 4, 8, 16, 32)
_COLOURS = {"waiting": "wait", "waiting waiting-disk": "storage"}
_WORDS = {"path": "critical path", "spent": "time went into"}
_KINDS = {
    "path": "critical path", "cpu": "CPU", "storage": "storage", "console": "console", "idle": "idle",
    "fixed": "fixed", "wait": "waiting", "initcall": "initcall", "probe": "driver probe",
    "process": "process",
    "service": "unit starting", "irq": "interrupts", "pin": "pin", "function": "function", "other": "other",
}  # fmt: skip
_HIGH, _ROW = 24, 22
_BAR, _THIN = 14, 4


def draw(canvas: Canvas, boot: Boot) -> list[str]:
    """Draws the rows; returns the notes to put below. Raises UserError if nothing has a time."""
    trace = boot.trace
    end_ns = boot.end_ns
    if end_ns is None:
        raise UserError(
            "this log has no clock: there is no time to draw",
            hint="bootscope show has its order; -o FILE.pdf tells the rest",
        )
    strips, named = _strips(trace), _named(trace)
    shown = [*strips[:MOST_STRIPS], *_by_start(named[:MOST_NAMED])]
    low_ns = min([0, *(s.start_ns for s in trace.spans("phase"))])
    scale = axis.Axis(
        low_ns, max(end_ns, low_ns + 1), canvas.left + _names(canvas, shown), canvas.right - STUB
    )
    found = phases.marks(trace, low_ns, end_ns)
    rows, grain = _rows([within(track, low_ns, end_ns) for track in shown], scale)
    _paint(canvas, boot, scale, rows, found)
    sheet.legend(canvas, _legend(canvas, {_colour(track, bar) for track, row in rows for bar in row}))
    return [*_left_out(rows, strips, named, grain), *_devices(trace, named), boot.clock]


def _rows(tracks: Sequence[Track], scale: axis.Axis) -> tuple[list[tuple[Track, list[Bar]]], int]:
    """The bars of each track, and within how many pixels neighbours are merged to keep the picture small."""
    for grain in _GRAINS:
        coarse = axis.Axis(scale.low_ns, scale.high_ns, scale.left / grain, scale.right / grain)
        found = [(track, bars(coarse.x, track)) for track in tracks]
        if sum(len(row) for _, row in found) <= MOST_BARS:
            break
    return [(t, [replace(b, x=b.x * grain, end=b.end * grain) for b in row]) for t, row in found], grain


def _legend(canvas: Canvas, used: set[str]) -> list[tuple[str, str]]:
    """Colours with their meanings; several things may share one."""
    words: dict[str, list[str]] = {}
    for name in (name for name in _KINDS if name in used):
        words.setdefault(canvas.theme[name], []).append(name)
    return [(names[0], ", ".join(_KINDS[name] for name in names)) for names in words.values()]


def _paint(
    canvas: Canvas,
    boot: Boot,
    scale: axis.Axis,
    rows: Sequence[tuple[Track, list[Bar]]],
    found: Sequence[gantt.Mark],
) -> None:
    spans = boot.trace.spans("phase")
    top = canvas.y + 28 + gantt.mark_rows(canvas, scale, found)
    first = top + 6 + (_HIGH + 6 if spans else 0)
    bottom = first + _ROW * len(rows)
    axis.draw(canvas, scale, top, bottom, [scale.x(mark.at_ns) for mark in found])
    if spans:
        _phases(canvas, scale, spans, top + 6)
    for at, (track, row) in enumerate(rows):
        y = first + _ROW * at
        _name(canvas, _called(track), y, scale.left)
        for bar in row:
            colour = _colour(track, bar)
            # What waits is drawn thinner than what runs.
            thin = _THIN if colour in ("wait", "idle") else 0
            title = about(bar) if bar.count == 1 else ""
            canvas.bar(bar.x, y + thin, bar.end - bar.x, _BAR - 2 * thin, colour, title)
    gantt.draw_marks(canvas, scale, found, top, bottom)
    canvas.y = bottom


def _phases(canvas: Canvas, scale: axis.Axis, spans: Sequence[Span], y: float) -> None:
    """The phases as one row in greys, since colours show what was busy; with the names that fit."""
    _name(canvas, "phases", y + 4, scale.left)
    for at, s in enumerate(phases.longest(list(spans))):
        x, end, colour = scale.x(s.start_ns), scale.x(s.end_ns), f"stretch{at % 2}"
        bound = str(s.detail.get(LENGTH, ""))
        canvas.bar(x, y, end - x, _HIGH, colour, f"{plain(s.name)}: {length_words(s)} s", bound)
        ink = canvas.theme.on(colour) if bound in ("", "or more") else canvas.theme["ink"]
        words = fit(plain(s.name, 60), end - x - 8, SMALL)
        if len(words) > 2:
            canvas.text(x + 4, y + 16, plain(s.name, 60), size=SMALL, colour=ink, room=end - x - 8)


def _name(canvas: Canvas, words: str, y: float, left: float) -> None:
    room = left - canvas.left - 10
    canvas.text(canvas.left, y + _BAR - 2, words, size=SIZE - 1, fill="quiet", room=room, cut=fit_middle)


def _names(canvas: Canvas, tracks: Sequence[Track]) -> float:
    widest = max((width(_called(track)[:80], SIZE - 1) for track in tracks), default=0)
    return max(70, min(widest + 14, canvas.width * 0.22))


def _called(track: Track) -> str:
    return _WORDS.get(track.kind) or plain(track.title, 120)


def _strips(trace: Trace) -> list[Track]:
    """The tracks with spans that are drawn as a row each, in the order of their kinds."""
    return [t for kind in STRIPS for t in trace.tracks if t.kind == kind and t.spans]


def _named(trace: Trace) -> list[Track]:
    """Processes and units, the longest busy first; units only with the time in which they start."""
    tracks = [track for track in trace.tracks if track.kind in NAMED]
    found = [_busy(t) for t in tracks if not t.title.endswith(DEVICE)] or [_busy(t) for t in tracks]
    return sorted(
        (t for t in found if t.spans), key=lambda t: -sum(s.duration_ns for s in t.spans if _runs(t, s))
    )


def _busy(track: Track) -> Track:
    if track.kind != "service":
        return track
    return replace(track, spans=tuple(s for s in track.spans if s.name not in ("active", "stopping")))


def _runs(track: Track, span: Span) -> bool:
    return "waiting" not in kind_of(track, span)


def _by_start(tracks: Sequence[Track]) -> list[Track]:
    return sorted(tracks, key=lambda t: min(s.start_ns for s in t.spans))


def within(track: Track, low_ns: int, high_ns: int) -> Track:
    """The track without the spans outside of the picture."""
    return replace(track, spans=tuple(s for s in track.spans if s.start_ns <= high_ns and s.end_ns >= low_ns))


def _devices(trace: Trace, named: Sequence[Track]) -> list[str]:
    """How many units that only wait for a device are left out, in words; empty if they are shown."""
    count = sum(t.kind == "service" and t.title.endswith(DEVICE) for t in trace.tracks)
    shown = any(t.title.endswith(DEVICE) for t in named)
    return [f"{count:,} units that wait for a device are not drawn"] if count and not shown else []


def _colour(track: Track, bar: Bar) -> str:
    if track.kind == "spent":
        return bar.span.name if bar.span.name in phases.KINDS else "other"
    return _COLOURS.get(bar.kind, bar.kind)


def _left_out(
    rows: Sequence[tuple[Track, list[Bar]]], strips: Sequence[Track], named: Sequence[Track], grain: int
) -> Iterator[str]:
    """What the picture leaves out, in words."""
    merged = sum(bar.count for _, row in rows for bar in row if bar.count > 1)
    if merged:
        narrow = "a pixel" if grain == 1 else f"{grain} pixels"
        yield f"{merged:,} spans narrower than {narrow} are drawn together with their neighbours"
    hidden = max(0, len(named) - MOST_NAMED)
    if hidden:
        what = "processes" if any(t.kind == "process" for t in named) else "units"
        yield f"{hidden:,} {what} that took less are not drawn"
    if len(strips) > MOST_STRIPS:
        yield f"{len(strips) - MOST_STRIPS} more rows are not drawn"
