# SPDX-License-Identifier: Apache-2.0
"""The shapes of an SVG drawing, read without trusting it: no entities, no files, no network."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from xml.parsers import expat

from bootscope.readers.base import Repair
from bootscope.readers.timespan import LONGEST_NS, decimal_ns

COMMENT = "!--"
_MAX_SHAPES = 2_000_000
_MAX_TEXT = 4096
MICRO = 1_000_000
_SECONDS = re.compile(r"(-?\d{1,6}(?:\.\d{1,3})?)s")


@dataclass(frozen=True, slots=True)
class Shape:
    """An element: its tag, attributes, the text in it (untrusted, cut at 4096) and the line it is in."""

    tag: str
    attributes: Mapping[str, str]
    text: str
    line: int

    def micro(self, name: str) -> int | None:
        """An attribute that is a length, in millionths of a unit; None when it is not there or no number."""
        return decimal_ns(self.attributes.get(name, "").removesuffix("px"), MICRO)

    def times(self, ns_per_px: int) -> tuple[int, int] | None:
        """Start and end, in ns, of a bar whose place is its time; None when it has none that can be."""
        x, width = self.micro("x"), self.micro("width")
        if x is None or width is None or width < 0:
            return None
        start, end = (at * ns_per_px // MICRO for at in (x, x + width))
        return (start, end) if start > -LONGEST_NS and end < LONGEST_NS else None


def ns_per_unit(found: Iterable[Shape]) -> int:
    """How long a unit of length is, by the label of the time axis (``1.0s``) that is furthest from 0.

    In ns; 0 when there is no axis.
    """
    best = (0, 0)
    for shape in found:
        match = _SECONDS.fullmatch(shape.text) if shape.attributes.get("class") == "sec" else None
        x = shape.micro("x") if match else None
        ns = decimal_ns(match[1]) if match else None
        if x and ns and abs(x) > abs(best[0]):
            best = (x, ns)
    return max(0, best[1] * MICRO // best[0]) if best[0] else 0


class _Refused(Exception):
    """The file declares entities, which no drawing of a boot needs and attacks do."""


def shapes(data: bytes, tags: frozenset[str]) -> tuple[list[Shape], list[Repair]]:
    """All elements of the kinds `tags` in the order in which they begin, and what was wrong.

    Comments are shapes of the tag COMMENT, for those who ask for them.

    A drawing that breaks off gives what is before the break. Never raises.
    """
    reader = _Reader(tags)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.said
    parser.CommentHandler = reader.comment
    parser.EntityDeclHandler = reader.entity
    reader.line = lambda: parser.CurrentLineNumber
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        what = f"the drawing is malformed: {expat.ErrorString(error.code)}"
        reader.repairs.append(Repair(what, 1, error.lineno))
    except _Refused:
        reader.repairs.append(Repair("it declares entities: not read", 1, parser.CurrentLineNumber))
    except (ValueError, LookupError) as error:
        reader.repairs.append(Repair(f"the drawing is malformed: {error}", 1, parser.CurrentLineNumber))
    return reader.finish(), reader.repairs


class _Reader:
    """Collects what the parser calls out."""

    def __init__(self, tags: frozenset[str]) -> None:
        self.repairs: list[Repair] = []
        self.line: Callable[[], int] = lambda: 0
        self._tags = tags
        self._found: list[tuple[str, Mapping[str, str], list[str], int]] = []
        self._open: list[int] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag in self._tags and len(self._found) < _MAX_SHAPES:
            self._open.append(len(self._found))
            self._found.append((tag, attributes, [], self.line()))

    def end(self, tag: str) -> None:
        if tag in self._tags and self._open:
            self._open.pop()

    def said(self, text: str) -> None:
        if self._open:
            parts = self._found[self._open[-1]][2]
            if len(parts) < 16:
                parts.append(text[:_MAX_TEXT])

    def comment(self, text: str) -> None:
        if COMMENT in self._tags and len(self._found) < _MAX_SHAPES:
            self._found.append((COMMENT, {}, [text[:_MAX_TEXT].strip()], self.line()))

    def entity(self, *_: object) -> None:
        raise _Refused

    def finish(self) -> list[Shape]:
        return [Shape(tag, attributes, "".join(parts), line) for tag, attributes, parts, line in self._found]
