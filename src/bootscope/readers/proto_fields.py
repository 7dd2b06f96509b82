# SPDX-License-Identifier: Apache-2.0
"""Protocol buffers' wire format, as far as a reader of messages needs it.

https://protobuf.dev/programming-guides/encoding/. The writer is export/proto.py.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_SIGN = 1 << 63


class DamagedError(ValueError):
    """Bytes that are no message, or break off."""


def varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """A number at a place, and the place behind it. Raises DamagedError."""
    value = shift = 0
    while at < end and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (1 << 64) - 1, at
        shift += 7
    raise DamagedError("a number breaks off")


def fields(data: bytes, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """(number of the field, value, -1) of each number, and (number, start, end) of each field of bytes, in
    the message between two places of `data`. Raises DamagedError where it breaks off."""
    while at < end:
        tag = data[at]
        at += 1
        if tag >= 0x80:
            tag, at = varint(data, at - 1, end)
        kind = tag & 7
        if kind == _VARINT:
            value = data[at] if at < end else 0x80
            if value < 0x80:
                at += 1
            else:
                value, at = varint(data, at, end)
            yield tag >> 3, value, -1
        elif kind == _BYTES:
            size = data[at] if at < end else 0x80
            if size < 0x80:
                at += 1
            else:
                size, at = varint(data, at, end)
            if size > end - at:
                raise DamagedError("a part breaks off")
            yield tag >> 3, at, at + size
            at += size
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
            if size > end - at:
                raise DamagedError("a number breaks off")
            yield tag >> 3, struct.unpack_from("<Q" if size == 8 else "<I", data, at)[0], -1
            at += size
        else:
            raise DamagedError("no field has this type")


def packed(data: bytes, start: int, end: int) -> list[int]:
    """The numbers of a packed repeated field. Raises DamagedError."""
    raw = data[start:end]
    if raw.isascii():
        return list(raw)  # each number is one byte
    found: list[int] = []
    value = shift = 0
    for byte in raw:
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            found.append(value & (1 << 64) - 1)
            value = shift = 0
        else:
            shift += 7
            if shift == 70:
                break
    if shift:
        raise DamagedError("a number breaks off")
    return found


def signed(value: int) -> int:
    """A number as int32 or int64."""
    return value - (1 << 64) if value & _SIGN else value
