# SPDX-License-Identifier: Apache-2.0
"""All views by name, and making the picture of a subject."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bootscope.analysis.view_names import CRITICAL_PATH, SILENCES, UNITS
from bootscope.core.errors import UserError, unknown
from bootscope.pictures import compared, dots, flame, phases, sheet, stretches, timeline
from bootscope.pictures.canvas import Canvas
from bootscope.pictures.subject import Boot, Subject
from bootscope.pictures.theme import Theme

WIDTH = 1200
PHASES, TIMELINE, FLAME, OVERLAY, WATERFALL, COMPARE, BOOTS = (
    "phases", "timeline", "flame", "overlay", "waterfall", "compare", "boots",
)  # fmt: skip
_OF_ONE: dict[str, Callable[[Canvas, Boot], list[str]]] = {
    PHASES: phases.draw,
    TIMELINE: timeline.draw,
    FLAME: flame.draw,
}
_OF_SEVERAL: dict[str, Callable[[Canvas, Subject], list[str]]] = {
    OVERLAY: compared.overlay,
    WATERFALL: compared.waterfall,
}
VIEWS = (
    PHASES, TIMELINE, FLAME, "initcalls", "processes", UNITS, SILENCES, CRITICAL_PATH,
    COMPARE, OVERLAY, WATERFALL, BOOTS,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as the text of an .svg file, its title, and the name of its view."""

    svg: str
    title: str
    view: str


def picture(subject: Subject, theme: Theme, view: str | None = None, width: int | None = None) -> Picture:
    """The view of that name, or the one that suits the subject, `width` pixels wide.

    Raises UserError for an unknown view, and if the boots have no data for it.
    """
    name = view or default(subject)
    if name not in VIEWS:
        raise unknown("view", name, list(VIEWS))
    wide = WIDTH if width is None else width
    if not sheet.NARROWEST <= wide <= sheet.WIDEST:
        raise UserError(f"a picture is {sheet.NARROWEST} to {sheet.WIDEST:,} pixels wide, not {wide:,}")
    title, below = _title(subject, name)
    canvas = sheet.begin(wide, theme, title, below)
    return Picture(sheet.end(canvas, _content(canvas, subject, name), title), title, name)


def inset(subject: Subject, theme: Theme, view: str, width: int) -> tuple[str, list[str]]:
    """Only the content of a picture, for a page that has a title of its own, and the notes to put below.
    Raises UserError as :func:`picture`."""
    canvas = Canvas(width, theme, margin=2, y=0)
    notes = _content(canvas, subject, view)
    canvas.y += 4
    return canvas.svg(_title(subject, view)[0]), notes


def default(subject: Subject) -> str:
    """The view that shows most of the subject."""
    boots = subject.boots
    if len(dots.drawable(subject)) == min(len(boots), dots.MOST_RUNS):
        return BOOTS
    if len(boots) > 1:
        return COMPARE
    trace = boots[0].trace
    if trace.timed and trace.spans("phase"):
        return PHASES
    units = any(track.kind == "service" for track in trace.tracks) or stretches.lengths(trace)
    return UNITS if units else TIMELINE


def _content(canvas: Canvas, subject: Subject, name: str) -> list[str]:
    if name == BOOTS:
        return dots.draw(canvas, subject)
    if name == COMPARE:
        return _compare(canvas, subject)
    if name in _OF_SEVERAL:
        return _OF_SEVERAL[name](canvas, subject)
    boot = subject.one(name)
    return _OF_ONE[name](canvas, boot) if name in _OF_ONE else stretches.draw(canvas, boot, name)


def _compare(canvas: Canvas, subject: Subject) -> list[str]:
    """The boots over each other, then how the first total becomes the last, if the totals are known."""
    notes = compared.overlay(canvas, subject)
    known = [boot for boot in subject.boots if boot.trace.known_total_ns is not None]
    if len(known) < 2:
        return [*notes, "how the total changed is not known: of one of the boots no end is known"]
    sheet.heading(canvas, "From the first total to the last")
    return [*dict.fromkeys([*notes, *compared.waterfall(canvas, subject)])]


def _title(subject: Subject, name: str) -> tuple[str, list[str]]:
    """The title of a picture and the lines below it."""
    if name == BOOTS:
        return dots.title(subject), dots.subtitles(subject)
    if name in (COMPARE, *_OF_SEVERAL) and len(subject.boots) > 1:
        first, last = subject.boots[0], subject.boots[-1]
        names = f"from {first.name} to {last.name}"
        return compared.totals(subject) or f"{len(subject.boots)} boots", [names, *_chosen(subject)]
    boot = subject.boots[0]
    if name in stretches.LOOKS:
        return stretches.LOOKS[name].title, [boot.headline, *boot.facts]
    return boot.headline, boot.facts


def _chosen(subject: Subject) -> list[str]:
    """A note that one boot stands for its run, if the boots of the run vary."""
    varying = [boot for boot in subject.boots if boot.boots]
    if not varying:
        return []
    return ["of each run one boot is drawn, and its boots vary: --view boots draws all of them"]
