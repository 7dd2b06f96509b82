# SPDX-License-Identifier: Apache-2.0
"""Protocol buffers' wire format, as far as writing messages needs it.

A field is a tag (number and wire type) and a value: a varint, or bytes preceded by their length.
https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

_VARINT, _BYTES = 0, 2
_MASK = (1 << 64) - 1


def varint(value: int) -> bytes:
    """Seven bits per byte, lowest first; a negative number is its 64-bit two's complement."""
    value &= _MASK
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    """A field of type uint64, int64, uint32, int32, bool or enum."""
    return varint(field << 3 | _VARINT) + varint(value)


def message(field: int, *parts: bytes) -> bytes:
    """A field that contains a message, given as its fields."""
    body = b"".join(parts)
    return varint(field << 3 | _BYTES) + varint(len(body)) + body


def text(field: int, value: str) -> bytes:
    """A field of type string. Raises UnicodeEncodeError for half of a surrogate pair."""
    return message(field, value.encode())
