# SPDX-License-Identifier: Apache-2.0
"""The colours and the fonts of pictures.

Text and its background have a contrast of at least 4.5, bars and their background of at least 3 (WCAG 2.2,
1.4.3 and 1.4.11). Colours are attributes of each element, not in a style sheet: presentation programs read no
style sheets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bootscope.core.errors import unknown

FONTS = (
    "system-ui", "-apple-system", "Segoe UI", "Roboto", "Noto Sans", "Liberation Sans", "DejaVu Sans",
    "Helvetica", "Arial", "sans-serif",
)  # fmt: skip
"""The fonts of texts: the first that a computer has is used."""
GENERIC = ("system-ui", "-apple-system", "sans-serif")
"""Those that are generic: only a browser knows which font they mean."""

PHASE_COLOURS = 8
FLAME_COLOURS = 5


@dataclass(frozen=True)
class Theme:
    """Name of a colour -> #rrggbb. `paper` is the background, `ink` and `quiet` are for text."""

    name: str
    colours: Mapping[str, str]

    def __getitem__(self, name: str) -> str:
        return self.colours[name]

    def on(self, colour: str) -> str:
        """The colour of text on a bar: dark or white, whichever is more readable there."""
        dark, white = "#0d1117", "#ffffff"
        return max((dark, white), key=lambda text: contrast(text, self[colour]))


def contrast(one: str, other: str) -> float:
    """The contrast of two colours as WCAG 2.2 defines it: from 1 to 21."""
    bright, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _theme(name: str, plain: Mapping[str, str], phases: str, flame: str) -> Theme:
    rows = {"phase": phases, "flame": flame}
    numbered = {f"{kind}{n}": colour for kind, row in rows.items() for n, colour in enumerate(row.split())}
    return Theme(name, {**plain, **numbered})


LIGHT = _theme(
    "light",
    {
        "paper": "#ffffff", "ink": "#1d2430", "quiet": "#5b6470", "line": "#d9dce1",
        "good": "#1f7a4d", "bad": "#b3261e", "mark": "#1f7a4d",
        "cpu": "#3465aa", "storage": "#963784", "console": "#9c6606", "idle": "#8b939e", "fixed": "#5f6977",
        "initcall": "#1c6f7b", "probe": "#6e54a3", "service": "#1c6f7b", "process": "#3465aa",
        "path": "#3465aa", "wait": "#8b939e", "irq": "#1f7a4d", "pin": "#1f7a4d", "function": "#3465aa",
        "phase": "#3465aa", "other": "#5f6977", "whole": "#5f6977",
        "stretch0": "#4f5966", "stretch1": "#69737f",
    },
    "#5f6977 #2f7a50 #96640a #963784 #6e54a3 #3465aa #1c6f7b #b04a26",
    "#c67f2f #d5793a #b3892c #d07244 #c4855a",
)  # fmt: skip
DARK = _theme(
    "dark",
    {
        "paper": "#14181f", "ink": "#e6e9ee", "quiet": "#a3adba", "line": "#353d49",
        "good": "#5cc08f", "bad": "#f08078", "mark": "#5cc08f",
        "cpu": "#6d9ee0", "storage": "#cf7cbf", "console": "#e6b450", "idle": "#737e8d", "fixed": "#98a2b0",
        "initcall": "#5ab8c5", "probe": "#a68fd6", "service": "#5ab8c5", "process": "#6d9ee0",
        "path": "#6d9ee0", "wait": "#737e8d", "irq": "#5cc08f", "pin": "#5cc08f", "function": "#6d9ee0",
        "phase": "#6d9ee0", "other": "#98a2b0", "whole": "#98a2b0",
        "stretch0": "#98a2b0", "stretch1": "#7f8a99",
    },
    "#98a2b0 #5cc08f #e6b450 #cf7cbf #a68fd6 #6d9ee0 #5ab8c5 #e58a66",
    "#e0a867 #dd9650 #d5b765 #dd8a57 #cf9f74",
)  # fmt: skip
THEMES = {theme.name: theme for theme in (LIGHT, DARK)}


def theme_of(name: str) -> Theme:
    """The theme of that name. Raises UserError if there is none."""
    if name not in THEMES:
        raise unknown("theme", name, list(THEMES))
    return THEMES[name]
