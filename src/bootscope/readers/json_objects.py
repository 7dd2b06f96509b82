# SPDX-License-Identifier: Apache-2.0
"""Objects out of a long JSON text one by one, so that a million of them need no memory at once."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterable, Iterator
from typing import TypeVar

import msgspec

from bootscope.core.damaged import DAMAGED

T = TypeVar("T")
_AT_ONCE = 65536
_START = re.compile(r"\{")
_BYTE = re.compile(r"[0-9]{1,3}")


def objects(data: bytes, after: bytes = b"") -> Iterator[dict[str, object] | None]:
    """Every object that stands in `data` behind `after`, not those inside others; numbers are kept as text.

    None stands for a place where an object begins that is none: the search goes on behind it.
    """
    begin = data.find(after) + len(after) if after else 0
    at = yield from _by_line(data, max(begin, 0), len(data))
    yield from _anywhere(data, at)


def structs(
    data: bytes, decoder: msgspec.json.Decoder[T]
) -> Iterator[Iterable[T] | Iterable[dict[str, object] | None]]:
    """The objects of `data` as :func:`objects` finds them, some at a time; those of lines that hold one each
    and nothing else as what `decoder` makes of them, where it takes all lines of some tens of thousand bytes.
    """
    at = 0
    while at < len(data):
        end = data.find(b"\n", at + _AT_ONCE) + 1 or len(data)
        try:
            found = decoder.decode_lines(data[at:end])
        except DAMAGED:
            ended = _Ended(_by_line(data, at, end))
            yield ended
            if ended.at != end:
                yield _anywhere(data, ended.at)
                return
        else:
            yield found
        at = end


class _Ended(Iterable[dict[str, object]]):
    """Objects line by line; then `at` says where that ended."""

    def __init__(self, lines: Generator[dict[str, object], None, int]) -> None:
        self._lines, self.at = lines, 0

    def __iter__(self) -> Iterator[dict[str, object]]:
        self.at = yield from self._lines


def _anywhere(data: bytes, at: int) -> Iterator[dict[str, object] | None]:
    """The objects that begin anywhere behind `at`."""
    decoder = _decoder()
    text = data[at:].decode("utf-8", "backslashreplace")
    at = 0
    # An error counts the lines before it: hostile text must not make that happen without end.
    budget = 4 * len(text) + 1_000_000
    while (match := _START.search(text, at)) and budget > 0:
        try:
            found, at = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError) as error:
            at = max(match.end(), getattr(error, "pos", 0))
            budget -= at // 16 + 1000
            yield None
        else:
            yield found if isinstance(found, dict) else None


def _decoder() -> json.JSONDecoder:
    return json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)


def _by_line(data: bytes, at: int, stop: int) -> Generator[dict[str, object], None, int]:
    """The objects of lines that hold one each and nothing behind it, as a journal's do, from `at` to `stop`,
    the end of a line; returns where the first other line with the beginning of an object is, or `stop`.

    Line by line, a long file is never there as text as a whole. msgspec takes a third of the time of the
    standard library, which is asked where a value is more than text.
    """
    texts, decoder = msgspec.json.Decoder(dict[str, str | None]), _decoder()
    while (start := data.find(b"{", at, stop)) >= 0:
        at = data.find(b"\n", start, stop) + 1 or stop
        line = data[start:at]
        found: object
        try:
            found = texts.decode(line)
        except DAMAGED:
            try:
                found = decoder.decode(line.decode("utf-8", "backslashreplace"))
            except (ValueError, RecursionError):
                return start
        if not isinstance(found, dict):
            return start
        yield found
    return stop


def text_of(value: object) -> bytes:
    """The bytes of a value: text, or a list of byte values as journalctl writes what is not UTF-8."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace")
    if isinstance(value, list) and all(isinstance(n, str) and _BYTE.fullmatch(n) for n in value):
        return bytes(int(n) & 255 for n in value)
    return b""
