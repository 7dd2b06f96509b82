# SPDX-License-Identifier: Apache-2.0
"""The fields of an event as babeltrace2 prints them: ``{ cpu_id = 0 }, { comm = "sh", pid = 18 }``.

Events of one name nearly always have the same fields in the same order. An expression for all of them is made
of the first such event; what it does not fit is searched for fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from bootscope.readers.lines import Memo

Value = int | str | None
T = TypeVar("T")
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
class _Layout(Generic[T]):
    """An expression for events that have the same fields, and which of its groups the wanted ones are; the
    last one, which is empty, is for those that are not there."""

    pattern: re.Pattern[bytes]
    groups: tuple[int, ...]
    values: Mapping[tuple[bytes, ...], T]
    """By the texts of the wanted fields: the same ones come again and again."""


class EventFields(Generic[T]):
    """Finds the wanted fields of events: `wanted(name)` of those with that name, at least two; what is wanted
    of their values is what `made` makes of the name and the values, in the order in which they are wanted,
    None for one that the event has not."""

    def __init__(
        self, wanted: Callable[[str], Sequence[Field]], made: Callable[[str, Sequence[Value]], T]
    ) -> None:
        self._wanted, self._made = wanted, made
        self._layouts: dict[bytes, list[_Layout[T]]] = {}

    def quick(self, name: bytes, text: bytes) -> T | None:
        """:meth:`of` the event `name` whose fields are `text`, both ASCII; None for a layout that is not
        known yet."""
        for layout in self._layouts.get(name, ()):
            if match := layout.pattern.fullmatch(text):
                return layout.values[match.group(*layout.groups)]
        return None

    def of(self, name: str, text: str) -> T:
        """What is made of the event `name` whose fields are `text`; of several of one name the last one
        counts."""
        wanted = self._wanted(name)
        found = {one: text or other or plain for one, text, other, plain in _FIELD.findall(text)}
        if name.isascii() and text.isascii():
            self._learn(name, wanted, text)
        return self._made(name, [_value(field, found) for field in wanted])

    def _learn(self, name: str, wanted: Sequence[Field], text: str) -> None:
        layouts = self._layouts.get(name.encode(), [])
        if len(layouts) >= _MOST_OF_ONE or len(self._layouts) >= _MOST or len(text) >= _LONGEST:
            return
        learnt = _learnt(wanted, text)
        if learnt is None:
            return
        pattern, groups, convert = learnt

        def converted(texts: tuple[bytes, ...]) -> T:
            return self._made(
                name, [make(raw.decode("ascii")) for make, raw in zip(convert, texts, strict=True)]
            )

        layouts.append(_Layout(pattern, groups, Memo(converted, _MOST_TEXTS)))
        self._layouts[name.encode()] = layouts


def _value(field: Field, found: Mapping[str, str]) -> Value:
    text = next((found[name] for name in field.names if name in found), None)
    return None if text is None else field.convert(text)


_Learnt = tuple[re.Pattern[bytes], tuple[int, ...], tuple[Callable[[str], Value], ...]]


def _learnt(wanted: Sequence[Field], rest: str) -> _Learnt | None:
    """The layout of an event whose fields are `rest`, and what makes the values of its groups; None where
    there is something else, as in a damaged line."""
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
    return re.compile((", ".join(parts) + "()").encode("ascii")), places, convert


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
