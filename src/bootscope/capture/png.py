# SPDX-License-Identifier: Apache-2.0
"""A frame buffer's bytes as a PNG file."""

from __future__ import annotations

import struct
import zlib

from bootscope.capture.record import Screen
from bootscope.core.errors import UserError


def _rgb_32(row: bytes) -> bytes:
    """B, G, R, x -> R, G, B."""
    out = bytearray(len(row) // 4 * 3)
    out[0::3], out[1::3], out[2::3] = row[2::4], row[1::4], row[0::4]
    return bytes(out)


def _rgb_565(row: bytes) -> bytes:
    """16 bits, little endian: 5 red, 6 green, 5 blue -> R, G, B, with the high bits repeated below."""
    out = bytearray()
    for (pixel,) in struct.iter_unpack("<H", row):
        red, green, blue = pixel >> 11, pixel >> 5 & 63, pixel & 31
        out += bytes((red << 3 | red >> 2, green << 2 | green >> 4, blue << 3 | blue >> 2))
    return bytes(out)


_CONVERT = {"a8r8g8b8": (4, _rgb_32), "x8r8g8b8": (4, _rgb_32), "r5g6b5": (2, _rgb_565)}


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(screen: Screen, raw: bytes) -> bytes:
    """The picture in `raw` (lines of `stride_bytes`) as the bytes of a PNG file.

    Raises UserError for an unknown pixel format, or when bytes are missing.
    """
    if screen.format not in _CONVERT:
        raise UserError(f"cannot show pixels of format {screen.format}")
    if len(raw) < screen.stride_bytes * screen.height:
        raise UserError("the picture is truncated")
    pixel_bytes, convert = _CONVERT[screen.format]
    if screen.stride_bytes < screen.width * pixel_bytes:
        raise UserError(f"lines of {screen.stride_bytes} bytes are too short for {screen.width} pixels")
    rows = bytearray()
    for y in range(screen.height):
        start = y * screen.stride_bytes
        rows += b"\0" + convert(raw[start : start + screen.width * pixel_bytes])
    header = struct.pack(">IIBBBBB", screen.width, screen.height, 8, 2, 0, 0, 0)
    body = _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(bytes(rows), 9)) + _chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body
