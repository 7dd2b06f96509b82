# SPDX-License-Identifier: Apache-2.0
"""The fields of an event as babeltrace2 prints them: ``{ cpu_id = 0 }, { comm = "sh", pid = 18 }``.

Events of one name nearly always have the same fields in the same order. Which of the pieces between commas
holds which field is learnt from the first of them; a piece that comes again is understood once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

from bootscope.readers.lines import Memo

Value = int | str | None
_VALUE = (
    r'(?:"((?:[^"\\]|\\.)*)"|\( [^()]{0,120}? container = (-?\d{1,20}) \)'
    r"|(-?(?:0x)?[0-9A-Fa-f]{1,20})\b)"
)
_FIELD = re.compile(rf"(\w{{1,64}}) = {_VALUE}")
_PIECE = re.compile(rf"(?:\{{ )?(\w{{1,64}}) = {_VALUE}(?: \}})?")
_BETWEEN = ", "
_LONGEST, _MOST_PIECES = 4096, 200
_MOST_OF_ONE, _MOST = 4, 500


@dataclass(frozen=True, slots=True)
class Field:
    """A field that is wanted: its names, the first that an event has counts, and what becomes of its text
    (None for a text that is no value)."""

    names: tuple[str, ...]
    convert: Callable[[str], Value]


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the wanted fields stand in events of `pieces` pieces with `quotes` quotation marks: text with a
    comma or a quotation mark in it makes other figures."""

    pieces: int
    quotes: int
    pick: Callable[[Sequence[str]], tuple[str, ...]]
    values: tuple[Mapping[str, Value], ...]
    """By the text of the piece that `pick` gives at the same place."""
    absent: tuple[str, ...]
    """How the wanted fields would begin that such events do not have."""

    def fits(self, rest: str, pieces: int, quotes: int) -> bool:
        """Whether `rest`, which has so many pieces and quotation marks, may be laid out like that."""
        return self.pieces == pieces and self.quotes == quotes and not any(a in rest for a in self.absent)


class _Unlike(LookupError):
    """A piece is not the field that its layout says."""


class _None(Mapping[str, Value]):
    """For a field that an event does not have."""

    def __getitem__(self, piece: str) -> Value:
        return None

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


class EventFields:
    """Finds the wanted fields of events: `wanted(name)` of those with that name, at least two."""

    def __init__(self, wanted: Callable[[str], Sequence[Field]]) -> None:
        self._wanted = wanted
        self._layouts: dict[str, list[_Layout]] = {}

    def of(self, name: str, line: str, at: int) -> Sequence[Value]:
        """The wanted fields of the event `name` in the order in which they are wanted, None for one that it
        has not. They stand in `line` from `at` on; of several of one name the last one counts."""
        rest = line[at:]
        layouts = self._layouts.get(name, ())
        if layouts:
            pieces, quotes = rest.split(_BETWEEN), rest.count('"')
            for layout in layouts:
                if layout.fits(rest, len(pieces), quotes):
                    try:
                        return [v[p] for v, p in zip(layout.values, layout.pick(pieces), strict=True)]
                    except _Unlike:
                        continue
        wanted = self._wanted(name)
        found = {one: text or other or plain for one, text, other, plain in _FIELD.findall(rest)}
        values = [_value(field, found) for field in wanted]
        if len(layouts) < _MOST_OF_ONE and len(self._layouts) < _MOST and len(rest) < _LONGEST:
            learnt = _learnt(wanted, rest, values)
            if learnt:
                self._layouts.setdefault(name, []).append(learnt)
        return values


def _value(field: Field, found: Mapping[str, str]) -> Value:
    text = next((found[name] for name in field.names if name in found), None)
    return None if text is None else field.convert(text)


def _learnt(wanted: Sequence[Field], rest: str, values: Sequence[Value]) -> _Layout | None:
    """The layout of an event whose fields are `rest`, which hold these values; None where the pieces do not
    say the same."""
    pieces = rest.split(_BETWEEN)
    fields = [_PIECE.fullmatch(piece) for piece in pieces[:_MOST_PIECES]]
    # Of a damaged line nothing is learnt.
    if len(pieces) > _MOST_PIECES or None in fields:
        return None
    at = {match[1]: index for index, match in enumerate(fields) if match}
    names = [next((name for name in field.names if name in at), "") for field in wanted]
    memos = tuple(
        _of_piece(name, field) if name else _None() for name, field in zip(names, wanted, strict=True)
    )
    pick: Callable[[Sequence[str]], tuple[str, ...]] = itemgetter(*(at.get(name, 0) for name in names))
    told = [memo[piece] for memo, piece in zip(memos, pick(pieces), strict=True)]
    absent = tuple(
        f"{each} = " for name, field in zip(names, wanted, strict=True) if not name for each in field.names
    )
    layout = _Layout(len(pieces), rest.count('"'), pick, memos, absent)
    # Another field's name may end like one that is absent.
    return layout if told == list(values) and layout.fits(rest, len(pieces), layout.quotes) else None


def _of_piece(name: str, field: Field) -> Mapping[str, Value]:
    def value(piece: str) -> Value:
        match = _PIECE.fullmatch(piece)
        if not match or match[1] != name:
            raise _Unlike
        return field.convert(match[2] or match[3] or match[4] or "")

    return Memo(value)
