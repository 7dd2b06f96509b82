# SPDX-License-Identifier: Apache-2.0
"""The kernel's descriptions of its trace events (/sys/kernel/tracing/events/*/*/format), and how to take
fields out of a record by them. https://docs.kernel.org/trace/events.html#event-formats
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from bootscope.readers.lines import Memo, decode

_NAME = re.compile(rb"^name: (\S{1,200})", re.M)
_ID = re.compile(rb"^ID: (\d{1,5})\s", re.M)
_FIELD = re.compile(
    rb"^\tfield:([^;\n]{1,300});\toffset:(\d{1,6});\tsize:(\d{1,6});(?:\tsigned:(\d);)?", re.M
)
_DECLARED = re.compile(r"(.*?)(\w+)((?:\[[^\]]*\])?)$")
_PAIR = re.compile(rb'\{ ?(0x[0-9a-fA-F]{1,8}|\d{1,10}), "([^"\\]{1,40})" ?\}')
_LETTERS = {1: "b", 2: "h", 4: "i", 8: "q"}
_MOST_FIELDS = 200

Get = Callable[[bytes, int, int], int | str]
"""A field of the record between two places of the data."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field: `kind` is its type in C, and `array` says that it is one."""

    name: str
    kind: str
    array: bool
    offset: int
    size: int
    signed: bool

    @property
    def is_text(self) -> bool:
        """Whether it holds characters, in place or elsewhere in the record."""
        return "char" in self.kind and self.array


@dataclass(frozen=True, slots=True)
class EventFormat:
    """One kind of event."""

    name: str
    number: int
    fields: tuple[Field, ...]
    printed: bytes
    """The end of the description: how the kernel prints it."""

    @property
    def own(self) -> tuple[Field, ...]:
        """Its fields without those that all events have."""
        return tuple(one for one in self.fields if not one.name.startswith("common_"))

    def symbols(self) -> dict[int, str]:
        """Numbers that are printed as words: all pairs that the description lists."""
        pairs = _PAIR.findall(self.printed)
        return {int(n, 16 if n.startswith(b"0x") else 10): decode(word) for n, word in pairs}


def parsed(text: bytes) -> EventFormat | None:
    """The format that a description tells; None for one that is none."""
    name, number = _NAME.search(text), _ID.search(text)
    if not name or not number:
        return None
    fields = []
    for declared, offset, size, signed in _FIELD.findall(text)[:_MOST_FIELDS]:
        found = _DECLARED.match(decode(declared))
        if found:
            kind, array = found[1].strip(), bool(found[3])
            array = array or kind.endswith("[]") or kind.startswith(("__data_loc", "__rel_loc"))
            fields.append(Field(found[2], kind, array, int(offset), int(size), signed == b"1"))
    start = text.find(b"print fmt:")
    return EventFormat(decode(name[1]), int(number[1]), tuple(fields), text[start:] if start >= 0 else b"")


def getter(one: Field, order: str, words: Memo[bytes, str]) -> Get | None:
    """How to take a field out of a record; None for one that is neither a number nor text. Raises
    IndexError or struct.error, when called, for a record that is too short for it."""
    if one.kind.startswith(("__data_loc", "__rel_loc")):
        return _located(one, order, words) if one.is_text else None
    if one.is_text:
        return _text_at(one, words)
    letter = _LETTERS.get(one.size)
    if letter is None or one.array:
        return None
    number = struct.Struct(order + (letter if one.signed else letter.upper()))
    offset, size = one.offset, one.size

    def get_number(data: bytes, start: int, end: int) -> int:
        if start + offset + size > end:
            raise IndexError(one.name)
        return int(number.unpack_from(data, start + offset)[0])

    return get_number


def _text_at(one: Field, words: Memo[bytes, str]) -> Get:
    offset, size = one.offset, one.size

    def get_text(data: bytes, start: int, end: int) -> str:
        stop = min(end, start + offset + size) if size else end
        return words[data[start + offset : stop].partition(b"\0")[0]]

    return get_text


def _located(one: Field, order: str, words: Memo[bytes, str]) -> Get:
    """Text whose place and length are in the field: 16 bits each."""
    number, offset = struct.Struct(order + "I"), one.offset
    after = one.offset + one.size if one.kind.startswith("__rel_loc") else 0

    def get_located(data: bytes, start: int, end: int) -> str:
        if start + offset + 4 > end:
            raise IndexError(one.name)
        (place,) = number.unpack_from(data, start + offset)
        at = start + after + (place & 0xFFFF)
        return words[data[at : min(end, at + (place >> 16))].partition(b"\0")[0]]

    return get_located


def getters(
    form: EventFormat, names: Sequence[str], order: str, words: Memo[bytes, str], texts: Collection[str] = ()
) -> list[Get] | None:
    """A getter for each of `names`, of which `texts` give text and the others numbers; None when one is
    missing or something else."""
    by_name = {one.name: one for one in form.fields if one.is_text == (one.name in texts)}
    found = [getter(by_name[name], order, words) for name in names if name in by_name]
    return [one for one in found if one] if len(found) == len(names) and all(found) else None
