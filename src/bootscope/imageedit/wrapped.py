# SPDX-License-Identifier: Apache-2.0
"""Replaces the data behind a header of U-Boot's images (uImage): sizes and checksums are updated.

Source: U-Boot include/image.h, struct legacy_img_hdr.
"""

from __future__ import annotations

import struct
import zlib

HEADER_BYTES = 64
_MAGIC = b"\x27\x05\x19\x56"
_SUM_AT, _SIZE_AT, _DATA_SUM_AT = 4, 12, 24
_COUNTS = struct.Struct(">II")


def is_wrapped(data: bytes) -> bool:
    """Whether data start with such a header."""
    return data.startswith(_MAGIC) and len(data) >= HEADER_BYTES


def rewrapped(header: bytes, data: bytes) -> bytes:
    """New data behind a header like the given one."""
    head = bytearray(header[:HEADER_BYTES])
    struct.pack_into(">I", head, _SIZE_AT, len(data))
    struct.pack_into(">I", head, _DATA_SUM_AT, zlib.crc32(data))
    struct.pack_into(">I", head, _SUM_AT, 0)
    struct.pack_into(">I", head, _SUM_AT, zlib.crc32(head))
    return bytes(head) + data


def script(image: bytes, text: bytes) -> bytes:
    """A script of U-Boot with another text, in the form of the given one."""
    return rewrapped(image, _COUNTS.pack(len(text), 0) + text)
