# SPDX-License-Identifier: Apache-2.0
"""Pointers that a relocatable kernel fills in at its start: their table in an uncompressed image.

Kernels of arm64 and riscv64 are linked with `-z notext -shared` or `-pie`, so that KASLR can move them. Words
that hold an address may be 0 in the image then, and the table has their values (ELF, `Elf64_Rela`: place,
kind, value; the kinds R_AARCH64_RELATIVE and R_RISCV_RELATIVE, of the psABIs of both). Nothing in an image
points to the table: it is found by its structure.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from dataclasses import dataclass

_RELATIVE = re.compile(rb"(?=[\x03][\x00\x04]\x00{6})", re.DOTALL)
"""1027 and 3, as 64-bit words."""
_ENTRY = struct.Struct("<QQQ")
_FEWEST, _MOST = 64, 4_000_000
_PAGE_BYTES = 0x1000
_SAMPLES = 400


@dataclass(frozen=True)
class Relocations:
    """Offset in the image, in bytes -> the address that goes there; and the link address of the image's first
    byte."""

    values: dict[int, int]
    base: int


def read(image: bytes) -> Relocations | None:
    """The table of an uncompressed little-endian 64-bit kernel; None where there is none."""
    done: dict[tuple[int, bytes], int] = {}
    for match in _RELATIVE.finditer(image):
        start = match.start() - 8
        kind = image[start + 8 : start + 16]
        if start < 0 or image[start + 32 : start + 40] != kind:
            continue
        # What begins inside a run that was too short is shorter still.
        run = start % _ENTRY.size, kind
        if start < done.get(run, 0):
            continue
        entries, done[run] = _run(image, start, kind)
        if len(entries) >= _FEWEST:
            base = _base(image, entries)
            return Relocations({at - base: to for at, to in entries}, base) if base else None
    return None


def _run(image: bytes, start: int, kind: bytes) -> tuple[list[tuple[int, int]], int]:
    """((place, value) of consecutive entries, the offset where they end); entries of other kinds between them
    are skipped."""
    found, strange, at = [], 0, start
    for at in range(start, min(len(image) - _ENTRY.size, start + _MOST * _ENTRY.size), _ENTRY.size):
        place, _, value = _ENTRY.unpack_from(image, at)
        if image[at + 8 : at + 16] == kind and place >> 48 == 0xFFFF:
            found.append((place, value))
            strange = 0
        elif (strange := strange + 1) > 8:
            break
    return found, at


def _base(image: bytes, entries: list[tuple[int, int]]) -> int:
    """The link address of the first byte: the page with which all places are in the image, and most contain 0
    or their value. 0 where none fits."""
    places = [place for place, _ in entries]
    low, high = max(places) + 8 - len(image), min(places)
    sample = entries[:: max(1, len(entries) // _SAMPLES)]
    scores: Counter[int] = Counter()
    for base in range(max(0, low) + _PAGE_BYTES - 1 & -_PAGE_BYTES, high + 1, _PAGE_BYTES):
        words = ((image[place - base : place - base + 8], value) for place, value in sample)
        scores[base] = sum(word == bytes(8) or word == value.to_bytes(8, "little") for word, value in words)
    best = max(scores.values(), default=0)
    found = [base for base, score in scores.items() if score == best]
    return found[0] if best >= 0.9 * len(sample) and len(found) == 1 else 0
