# SPDX-License-Identifier: Apache-2.0
"""The spare bytes of a page: a Hamming code for each 256 bytes of its data, as Linux computes it in software.

The code has a pair of bits for each bit of a byte's number, and of a bit's number in its byte: one of the
pair is the parity of all that have a 0 there, the other of those that have a 1, both inverted. Linux
stores them in three bytes, one code after the other, where the large-page layout has room for them.
"""

from __future__ import annotations

STEP_BYTES = 256
CODE_BYTES = 3
_PLACES = {64: 40, 128: 80}
"""Spare bytes of a page -> where the codes begin in them."""
_NUMBER_BITS = 8
_PARITY = bytes(value.bit_count() & 1 for value in range(256))
_WITH = tuple(
    int.from_bytes(bytes(number >> bit & 1 for number in range(STEP_BYTES)), "little")
    for bit in range(_NUMBER_BITS)
)
"""For each bit of a byte's number, a mask: 1 in the bytes whose number has the bit."""
_COLUMNS = (0x55, 0xAA, 0x33, 0xCC, 0x0F, 0xF0)
_UNUSED = 3


def code(data: bytes) -> bytes:
    """The code for STEP_BYTES bytes of data."""
    odd = int.from_bytes(data.translate(_PARITY), "little")
    whole, lines = odd.bit_count() & 1, 0
    for bit, mask in enumerate(_WITH):
        one = (odd & mask).bit_count() & 1
        lines |= (1 ^ whole ^ one) << 2 * bit | (1 ^ one) << 2 * bit + 1
    folded, width = int.from_bytes(data, "little"), 8 * STEP_BYTES // 2
    while width >= 8:
        folded = folded >> width ^ folded & (1 << width) - 1
        width //= 2
    columns = _UNUSED
    for place, mask in enumerate(_COLUMNS):
        columns |= (1 ^ _PARITY[folded & mask]) << 2 + place
    return bytes((lines >> 8, lines & 0xFF, columns))


def first_place(spare_bytes: int) -> int:
    """Where in the spare bytes of a page the codes begin."""
    return _PLACES[spare_bytes]


def spare(data: bytes, spare_bytes: int) -> bytes:
    """The spare bytes of a page with `data`, which is the whole page."""
    codes = b"".join(code(data[at : at + STEP_BYTES]) for at in range(0, len(data), STEP_BYTES))
    return (b"\xff" * _PLACES[spare_bytes] + codes).ljust(spare_bytes, b"\xff")
