# SPDX-License-Identifier: Apache-2.0
"""The fields of an event as babeltrace2 prints them: ``{ cpu_id = 0 }, { comm = "sh", pid = 18 }``.

Events of one name nearly always have the same fields in the same order. An expression for all of them is made
of the first such event; what it does not fit is searched for fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bootscope.readers.lines import Memo

Value = int | str | None
_TEXT = r'"((?:[^"\\]|\\.)*)"'
_ENUM = r"\( [^()]{0,120}? container = (-?\d{1,20}) \)"
_NUMBER = r"(-?(?:0x)?[0-9A-Fa-f]{1,20})\b"
_VALUE = rf"(?:{_TEXT}|{_ENUM}|{_NUMBER})"
_FIELD = re.compile(rf"(\w{{1,64}}) = {_VALUE}")
_PIECE = re.compile(rf"(\{{ )?(\w{{1,64}}) = {_VALUE}( \}})?(?:, |$)")
# The same values, as quick as can be where a comma, a brace or the end must follow; %s begins their text.
_QUICK_TEXT = r'"%s[^"\\]*+(?:\\.[^"\\]*+)*+)"'
_QUICK_ENUM = r"\( [^()]{0,120}? container = %s-?\d{1,20}) \)"
_QUICK_HEXADECIMAL, _QUICK_NUMBER = r"%s-?0x[0-9A-Fa-f]{1,20}+)", r"%s-?[0-9A-Fa-f]{1,20}+)"
_LONGEST, _MOST_PIECES = 4096, 200
_MOST_OF_ONE, _MOST, _MOST_TEXTS = 4, 500, 4_000


@dataclass(frozen=True, slots=True)
class Field:
    """A field that is wanted: its names, the first that an event has counts, and what becomes of its text
    (None for a text that is no value)."""

    names: tuple[str, ...]
    convert: Callable[[str], Value]


@dataclass(frozen=True, slots=True)
class _Layout:
    """An expression for events that have the same fields, and which of its groups the wanted ones are; the
    last one, which is empty, is for those that are not there."""

    pattern: re.Pattern[str]
    groups: tuple[int, ...]
    values: Mapping[tuple[str, ...], Sequence[Value]]
    """By the texts of the wanted fields: the same ones come again and again."""


class EventFields:
    """Finds the wanted fields of events: `wanted(name)` of those with that name, at least two."""

    def __init__(self, wanted: Callable[[str], Sequence[Field]]) -> None:
        self._wanted = wanted
        self._layouts: dict[str, list[_Layout]] = {}

    def of(self, name: str, line: str, at: int) -> Sequence[Value]:
        """The wanted fields of the event `name` in the order in which they are wanted, None for one that it
        has not. They stand in `line` from `at` on; of several of one name the last one counts."""
        layouts = self._layouts.get(name, ())
        for layout in layouts:
            if match := layout.pattern.fullmatch(line, at):
                return layout.values[match.group(*layout.groups)]
        rest = line[at:]
        wanted = self._wanted(name)
        found = {one: text or other or plain for one, text, other, plain in _FIELD.findall(rest)}
        if len(layouts) < _MOST_OF_ONE and len(self._layouts) < _MOST and len(rest) < _LONGEST:
            learnt = _learnt(wanted, rest)
            if learnt:
                self._layouts.setdefault(name, []).append(learnt)
        return [_value(field, found) for field in wanted]


def _value(field: Field, found: Mapping[str, str]) -> Value:
    text = next((found[name] for name in field.names if name in found), None)
    return None if text is None else field.convert(text)


def _learnt(wanted: Sequence[Field], rest: str) -> _Layout | None:
    """The layout of an event whose fields are `rest`; None where there is something else, as in a damaged
    line."""
    pieces: list[re.Match[str]] = []
    at = 0
    while at < len(rest) and len(pieces) < _MOST_PIECES and (piece := _PIECE.match(rest, at)):
        pieces.append(piece)
        at = piece.end()
    if at < len(rest) or rest.endswith(", "):
        return None
    last = {piece[2]: index for index, piece in enumerate(pieces)}
    names = [next((name for name in field.names if name in last), None) for field in wanted]
    groups = sorted(last[name] for name in set(names) if name)
    parts = [_part(piece, index in groups) for index, piece in enumerate(pieces)]
    places = tuple(groups.index(last[name]) + 1 if name else len(groups) + 1 for name in names)
    convert = tuple(field.convert if name else _absent for name, field in zip(names, wanted, strict=True))

    def converted(texts: tuple[str, ...]) -> Sequence[Value]:
        return [make(text) for make, text in zip(convert, texts, strict=True)]

    return _Layout(re.compile(", ".join(parts) + "()"), places, Memo(converted, _MOST_TEXTS))


def _absent(_: str) -> None:
    """The value of a field that is not there."""


def _part(piece: re.Match[str], wanted: bool) -> str:
    """An expression for pieces like this one."""
    opens, name, text, enum, number, closes = piece.groups()
    if text is not None:
        value = _QUICK_TEXT
    elif enum is not None:
        value = _QUICK_ENUM
    else:
        value = _QUICK_HEXADECIMAL if "0x" in number else _QUICK_NUMBER
    value %= "(" if wanted else "(?:"
    return re.escape(opens or "") + name + " = " + value + re.escape(closes or "")
