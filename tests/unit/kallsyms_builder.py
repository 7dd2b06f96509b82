# SPDX-License-Identifier: Apache-2.0
"""Makes tables of kernel symbols as the kernel's own scripts/kallsyms writes them, to test the reader."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from bootscope.image.kallsyms import Symbol

_PAIRS = (b"on", b"er", b"in", b"_t", b"st")
"""Texts of two letters that get a token of their own, as the frequent ones of a kernel do."""


def tokens() -> list[bytes]:
    """256 tokens: every character for itself, and pairs under numbers that no name uses."""
    table = [bytes([n]) if 0x21 <= n < 0x7F else b"" for n in range(256)]
    for number, pair in enumerate(_PAIRS):
        table[128 + number] = pair
    # The tools fill what is left with text too; an empty one would not be told from the end of another.
    return [token or b"x" for token in table]


def compressed(symbol: Symbol) -> bytes:
    """The name of a symbol behind its length, in tokens."""
    text, out = (symbol.kind + symbol.name).encode(), bytearray()
    while text:
        pair = next((n for n, p in enumerate(_PAIRS) if text.startswith(p)), None)
        out.append(text[0] if pair is None else 128 + pair)
        text = text[1 if pair is None else 2 :]
    length = len(out)
    return (bytes([length]) if length < 128 else bytes([length & 127 | 128, length >> 7])) + bytes(out)


def _distance(address: int, base: int) -> int:
    """How x86-64 stores an address that is one CPU's own from 0 on, or else of the kernel."""
    return address if address < base else base - 1 - address


def _offsets(symbols: Sequence[Symbol], base: int, form: str) -> bytes:
    if form == "own":
        return b""
    if form == "percpu":
        return struct.pack(f"<{len(symbols)}i", *(_distance(s.address, base) for s in symbols))
    return struct.pack(f"<{len(symbols)}I", *(s.address - base for s in symbols))


def table(
    symbols: Sequence[Symbol],
    base: int,
    word: int = 4,
    modern: bool = True,
    sequence: bool = True,
    form: str = "relative",
    begins: int = 0,
) -> bytes:
    """The table: `modern` puts the addresses behind the tokens, `sequence` the sorted order before them.

    `form`: `relative`, `percpu` or `absolute`; `empty` has a base that is filled in later; `own` has
    distances from where they stand themselves, in a table that begins `begins` bytes behind `base`.
    """

    def aligned(data: bytes) -> bytes:
        return data + bytes(-len(data) % word)

    names, markers = b"", []
    for number, symbol in enumerate(symbols):
        if number % 256 == 0:
            markers.append(len(names))
        names += compressed(symbol)
    texts, index, at = b"", b"", 0
    for token in tokens():
        texts += token + b"\0"
        index += struct.pack("<H", at)
        at += len(token) + 1
    count = struct.pack("<I", len(symbols))
    offsets = _offsets(symbols, base, form)
    relative = bytes(word) if form in ("empty", "own") else base.to_bytes(word, "little")
    order = b"".join(n.to_bytes(3, "big") for n in range(len(symbols))) if sequence else b""
    mark = b"".join(struct.pack("<I", m) for m in markers)
    addresses = [aligned(offsets), relative]
    if form == "absolute":
        addresses = [b"".join(s.address.to_bytes(word, "little") for s in symbols)]
    parts = [aligned(count), aligned(names), aligned(mark)]
    if form == "own":
        parts += [aligned(texts), aligned(index)]
        place = begins + sum(map(len, parts))
        own = [s.address - base - place - 4 * n for n, s in enumerate(symbols)]
        parts.append(struct.pack(f"<{len(own)}i", *own))
    elif modern:
        parts += [aligned(texts), aligned(index), *addresses, order]
    else:
        parts = [*addresses, *parts, aligned(order), aligned(texts), aligned(index)]
    return b"".join(parts)
