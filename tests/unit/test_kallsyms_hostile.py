# SPDX-License-Identifier: Apache-2.0
"""Symbol tables that were made to take long, or much memory: reading them is bounded."""

from __future__ import annotations

import struct
import tracemalloc

import pytest

from bootscope.core.errors import UserError
from bootscope.image import kallsyms, relocations
from tests.unit.kallsyms_builder import tokens
from tests.unit.time_bound import within

NAMES_A_MARKER = 256
MOST_MB = 300


def image(names: bytes, markers: list[int], texts: list[bytes]) -> bytes:
    """The names, the markers behind them, and the tokens with their index: no addresses."""
    index, at = b"", 0
    for token in texts:
        index += struct.pack("<H", at)
        at += len(token) + 1
    marks = struct.pack(f"<{len(markers)}I", *markers)
    joined = b"\0".join(texts) + b"\0"
    return names + marks + joined + bytes(-len(joined) % 4) + index


def test_every_word_may_be_the_number_of_names() -> None:
    """Each of a hundred thousand beginnings was read nearly to its end."""
    name = struct.pack("<I", 0x8003)  # a name of three tokens, and a number of names
    marks = [4 * NAMES_A_MARKER * n for n in range(0x81)]
    marks[-1] += 2
    data = image(name * 200_000, marks, tokens())
    with within(20), pytest.raises(UserError, match="no readable symbol table"):
        kallsyms.read(data)


def test_short_names_that_stand_for_long_ones() -> None:
    """3 MB of names stood for 400 MB; a file of 100 MB would have taken all memory."""
    texts = [token if len(token) == 1 and token.isdigit() else b"y" * 120 for token in tokens()]
    name, names = b"\x10" + b"a" * 16, 200_000
    marks = [len(name) * n for n in range(0, names, NAMES_A_MARKER)]
    tracemalloc.start()
    try:
        with within(60), pytest.raises(UserError, match="no readable symbol table"):
            kallsyms.read(image(struct.pack("<I", names) + name * names, marks, texts))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MOST_MB << 20


def test_a_name_that_leads_out_of_the_image() -> None:
    first = bytes([0xFF, 15]) + b"a" * 598  # 2047 tokens, of an image that ends before
    names = struct.pack("<I", 300) + first + b"\x01a" * 44
    with pytest.raises(UserError, match="no readable symbol table"):
        kallsyms.read(image(names, [0, len(first)], tokens()))


def test_relocations_that_begin_again_and_again() -> None:
    """Runs of entries that are too few were read from each of their entries again."""
    entry = struct.pack("<QQQ", 0xFFFF << 48, 3, 0)
    other = struct.pack("<QQQ", 0, 3, 0)
    run = (entry + other * 7) * 60 + other * 9
    with within(20):
        assert relocations.read(run * 320) is None
