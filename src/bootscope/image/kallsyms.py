# SPDX-License-Identifier: Apache-2.0
"""The names of a kernel's functions, from its uncompressed image: the table of CONFIG_KALLSYMS.

The table has the format that the kernel's scripts/kallsyms.c writes. Names are sequences of tokens; there are
256 tokens, an index has the offset of each one's text, and markers have the offset of every 256th name. The
addresses are a separate part (:mod:`.kallsyms_addresses`). Nothing in an image points to the table, so it is
found by its structure, whose parts confirm one another.
"""

from __future__ import annotations

import itertools
import re
import struct
from dataclasses import dataclass

from bootscope.core.errors import UserError
from bootscope.image import kallsyms_addresses

_TOKENS, _NAMES_A_MARKER = 256, 256
# In every kernel the digits are tokens of their own: names need them.
_DIGITS = b"\0".join(b"%d" % n for n in range(10)) + b"\0"
_LONGEST_TOKEN_BYTES = 128
_LONGEST_NAME_BYTES = 2048
_FEWEST_NAMES, _MOST_NAMES = 256, 4_000_000
_MOST_PADDING_BYTES = 7
"""Between the names and the markers."""
_MOST_TABLES = 16
"""Runs of digits that are examined: an image has two or three."""
_OBJECT_BYTES = 33
"""What a name takes beside its text."""
_MOST_TEXT_BYTES = 256 << 20
"""Limit for the names that are read from one image, in memory. The largest kernels have some 50 MB."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name with its address and its kind as in nm (`T`: a global function, `t`: a local one)."""

    address: int
    kind: str
    name: str


@dataclass(frozen=True)
class Kallsyms:
    """A table: its symbols by address, and the format of the addresses, in words."""

    symbols: list[Symbol]
    form: str


@dataclass
class _Room:
    """How much may still be read from an image, whose tables may be wrong on purpose; in bytes of memory."""

    left_bytes: int = _MOST_TEXT_BYTES

    def take(self, text_bytes: int) -> bool:
        """Whether there is room for one more name."""
        self.left_bytes -= text_bytes + _OBJECT_BYTES
        return self.left_bytes >= 0


def read(image: bytes, word_bytes: int = 4) -> list[Symbol]:
    """The symbols of an uncompressed little-endian kernel, by address; `word_bytes` is the size of a pointer.

    Raises UserError when the image contains no such table, or none in a known format.
    """
    return read_table(image, word_bytes).symbols


def read_table(image: bytes, word_bytes: int = 4) -> Kallsyms:
    """Like :func:`read`, with the format of the table."""
    room = _Room()
    for digits in itertools.islice(re.finditer(re.escape(_DIGITS), image), _MOST_TABLES):
        table = _tokens(image, digits.start())
        if not table:
            continue
        tokens, start, end = table
        found = _names(image, tokens, start, word_bytes, room)
        if found:
            count, first, names = found
            addresses = kallsyms_addresses.read(image, count, first, end, word_bytes)
            if addresses:
                texts = (name.decode("ascii", "replace") for name in names)
                pairs = zip(addresses.values, texts, strict=True)
                form = f"{addresses.form}, base filled in at start" if addresses.relocated else addresses.form
                return Kallsyms([Symbol(at, name[:1], name[1:]) for at, name in pairs], form)
    raise UserError(
        "the kernel image has no readable symbol table",
        hint="it needs a kernel with CONFIG_KALLSYMS=y",
    )


def _tokens(image: bytes, digits: int) -> tuple[list[bytes], int, int] | None:
    """(the 256 tokens, the offset of their text, the end of the index behind it), or None."""
    start = digits
    for _ in range(ord("0")):
        before = image.rfind(b"\0", max(0, start - 1 - _LONGEST_TOKEN_BYTES), start - 1)
        if before < 0:
            return None
        start = before + 1
    tokens = image[start : start + _TOKENS * _LONGEST_TOKEN_BYTES].split(b"\0")[:_TOKENS]
    if len(tokens) < _TOKENS:
        return None
    # Other data may precede the first token, which begins where the index counts from.
    for first in range(max(1, len(tokens[0]))):
        exact = [tokens[0][first:], *tokens[1:]]
        *offsets, size = itertools.accumulate((len(token) + 1 for token in exact), initial=0)
        if offsets[-1] > 0xFFFF:
            return None
        end = start + first + size
        index = image.find(struct.pack(f"<{_TOKENS}H", *offsets), end, end + 64 + 2 * _TOKENS)
        if index >= 0:
            return exact, start + first, index + 2 * _TOKENS
    return None


def _names(
    image: bytes, tokens: list[bytes], end: int, word_bytes: int, room: _Room
) -> tuple[int, int, list[bytes]] | None:
    """(number of names, the offset of that number, the names with their kinds), or None."""
    markers = _markers(image, end)
    if not markers:
        return None
    at, marks = markers
    longest = _NAMES_A_MARKER * (_LONGEST_NAME_BYTES + 2)
    for first in range(at - marks[-1] - 4 & ~3, max(word_bytes, at - marks[-1] - longest) - 1, -4):
        # Since Linux 7 the number is not padded to the size of a pointer.
        for width in {word_bytes, 4}:
            (count,) = struct.unpack_from("<I", image, first - width)
            if -(-count // _NAMES_A_MARKER) == len(marks) and _FEWEST_NAMES <= count <= _MOST_NAMES:
                names = _expanded(image, tokens, first, count, at, marks, room)
                if names:
                    return count, first - width, names
                if room.left_bytes < 0:
                    return None
    return None


def _markers(image: bytes, end: int) -> tuple[int, list[int]] | None:
    """(the offset of the markers, the markers): increasing numbers from 0 on, before the tokens.

    The order in which names are sorted may be stored between them and the tokens: 3 bytes for each.
    """
    at = end & ~3
    most = -(-_MOST_NAMES // _NAMES_A_MARKER)
    lowest = max(4, end - 3 * _MOST_NAMES - 4 * most)
    while at > lowest:
        run = [struct.unpack_from("<I", image, at - 4)[0]]
        begin = at - 4
        while run[-1] and begin >= 4 and len(run) <= most:
            (value,) = struct.unpack_from("<I", image, begin - 4)
            step = run[-1] - value
            if not 2 * _NAMES_A_MARKER <= step <= _NAMES_A_MARKER * _LONGEST_NAME_BYTES:
                break
            run.append(value)
            begin -= 4
        if not run[-1] and len(run) > 1:
            return begin, run[::-1]
        # A run that begins inside this one ends where this one does.
        at = begin
    return None


def _expanded(
    image: bytes, tokens: list[bytes], first: int, count: int, end: int, marks: list[int], room: _Room
) -> list[bytes] | None:
    """The names from `first` on, if they begin where the markers say and end at `end`, before the markers;
    None otherwise."""
    # The last ones tell most wrong beginnings, of which an image may have a hundred thousand.
    last = _NAMES_A_MARKER * (len(marks) - 1)
    ends = first + marks[-1]
    for _ in range(count - last):
        if ends >= end or not room.take(0):
            return None
        length, ends = _length(image, ends)
        if not length:
            return None
        ends += length
    if not 0 <= end - ends <= _MOST_PADDING_BYTES:
        return None
    names: list[bytes] = []
    at = first
    for number in range(count):
        if number % _NAMES_A_MARKER == 0 and at - first != marks[number // _NAMES_A_MARKER]:
            return None
        if at >= end:
            return None
        length, at = _length(image, at)
        name = b"".join([tokens[token] for token in image[at : at + length]])
        if not 0 < len(name) <= _LONGEST_NAME_BYTES or not room.take(len(name)):
            return None
        names.append(name)
        at += length
    return names


def _length(image: bytes, at: int) -> tuple[int, int]:
    """(the number of tokens of the name at an offset, the offset of the first one); 0 tokens if that is no
    name. `at` is an offset before the tokens, so that two more bytes are there."""
    length = image[at]
    at += 1
    if length & 0x80:
        length = length & 0x7F | image[at] << 7
        at += 1
    return (length if length <= _LONGEST_NAME_BYTES else 0), at
