# SPDX-License-Identifier: Apache-2.0
"""Several boots: their phases on one axis, and the changes from the first total to the last."""

from __future__ import annotations

from collections.abc import Sequence

from bootscope.core.errors import UserError
from bootscope.core.text import seconds, signed, span
from bootscope.export.text import plain
from bootscope.pictures import axis, gantt, sheet
from bootscope.pictures.canvas import SIZE, STUB, Canvas
from bootscope.pictures.measure import fit, fit_middle, width
from bootscope.pictures.subject import Boot, Subject, names_of
from bootscope.pictures.theme import PHASE_COLOURS
from bootscope.report.overlay_html import Bar, bar_of, steps_between
from bootscope.report.phase_lengths import length_words
from bootscope.timeline.trace import LENGTH, Span

MOST = 24
"""The most boots of one picture, and the most steps from the first to the last."""
_HIGH = 26
_ROW = 40


def overlay(canvas: Canvas, subject: Subject) -> list[str]:
    """Draws the phases of each boot as one bar. Raises UserError if no boot has times."""
    boots = [boot for boot in subject.boots if boot.end_ns is not None][:MOST]
    if not boots:
        raise UserError("none of these logs has a clock: there is no time to draw")
    spans = {boot.boot_id: _phases(boot) for boot in boots}
    phases = dict.fromkeys(plain(s.name) for found in spans.values() for s in found)
    colours = {name: f"phase{at % PHASE_COLOURS}" for at, name in enumerate(phases)}
    names = names_of(boots)
    whole = max(max(boot.end_ns or 0, *(s.end_ns for s in spans[boot.boot_id]), 1) for boot in boots)
    low = min([0, *(s.start_ns for found in spans.values() for s in found)])
    figures = [(boot.took, change(boots[at - 1], boot) if at else "") for at, boot in enumerate(boots)]
    changes = max(width(words, SIZE, True) for _, words in figures)
    wide = max(width(took, SIZE, True) for took, _ in figures) + changes + 32
    names_wide = min(max(width(name, SIZE) for name in names), canvas.width * 0.26) + 14
    scale = axis.Axis(low, whole, canvas.left + names_wide, canvas.right - wide - STUB)
    top = canvas.y + 28
    bottom = top + _ROW * len(boots)
    axis.draw(canvas, scale, top, bottom)
    for at, (boot, (took, words)) in enumerate(zip(boots, figures, strict=True)):
        y = top + 8 + at * _ROW
        canvas.text(canvas.left, y + 18, names[at], room=names_wide - 10, cut=fit_middle)
        _bar(canvas, scale, spans[boot.boot_id], colours, y)
        _figures(canvas, y + 18, took, words, changes)
    canvas.y = bottom
    sheet.legend(canvas, [(colour, name) for name, colour in colours.items()][:MOST])
    left_out = len(subject.boots) - len(boots)
    return [f"{left_out} boots without a clock, or more than {MOST}, not drawn"] if left_out else []


def _phases(boot: Boot) -> list[Span]:
    found = boot.trace.spans("phase")
    end_ns = boot.end_ns or 0
    return found or [Span(min(0, end_ns), end_ns, "whole boot")]


def change(before: Boot, boot: Boot) -> str:
    """The change from one boot to the next; empty if one of them is a bound."""
    if before.known_ns is None or boot.known_ns is None:
        return ""
    return signed(boot.known_ns - before.known_ns)


def _figures(canvas: Canvas, y: float, took: str, change: str, changes: float) -> None:
    """How long a boot took, and the change from the one before; in two columns."""
    colour = "good" if change.startswith("-") else "bad" if change.startswith("+") else "quiet"
    canvas.text(canvas.right, y, change, anchor="end", fill=colour, bold=True)
    canvas.text(canvas.right - changes - 16, y, took, anchor="end", bold=True)


def _bar(canvas: Canvas, scale: axis.Axis, spans: Sequence[Span], colours: dict[str, str], y: float) -> None:
    for s in spans:
        x, end, name = scale.x(s.start_ns), scale.x(s.end_ns), plain(s.name)
        bound = str(s.detail.get(LENGTH, ""))
        canvas.bar(x, y, end - x, _HIGH, colours[name], f"{name}: {length_words(s)} s", bound)
        if not bound and len(fit(name, end - x - 8, SIZE - 2)) > 2:
            ink = canvas.theme.on(colours[name])
            canvas.text(x + 4, y + 17, name, size=SIZE - 2, colour=ink, room=end - x - 8)


def waterfall(canvas: Canvas, subject: Subject) -> list[str]:
    """Draws how the first total becomes the last: phase by phase for two boots, boot by boot for more. Raises
    UserError if fewer than two lengths are known."""
    known = _known(subject)
    if len(known) < 2:
        raise UserError(
            "a waterfall needs two boots of known length",
            hint="name two runs; a log without a clock, or without the boot's end, has no known length",
        )
    shown, rest = _most(steps(subject))
    at_ns = known[0].total_ns
    rows = [_whole(f"{known[0].name}", at_ns)]
    reached, highest = [at_ns], at_ns
    for name, change_ns in [*shown, *([(f"{rest[0]} smaller changes", rest[1])] if rest[0] else [])]:
        rows.append(_step(name, at_ns, change_ns))
        at_ns += change_ns
        highest = max(highest, at_ns)
        reached.append(at_ns)
    rows.append(_whole(known[-1].name, known[-1].total_ns))
    low = min(0, *reached)
    gantt.draw(canvas, rows, low, max(highest, low + 1), ("total, change",))
    left_out = len(subject.boots) - len(known)
    what = "phase by phase" if len(known) == 2 else "boot by boot"
    return [
        f"{what}; what did not change is left out",
        *(
            [f"{left_out} boots whose length is not known, or more than {MOST}, not drawn"]
            if left_out
            else []
        ),
    ]


def _known(subject: Subject) -> list[Bar]:
    """The boots with a known length, as many as fit into a picture."""
    names = names_of(subject.boots)
    found = (bar_of(name, boot.trace) for name, boot in zip(names, subject.boots, strict=True))
    return [bar for bar in found if bar][:MOST]


def steps(subject: Subject) -> list[tuple[str, int]]:
    """The changes from the first total to the last, in ns: by phase for two boots, by boot for more; empty if
    fewer than two have a known length."""
    known = _known(subject)
    return [step for step in steps_between(known) if step[1]] if len(known) > 1 else []


def _most(real: Sequence[tuple[str, int]]) -> tuple[list[tuple[str, int]], tuple[int, int]]:
    """The largest changes, in their original order, and the number of the others with their sum."""
    ranked = sorted(range(len(real)), key=lambda at: -abs(real[at][1]))
    kept = sorted(ranked[:MOST])
    others = ranked[MOST:]
    return [real[at] for at in kept], (len(others), sum(real[at][1] for at in others))


def _whole(name: str, ns: int) -> gantt.Row:
    words = f"{seconds(ns)} s"
    return gantt.Row(name, (gantt.Part(0, ns, "whole", f"{name}: {words}"),), (words,), bold=True)


def _step(name: str, at_ns: int, change_ns: int) -> gantt.Row:
    low, colour = min(at_ns, at_ns + change_ns), "good" if change_ns < 0 else "bad"
    words = signed(change_ns)
    part = gantt.Part(low, low + abs(change_ns), colour, f"{name}: {words}")
    return gantt.Row(name, (part,), (words,))


def totals(subject: Subject) -> str:
    """The change from the first boot to the last, in words; empty if unknown."""
    known = [boot for boot in subject.boots if boot.known_ns is not None]
    if len(known) < 2:
        return ""
    first, last = known[0].known_ns or 0, known[-1].known_ns or 0
    if first == last:
        return f"no change: {seconds(last)} s"
    word = "shorter" if last < first else "longer"
    share = f" ({100 * abs(last - first) / first:.1f} %)" if first else ""
    return f"{span(abs(last - first))} {word}{share}: {seconds(first)} s to {seconds(last)} s"
