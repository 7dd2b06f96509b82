# SPDX-License-Identifier: Apache-2.0
"""One page for the person who decides: what was measured and how exactly, where the time goes, what to do
first, what changed, what is not known. The page is laid out by `templates/page.typ`; all texts are cut here
to fit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from bootscope import __version__
from bootscope.core.errors import UserError
from bootscope.core.text import cut, error_words, seconds
from bootscope.export.text import plain
from bootscope.pictures import compared, dots, draw, raster
from bootscope.pictures.subject import Boot, Subject, names_of
from bootscope.pictures.theme import LIGHT
from bootscope.report.answer import Answer
from bootscope.report.phase_lengths import length_words, share_words
from bootscope.timeline.trace import LENGTH, Trace

TEMPLATE = Path(__file__).parent / "templates" / "page.typ"
_WIDE = 760
"""Width of the picture, in its pixels; on paper it is as wide as the text."""
_TEXT, _NAME, _MOST = 190, 70, 6
"""Letters of a sentence, letters of a name, lines of a list."""
_LONG = re.compile(r"(\S{40})(?=\S)")
_TALLEST = 0.8
"""The largest height of a picture, as a part of the page's width; a taller one is scaled down."""


def page(subject: Subject, first: Sequence[Answer], form: raster.Form = "pdf") -> bytes:
    """The page as PDF (or `png`): always a single one. `first` are the findings of the last boot."""
    raster.check()
    pictures, caption = _pictures(subject)
    values = {
        "caption": _cut(caption),
        "shares": {name: _share(svg) for name, svg in pictures.items()},
        "title": _cut(_title(subject), 110),
        "lead": [_cut(words, 300) for words in _lead(subject)],
        "facts": [(name, _cut(words, 150)) for name, words in _facts(subject)],
        "first": [_finding(row) for row in first],
        "unknown": [_cut(words) for words in _unknown(subject)][:_MOST],
        "foot": f"bootscope {__version__} · {_cut(' '.join(boot.name for boot in subject.boots), 150)}",
    }
    return raster.page(TEMPLATE, values, pictures, form)


def _cut(words: str, most: int = _TEXT) -> str:
    """A text on one line, with break points in words that are too long for a line."""
    return _LONG.sub("\\1\u200b", cut(plain(words, most), most))


def _title(subject: Subject) -> str:
    last = subject.boots[-1]
    if dots_are_drawn(subject) or len(subject.boots) == 1:
        name = plain(" and ".join(names_of(subject.boots)) if last.boots else last.title, _NAME)
        failed = last.failure and not dots_are_drawn(subject)
        return f"A boot of {name} that failed" if failed else f"Boot time of {name}"
    return f"Boot time: {len(subject.boots)} boots compared"


def dots_are_drawn(subject: Subject) -> bool:
    """Whether the page is about runs of boots that vary."""
    return draw.default(subject) == draw.BOOTS


def _lead(subject: Subject) -> Iterator[str]:
    """The main result, in sentences."""
    last = subject.boots[-1]
    if dots_are_drawn(subject):
        runs = dots.runs_of(subject)
        yield f"{dots.title(subject)}."
        if len(runs) == 1:
            run = runs[0]
            ends = f"{seconds(run.told.lowest_ns)} s and {seconds(run.told.highest_ns)} s"
            yield f"{len(run.values)} boots took between {ends}."
    elif len(subject.boots) > 1:
        yield f"{compared.totals(subject) or 'How the total changed is not known'}.".capitalize()
    else:
        yield _took(last)
    longest = max(
        (s for s in last.trace.spans("phase") if LENGTH not in s.detail),
        key=lambda s: s.duration_ns,
        default=None,
    )
    if longest and last.trace.timed:
        share = share_words(longest.duration_ns, last.trace.known_total_ns)
        part = f", {share} of it" if share != "-" else ""
        where = " of the last boot" if len(subject.boots) > 1 else " of the boot below" if last.boots else ""
        yield f"The longest phase{where} is {plain(longest.name, _NAME)}: {length_words(longest)} s{part}."


def _took(boot: Boot) -> str:
    if boot.failure:
        return f"The boot did not come to its end: {plain(boot.failure, 140)}."
    if boot.end_ns is None:
        return "The log has no clock: how long the boot takes is not known."
    least = "" if boot.known_ns is not None else "at least "
    to = f" to {boot.reached}" if boot.reached else ""
    return f"The device takes {least}{seconds(boot.end_ns)} s{to}."


def _facts(subject: Subject) -> Iterator[tuple[str, str]]:
    """What was measured, and how exactly."""
    last = subject.boots[-1]
    where = "System and board" if last.recorded else "Board" if last.measured else "Read from"
    yield where, last.title
    days = sorted({boot.created[:10] for boot in subject.boots if boot.created})
    yield (
        ("Recorded" if last.recorded or last.measured else "Stored"),
        " to ".join(dict.fromkeys(days[:1] + days[-1:])),
    )
    if last.boots:
        counts = [
            f"{len(b.boots.complete)} of {len(b.boots.boots)} completed" for b in subject.boots if b.boots
        ]
        yield "Boots", "; ".join(counts)
    elif len(subject.boots) > 1:
        pairs = zip(names_of(subject.boots), subject.boots, strict=True)
        yield "Compared", ", ".join(f"{plain(name, 40)} ({b.took})" for name, b in pairs)
    yield "How exact", _exact(subject)
    yield "Clock", last.trace.clock


def _exact(subject: Subject) -> str:
    last = subject.boots[-1]
    if dots_are_drawn(subject):
        run = dots.runs_of(subject)[-1]
        return f"{run.words}{' (of all such boots, the median lies there)' if run.known else ''}"
    if last.recorded:
        return "emulated board: repeats to the nanosecond; storage and serial line cost what its profile says"
    point = next((p for p in last.trace.points if p.kind == "milestone" and p.at_ns == last.end_ns), None)
    error = error_words(point.error_ns, point.error_or_more) if point else ""
    return (
        f"one boot; its end is known to {error}" if error else "one boot; how far it may be off is not known"
    )


def _finding(row: Answer) -> dict[str, str]:
    cost = _cut(f"{'up to ' if row['at_most'] else ''}{row['cost']}", 24).replace(" ", "\u00a0")
    return {
        "cost": cost,
        "what": _cut(str(row["what"])),
        "where": _cut(str(row["where"])),
        "do": _cut(str(row["do"])),
    }


def _unknown(subject: Subject) -> Iterator[str]:
    """What these boots do not show."""
    for boot in subject.boots:
        which = f"{plain(boot.name, 40)}: " if len(subject.boots) > 1 else ""
        yield from (f"{which}{words}" for words in _not_known(boot))
    if dots_are_drawn(subject):
        return
    last = subject.boots[-1]
    if last.recorded:
        yield "The real board: these are times of an emulated one. Measure the board to confirm them."
    elif not last.boots:
        yield "How much boots vary: this is one boot. Ten boots tell the median and its interval."


def _not_known(boot: Boot) -> Iterator[str]:
    trace = boot.trace
    if not trace.timed:
        yield "All times: the log has no clock, only an order."
    elif not trace.end_seen:
        yield "When the boot ended: the log ends, or does not tell it. The total is the least it can be."
    elif trace.total_or_later:
        yield "When the boot ended: its last line has no time of its own. The total is the least it can be."
    yield from _bounds(trace)
    if boot.boots:
        lost = len(boot.boots.boots) - len(boot.boots.complete)
        if lost:
            yield f"{lost} of {len(boot.boots.boots)} boots did not come to their end: they are in no figure."


def _bounds(trace: Trace) -> Iterator[str]:
    names = [f"{plain(s.name, 40)} ({length_words(s)} s)" for s in trace.spans("phase") if LENGTH in s.detail]
    if names:
        yield f"How long these phases took exactly: {', '.join(names[:4])}."
    yield from (plain(note) for note in trace.notes[:2])


def _pictures(subject: Subject) -> tuple[dict[str, str], str]:
    """The picture of the page, and for a run of several boots also the phases of one; the notes below."""
    first, notes = _inset(subject, draw.default(subject))
    found = {"picture": first, "phases": ""}
    last = subject.boots[-1]
    if dots_are_drawn(subject) and len(subject.boots) == 1 and last.trace.spans("phase"):
        found["phases"], _ = _inset(Subject([last]), draw.PHASES)
    return found, next((note for note in notes if not note.startswith("clock:")), "")


def _share(svg: str) -> float:
    """The width of a picture on the page, in percent."""
    width, height = raster.size_of(svg) if svg else (1, 0)
    return 100 * min(1.0, _TALLEST * width / max(1, height))


def _inset(subject: Subject, view: str) -> tuple[str, list[str]]:
    """A picture, or nothing if there is nothing to draw: the page says so in words."""
    try:
        return draw.inset(subject, LIGHT, view, _WIDE)
    except UserError:
        return "", []
