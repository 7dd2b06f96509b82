# SPDX-License-Identifier: Apache-2.0
"""What all pictures have above and below their content: a title, a legend, notes, the source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bootscope import __version__
from bootscope.export.text import plain
from bootscope.pictures.canvas import LARGE, LONGEST_TITLE, MARGIN, SIZE, SMALL, Canvas
from bootscope.pictures.measure import fit, width, wrap
from bootscope.pictures.theme import Theme
from bootscope.timeline.trace import NOT_KNOWN, OR_LESS, OR_MORE

NARROWEST, WIDEST = 480, 4000
_LINE = 17
_MOST_LINES = 8
"""The most lines of notes; longer ones end with an ellipsis."""
_BOUNDS = {
    OR_MORE: "fading: at least so long",
    OR_LESS: "hatched: at most so long",
    NOT_KNOWN: "dashed: length not known",
}


def begin(wide: int, theme: Theme, title: str, subtitle: Sequence[str]) -> Canvas:
    """A picture with its title, and a line for each subtitle below it."""
    canvas = Canvas(wide, theme)
    canvas.y -= 14
    for line in _lines(title, canvas, LARGE, bold=True):
        canvas.y += 28
        canvas.text(canvas.left, canvas.y, line, size=LARGE, bold=True)
    for words in subtitle:
        for line in _lines(words, canvas, SIZE - 1):
            canvas.y += _LINE + 3
            canvas.text(canvas.left, canvas.y, line, size=SIZE - 1, fill="quiet")
    canvas.y += 14
    return canvas


def _lines(words: str, canvas: Canvas, size: float, bold: bool = False) -> list[str]:
    """A text in at most two lines; if it is longer, the second is shortened."""
    room, whole = canvas.right - canvas.left, plain(words, LONGEST_TITLE)
    first = next(wrap(whole, room, size, bold), "")
    rest = whole[len(first) :].strip() if whole.startswith(first) else ""
    return [first, *([fit(rest, room, size, bold)] if rest else [])]


def heading(canvas: Canvas, words: str) -> None:
    """A heading within a picture."""
    canvas.y += 38
    canvas.text(canvas.left, canvas.y, words, size=SIZE + 2, bold=True, room=canvas.right - canvas.left)
    canvas.y += 6


def legend(canvas: Canvas, entries: Iterable[tuple[str, str]]) -> None:
    """Names of colours with their meanings, in as many lines as needed."""
    x = canvas.left
    canvas.y += 22
    for colour, words in entries:
        need = 22 + width(words, SMALL + 1)
        if x > canvas.left and x + need > canvas.right:
            x, canvas.y = canvas.left, canvas.y + 20
        canvas.rect(x, canvas.y - 10, 12, 12, canvas.theme[colour], more=' rx="2"')
        x += 18
        x += canvas.text(x, canvas.y, words, size=SMALL + 1, fill="quiet", room=canvas.right - x) + 20
    canvas.y += 2


def end(canvas: Canvas, notes: Iterable[str], title: str) -> str:
    """The picture as SVG; below its content are notes on what is left out and shown, and the program."""
    told = [words for bound, words in _BOUNDS.items() if bound in canvas.bounds]
    lines = ["; ".join(told), *notes, f"bootscope {__version__}"]
    canvas.y += 10
    room, shown = canvas.right - canvas.left, 0
    for note in lines:
        for line in wrap(note, room, SMALL):
            if shown < _MOST_LINES or note == lines[-1]:
                canvas.y += _LINE
                canvas.text(canvas.left, canvas.y, line, size=SMALL, fill="quiet", room=room)
            shown += 1
    canvas.y -= MARGIN - 20
    return canvas.svg(title)
