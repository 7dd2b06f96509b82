# SPDX-License-Identifier: Apache-2.0
"""A picture as it is composed: elements of SVG, in pixels, from the top down.

Texts may come from a board: :func:`bootscope.export.text.plain` reduces them to one line of printable
characters, then they are escaped. A shortened text has its full form in a <title>.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from bootscope.export.text import plain
from bootscope.pictures.measure import ELLIPSIS, fit, width
from bootscope.pictures.theme import FONTS, Theme
from bootscope.timeline.trace import NOT_KNOWN, OR_LESS, OR_MORE

SIZE, SMALL, LARGE = 14, 12, 23
"""Sizes of texts, in pixels of a picture 1200 wide."""
LONGEST_TITLE = 300
MARGIN = 28
STUB = 26
"""The length over which a bar without a known end fades out, beyond its known part."""


def xml(words: str, limit: int = LONGEST_TITLE) -> str:
    """A text escaped for use in an element or an attribute."""
    return escape(plain(words, limit), {'"': "&quot;"})


@dataclass
class Canvas:
    """Elements of a picture `width` pixels wide; `y` is how far down it reaches."""

    width: int
    theme: Theme
    margin: float = MARGIN
    y: float = MARGIN
    out: list[str] = field(default_factory=list)
    bounds: set[str] = field(default_factory=set)
    """The kinds of bounds that were drawn: the legend explains them."""

    @property
    def left(self) -> float:
        """The left edge of the content."""
        return self.margin

    @property
    def right(self) -> float:
        """The right edge of the content."""
        return self.width - self.margin

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        size: float = SIZE,
        fill: str = "ink",
        anchor: str = "start",
        bold: bool = False,
        room: float | None = None,
        colour: str | None = None,
        cut: Callable[[str, float, float, bool], str] = fit,
    ) -> float:
        """A text with its baseline at `y`, shortened to `room` by `cut`; returns its width. `fill` names a
        colour of the theme, `colour` is a colour itself."""
        whole = plain(words, LONGEST_TITLE)
        shown = whole if room is None else cut(whole, room, size, bold)
        if not shown:
            return 0
        attributes = [f'x="{_n(x)}" y="{_n(y)}" font-size="{_n(size)}" fill="{colour or self.theme[fill]}"']
        attributes += [f'text-anchor="{anchor}"'] if anchor != "start" else []
        attributes += ['font-weight="600"'] if bold else []
        title = f"<title>{xml(words)}</title>" if shown != whole or whole.endswith(ELLIPSIS) else ""
        self.out.append(f"<text {' '.join(attributes)}>{title}{escape(shown)}</text>")
        return width(shown, size, bold)

    def rect(
        self, x: float, y: float, wide: float, high: float, fill: str, title: str = "", more: str = ""
    ) -> None:
        """A filled rectangle that shows `title` when the pointer is on it."""
        place = f'x="{_n(x)}" y="{_n(y)}" width="{_n(max(0.7, wide))}" height="{_n(high)}"'
        self._shape("rect", f'{place} fill="{fill}"{more}', title)

    def bar(
        self, x: float, y: float, wide: float, high: float, fill: str, title: str = "", bound: str = ""
    ) -> None:
        """A stretch of time in a colour of the theme; `bound` says how its length is known, in the same words
        as for phases: a lower bound has an open end, an upper bound is hatched, an unknown length is an
        outline."""
        if bound:
            self.bounds.add(bound)
        colour = self.theme[fill]
        if bound == OR_LESS:
            self.rect(x, y, wide, high, f"url(#hatch-{fill})", title, f' stroke="{colour}"')
        elif bound == NOT_KNOWN:
            dashed = f' stroke="{self.theme["quiet"]}" stroke-dasharray="4 3"'
            self.rect(x + 0.5, y + 0.5, max(1, wide - 1), high - 1, self.theme["paper"], title, dashed)
        elif bound == OR_MORE:
            self.rect(x, y, wide, high, colour, title)
            self.rect(x + wide, y, STUB, high, f"url(#open-{fill})", title)
        else:
            self.rect(x, y, wide, high, colour, title)

    def line(self, x1: float, y1: float, x2: float, y2: float, colour: str, wide: float = 1) -> None:
        """A straight line in a colour of the theme."""
        place = f'x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}"'
        self.out.append(f'<line {place} stroke="{self.theme[colour]}" stroke-width="{_n(wide)}"/>')

    def dot(self, x: float, y: float, colour: str, title: str = "", hollow: bool = False) -> None:
        """A point; a ring if `hollow`."""
        paint = self.theme[colour]
        filled = f'fill="none" stroke="{paint}" stroke-width="2"' if hollow else f'fill="{paint}"'
        self._shape("circle", f'cx="{_n(x)}" cy="{_n(y)}" r="{4 if hollow else 5}" {filled}', title)

    def _shape(self, tag: str, attributes: str, title: str) -> None:
        inner = f"><title>{xml(title)}</title></{tag}>" if title else "/>"
        self.out.append(f"<{tag} {attributes}{inner}")

    def svg(self, title: str) -> str:
        """The picture as the text of an .svg file."""
        high = round(self.y + self.margin)
        size = f'viewBox="0 0 {self.width} {high}" width="{self.width}" height="{high}"'
        fonts = ", ".join(f"'{name}'" if " " in name else name for name in FONTS)
        body = "\n".join(self.out)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="{fonts}">\n'
            f"<title>{xml(title)}</title>\n{self._patterns(body)}"
            f'<rect width="100%" height="100%" fill="{self.theme["paper"]}"/>\n{body}\n</svg>\n'
        )

    def _patterns(self, body: str) -> str:
        """The hatchings and fades that are used."""
        found = []
        for name, colour in self.theme.colours.items():
            if f"url(#hatch-{name})" in body:
                found.append(
                    f'<pattern id="hatch-{name}" width="7" height="7" patternUnits="userSpaceOnUse" '
                    f'patternTransform="rotate(45)"><rect width="3" height="7" fill="{colour}"/></pattern>'
                )
            if f"url(#open-{name})" in body:
                found.append(
                    f'<linearGradient id="open-{name}"><stop stop-color="{colour}"/>'
                    f'<stop offset="1" stop-color="{colour}" stop-opacity="0.08"/></linearGradient>'
                )
        return f"<defs>{''.join(found)}</defs>\n" if found else ""


def _n(value: float) -> str:
    """A number of pixels, written briefly."""
    return f"{value:.1f}".removesuffix(".0")
