# SPDX-License-Identifier: Apache-2.0
"""The names of a kernel's functions, out of its uncompressed image: the table of CONFIG_KALLSYMS.

The table's form is what scripts/kallsyms.c of the kernel writes. Names are sequences of tokens; there are 256
of those, an index says where the text of each begins, and markers say where every 256th name begins. The
addresses are a part of their own (:mod:`.kallsyms_addresses`). Nothing in an image points to the table, so it
is found by its form, each part confirming another."""

from __future__ import annotations

import itertools
import re
import struct
from dataclasses import dataclass

from bootscope.core.errors import UserError
from bootscope.image import kallsyms_addresses

_TOKENS, _NAMES_A_MARKER = 256, 256
# The digits stand for themselves in every kernel: no name does without them.
_DIGITS = b"\0".join(b"%d" % n for n in range(10)) + b"\0"
_LONGEST_TOKEN_BYTES = 128
_LONGEST_NAME_BYTES = 2048
_FEWEST_NAMES, _MOST_NAMES = 256, 4_000_000
_MOST_TABLES = 16
"""Runs of digits that are looked at: an image has two or three."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name with its address and its kind as nm writes it (`T`: a global function, `t`: a local one)."""

    address: int
    kind: str
    name: str


@dataclass(frozen=True)
class Kallsyms:
    """A table: its symbols by address, and how it stores the addresses, in words."""

    symbols: list[Symbol]
    form: str


def read(image: bytes, word_bytes: int = 4) -> list[Symbol]:
    """The symbols of an uncompressed little-endian kernel, by address; `word_bytes` is the size of a pointer.

    Raises UserError when the image holds no such table, or none that this can read.
    """
    return read_table(image, word_bytes).symbols


def read_table(image: bytes, word_bytes: int = 4) -> Kallsyms:
    """As :func:`read`, with the form of the table."""
    for digits in itertools.islice(re.finditer(re.escape(_DIGITS), image), _MOST_TABLES):
        table = _tokens(image, digits.start())
        if not table:
            continue
        tokens, start, end = table
        found = _names(image, tokens, start, word_bytes)
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
    """(the 256 tokens, where their text begins, where the index behind it ends), or None."""
    start = digits
    for _ in range(ord("0")):
        before = image.rfind(b"\0", max(0, start - 1 - _LONGEST_TOKEN_BYTES), start - 1)
        if before < 0:
            return None
        start = before + 1
    tokens = image[start : start + _TOKENS * _LONGEST_TOKEN_BYTES].split(b"\0")[:_TOKENS]
    if len(tokens) < _TOKENS:
        return None
    # Something else may stand right before the first token: that begins where the index counts from.
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
    image: bytes, tokens: list[bytes], end: int, word_bytes: int
) -> tuple[int, int, list[bytes]] | None:
    """(number of names, where that number stands, the names with their kinds), or None."""
    markers = _markers(image, end)
    if not markers:
        return None
    at, marks = markers
    longest = _NAMES_A_MARKER * (_LONGEST_NAME_BYTES + 2)
    for first in range(at - marks[-1] - 4 & ~3, max(0, at - marks[-1] - longest), -4):
        # Since Linux 7 the number has no room of a pointer's size.
        for room in {word_bytes, 4}:
            (count,) = struct.unpack_from("<I", image, first - room)
            if -(-count // _NAMES_A_MARKER) == len(marks) and _FEWEST_NAMES <= count <= _MOST_NAMES:
                names = _expanded(image, tokens, first, count, marks)
                if names:
                    return count, first - room, names
    return None


def _markers(image: bytes, end: int) -> tuple[int, list[int]] | None:
    """(where the markers begin, the markers): rising numbers from 0 on, before the tokens.

    Between them and the tokens may lie what says in which order names are sorted: 3 bytes for each.
    """
    at = end & ~3
    lowest = max(4, end - 3 * _MOST_NAMES - 4 * _MOST_NAMES // _NAMES_A_MARKER)
    while at > lowest:
        run = [struct.unpack_from("<I", image, at - 4)[0]]
        begin = at - 4
        while run[-1] and begin >= 4:
            (value,) = struct.unpack_from("<I", image, begin - 4)
            step = run[-1] - value
            if not 2 * _NAMES_A_MARKER <= step <= _NAMES_A_MARKER * _LONGEST_NAME_BYTES:
                break
            run.append(value)
            begin -= 4
        if not run[-1] and len(run) > 1:
            return begin, run[::-1]
        at -= 4
    return None


def _expanded(
    image: bytes, tokens: list[bytes], first: int, count: int, marks: list[int]
) -> list[bytes] | None:
    """The names from `first` on, where they begin where the markers say; None where they do not."""
    names: list[bytes] = []
    at = first
    for number in range(count):
        if number % _NAMES_A_MARKER == 0 and at - first != marks[number // _NAMES_A_MARKER]:
            return None
        length = image[at]
        at += 1
        if length & 0x80:
            length = length & 0x7F | image[at] << 7
            at += 1
        if not 0 < length <= _LONGEST_NAME_BYTES:
            return None
        names.append(b"".join([tokens[token] for token in image[at : at + length]]))
        at += length
    return names
