# SPDX-License-Identifier: Apache-2.0
"""Pictures as PNG and PDF, by Typst: it lays out and draws, offline, from data in memory.

Text from a boot is never Typst markup: texts and pictures are passed as data, by `sys.inputs`. Typst draws
texts in the fonts of this computer, and has fonts of its own for characters that these lack.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from bootscope.core import hints
from bootscope.core.errors import ToolError, UserError, printable
from bootscope.pictures import theme

Form = Literal["png", "pdf"]
PACKAGE = "typst"
MOST_PIXELS = 60_000_000
_POINTS_PER_INCH = 72
_SIZE = re.compile(r'viewBox="0 0 (\d+) (\d+)"')
FONTS = tuple(name for name in theme.FONTS if name not in theme.GENERIC)
"""The fonts of texts; the first that this computer has is used."""
OWN_FONT = "Libertinus Serif"
"""Typst's own font, for a computer without any of these."""
_PICTURE = """
#set page(width: float(sys.inputs.width) * 1pt, height: float(sys.inputs.height) * 1pt)
#set page(margin: 0pt, fill: none)
#set text(font: json(bytes(sys.inputs.fonts)), fallback: true)
#image(bytes(sys.inputs.picture), format: "svg", width: 100%, alt: sys.inputs.title)
"""


def check() -> None:
    """Raises UserError if what PNG and PDF need is not installed."""
    if importlib.util.find_spec(PACKAGE) is None:
        raise UserError(f"PNG and PDF need the Python package {PACKAGE}", hint=hints.pictures())


def size_of(svg: str) -> tuple[int, int]:
    """Width and height of one of our pictures, in pixels."""
    found = _SIZE.search(svg)
    if not found:
        raise ValueError("not a picture of ours: it has no viewBox")
    return int(found[1]), int(found[2])


def png(svg: str, title: str, scale: int = 1) -> bytes:
    """The picture as PNG, `scale` times as wide and high. Raises UserError if these are too many pixels."""
    width, height = size_of(svg)
    if width * height * scale * scale > MOST_PIXELS:
        raise UserError(
            f"a PNG of {width * scale:,} x {height * scale:,} pixels is too large",
            hint="a smaller --width, or SVG",
        )
    return _made(_PICTURE, "png", _inputs(svg, title), scale)


def pdf(svg: str, title: str) -> bytes:
    """The picture as a PDF of one page of the same size."""
    return _made(_PICTURE, "pdf", _inputs(svg, title))


def _inputs(svg: str, title: str) -> dict[str, str]:
    width, height = size_of(svg)
    return {"width": str(width), "height": str(height), "picture": svg, "title": title}


def page(
    template: Path, values: Mapping[str, object], pictures: Mapping[str, str], form: Form = "pdf"
) -> bytes:
    """A page that a Typst template lays out from `values` and our pictures, by name."""
    inputs = {"values": msgspec.json.encode(values).decode(), **pictures}
    return _made(template.read_text(), form, inputs)


def _made(source: str, form: Form, inputs: Mapping[str, str], scale: int = 1) -> bytes:
    # Only PNG and PDF need it, and it is large.
    import typst

    given = {**inputs, "fonts": msgspec.json.encode([font()]).decode()}
    try:
        made: object = typst.compile(
            source.encode(),
            format=form,
            ppi=scale * _POINTS_PER_INCH,
            sys_inputs=given,
            timestamp=datetime.fromtimestamp(0, UTC),
        )
    except typst.TypstError as error:
        raise ToolError(f"Typst cannot draw this: {printable(str(error))}") from error
    if not isinstance(made, bytes):
        raise ToolError("Typst made more than one page of one")
    return made


@cache
def font() -> str:
    """The font of PNG and PDF on this computer."""
    import typst

    there = set(typst.Fonts().families())
    return next((name for name in FONTS if name in there), OWN_FONT)
