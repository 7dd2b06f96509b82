# SPDX-License-Identifier: Apache-2.0
"""The width of a text, without a font: that of its letters in DejaVu Sans, one of the widest fonts.

A text that fits by this measure fits in any reader's font.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

_CLASSES = {
    280: "'ijl", 320: " ,.·IJ|/:;\\", 361: "-f", 400: "()[]t!r", 500: "*_`–\"", 545: "?szcFL",
    615: "kvxyPTYoaeE", 636: "hnuSbdgpq0123456789${}µ", 700: "KAVXZBRC", 770: "UNHDGOQ&",
    840: "w#+<=>^~≥≤±×→", 1000: "%mMW@…—",
}  # fmt: skip
"""Thousandths of the font's size -> the letters with that width, at most."""
_WIDTHS = {letter: width for width, letters in _CLASSES.items() for letter in letters}
_OTHER, _WIDE, _BOLD = 800, 1050, 1.12
ELLIPSIS = "…"
_ROUNDED = 0.01
"""The error of sums of widths."""


def width(text: str, size: float, bold: bool = False) -> float:
    """The width of a text in a font of `size`, in the unit of that size."""
    total = sum(_WIDTHS.get(c) or _unusual(c) for c in text)
    return total * size / 1000 * (_BOLD if bold else 1)


def _unusual(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return _WIDE if unicodedata.east_asian_width(letter) in "WF" else _OTHER


def fit(text: str, room: float, size: float, bold: bool = False) -> str:
    """The text, or as much of its beginning as fits into `room`, with an ellipsis; empty if nothing fits."""
    if width(text, size, bold) <= room + _ROUNDED:
        return text
    left = room - width(ELLIPSIS, size, bold)
    for at, letter in enumerate(text):
        left -= width(letter, size, bold)
        if left < 0:
            return f"{text[:at].rstrip()}{ELLIPSIS}" if at else ""
    return text


def fit_middle(text: str, room: float, size: float, bold: bool = False) -> str:
    """The same for names whose end often says more than the middle: `dev-disk…part1.device`."""
    if width(text, size, bold) <= room + _ROUNDED:
        return text
    left = room - width(ELLIPSIS, size, bold)
    head = fit(text, 0.6 * left, size, bold).removesuffix(ELLIPSIS)
    left -= width(head, size, bold)
    at = len(text)
    while at > len(head) and (left := left - width(text[at - 1], size, bold)) >= 0:
        at -= 1
    return f"{head}{ELLIPSIS}{text[at:]}" if head or at < len(text) else ""


def wrap(text: str, room: float, size: float, bold: bool = False) -> Iterator[str]:
    """The text in lines that fit into `room`; a word that is too long for a line is cut."""
    line = ""
    for word in text.split():
        longer = f"{line} {word}" if line else word
        if line and width(longer, size, bold) > room:
            yield line
            longer = word
        line = fit(longer, room, size, bold) or longer[:1]
    if line:
        yield line
