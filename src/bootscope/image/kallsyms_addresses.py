# SPDX-License-Identifier: Apache-2.0
"""The addresses of a kernel's symbol table, in each format that the kernel's scripts/kallsyms.c has used.

Since Linux 4.6 there are 32-bit offsets from a base; before, and with CONFIG_KALLSYMS_BASE_RELATIVE off,
whole addresses. Offsets are unsigned, or signed where addresses of per-CPU data count from 0
(CONFIG_KALLSYMS_ABSOLUTE_PERCPU, x86-64 up to Linux 6.14): one that is not negative is the value itself,
others count from the base downwards, beginning at -1. They are behind the index of tokens since Linux 6.4,
before the number of names earlier. In Linux 7 an offset counts from its own address, and there is no base.
The base is 0 in a kernel that fills it in at its start (:mod:`.relocations`).
"""

from __future__ import annotations

import itertools
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bootscope.image import relocations

RELATIVE, PERCPU, ABSOLUTE = "relative", "relative, one CPU's data from 0", "absolute"
OWN_PLACE = "relative to their own places"
_FEWEST_POINTERS = 64


@dataclass(frozen=True)
class Addresses:
    """The addresses of the names, in order; `form` is their format, `relocated`: the base was not in its
    place."""

    values: Sequence[int]
    form: str
    relocated: bool = False


def read(image: bytes, count: int, number_at: int, index_end: int, word_bytes: int) -> Addresses | None:
    """The addresses of `count` names; None where no format fits. `number_at`: the offset of the number of
    names, `index_end`: the end of the index of tokens."""
    relocated: list[relocations.Relocations | None] = []

    def filled(at: int) -> int:
        if not relocated:
            relocated.append(relocations.read(image))
        return relocated[0].values.get(at, 0) if relocated[0] else 0

    for offsets_at, base_at in _places(count, number_at, index_end, word_bytes):
        found = _of_distances(image, count, (offsets_at, base_at), word_bytes, filled)
        if found:
            return found
    return _of_words(image, count, number_at, index_end, word_bytes) or (
        _of_own_places(image, count, index_end) if word_bytes == 8 else None
    )


def _of_own_places(image: bytes, count: int, index_end: int) -> Addresses | None:
    start = -(-index_end // 4) * 4
    if start + 4 * count > len(image):
        return None
    distances = struct.unpack_from(f"<{count}i", image, start)
    places = [start + 4 * n + distance for n, distance in enumerate(distances)]
    base = _linked_to(image, start) if _rising(places) and places[0] >= 0 else 0
    return Addresses([base + place for place in places], OWN_PLACE) if base else None


def _linked_to(image: bytes, at: int) -> int:
    """The link address of a 64-bit kernel's first byte, as far as it can be told from the segment that
    contains offset `at`; 0 where it is unknown.

    An ELF file says it. For other files it is the beginning of the 2 GiB that most of its pointers point to:
    arm64 and riscv64 link kernels there, in the versions with this format.
    """
    if image.startswith(b"\x7fELF"):
        (table,), (count,) = struct.unpack_from("<Q", image, 32), struct.unpack_from("<H", image, 56)
        for row in range(table, min(table + 56 * count, len(image) - 55), 56):
            kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", image, row)
            if kind == 1 and offset <= at < offset + length:
                return int(address - offset)
        return 0
    words = struct.unpack_from(f"<{len(image) // 8}Q", image)
    regions = Counter(
        word >> 31 for word in words if word >> 47 == 0x1FFFF and word & 0x7FFFFFFF < len(image)
    )
    (best, found), *_ = regions.most_common(1) or [(0, 0)]
    return best << 31 if found >= _FEWEST_POINTERS else 0


def _places(count: int, number_at: int, index_end: int, word_bytes: int) -> Iterator[tuple[int, int]]:
    """Possible positions of the offsets and of the base: behind the names, and before."""

    def aligned(value: int) -> int:
        return -(-value // word_bytes) * word_bytes

    after = aligned(index_end)
    yield after, aligned(after + 4 * count)
    base_at = number_at - word_bytes
    yield aligned(base_at - 4 * count - word_bytes + 1), base_at


def _of_distances(
    image: bytes, count: int, places: tuple[int, int], word_bytes: int, filled: Callable[[int], int]
) -> Addresses | None:
    offsets_at, base_at = places
    if offsets_at < 0 or base_at < 0 or base_at + word_bytes > len(image):
        return None
    offsets = struct.unpack_from(f"<{count}i", image, offsets_at)
    form = _form(offsets)
    if not form:
        return None
    stored = int.from_bytes(image[base_at : base_at + word_bytes], "little")
    base = stored or (filled(base_at) if word_bytes == 8 else 0)
    if base >> (8 * word_bytes - 2) == 0:
        return None
    if form == PERCPU:
        values = [at if at >= 0 else base - 1 - at for at in offsets]
    else:
        values = [base + (at & 0xFFFFFFFF) for at in offsets]
    return Addresses(values, form, not stored) if values[-1] >> 8 * word_bytes == 0 else None


def _form(offsets: Sequence[int]) -> str:
    """The format of the offsets, which are sorted by address; empty where none fits."""
    if not offsets or not any(offsets):
        return ""
    unsigned = [at & 0xFFFFFFFF for at in offsets]
    if _rising(unsigned) and (offsets[-1] >= 0 or unsigned[0] >> 31):
        return RELATIVE
    first = next((n for n, at in enumerate(offsets) if at < 0), len(offsets))
    if _rising(offsets[:first]) and _rising([-at for at in offsets[first:]]):
        return PERCPU
    return RELATIVE if _rising(unsigned) else ""


def _rising(values: Sequence[int]) -> bool:
    return all(a <= b for a, b in itertools.pairwise(values))


def _of_words(image: bytes, count: int, number_at: int, index_end: int, word_bytes: int) -> Addresses | None:
    letter = "I" if word_bytes == 4 else "Q"
    after = -(-index_end // word_bytes) * word_bytes
    for at in (after, number_at - count * word_bytes):
        if 0 <= at <= len(image) - count * word_bytes:
            values = struct.unpack_from(f"<{count}{letter}", image, at)
            if values[-1] >> (8 * word_bytes - 2) and _rising(values):
                return Addresses(values, ABSOLUTE)
    return None
