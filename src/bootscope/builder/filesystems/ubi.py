# SPDX-License-Identifier: Apache-2.0
"""UBI: volumes in the erase blocks of flash. ubinize makes the blocks of a volume; the others are marked as
erased here, so that Linux does not do so in the first boot.

Source of the form: Linux' drivers/mtd/ubi/ubi-media.h.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from bootscope.builder.filesystems import mtd
from bootscope.builder.filesystems.model import Order, Piece, joined
from bootscope.core.errors import ToolError
from bootscope.devices.model import SECTOR_BYTES

VOLUME = "root"
HEADERS_BYTES = 128
"""Two headers of 64 bytes begin each block of flash that is written byte by byte."""
RESERVED_BLOCKS = 12
"""For the table of volumes, for moving worn blocks, and for fastmap."""
_SEQUENCE = "20260101"
_LAYOUT_BLOCKS = 2


def leb_bytes(order: Order) -> int:
    """What is left of an erase block for data."""
    return order.erase_bytes - HEADERS_BYTES


def volume_blocks(order: Order) -> int:
    """The erase blocks that the volume may have."""
    return order.room_bytes // order.erase_bytes - RESERVED_BLOCKS


def wrap(order: Order, contents: Path) -> None:
    """Makes the image of `contents` in one volume. Raises ToolError where they do not fit."""
    size, room = contents.stat().st_size, volume_blocks(order) * leb_bytes(order)
    if size > room:
        raise ToolError(f"the root file system has {size:,} bytes, there is room for {room:,} on UBI")
    settings = order.context.scratch / "ubinize.ini"
    settings.write_text(
        f"[{VOLUME}]\nmode=ubi\nimage={contents}\nvol_id=0\nvol_size={room}\nvol_type=dynamic\nvol_name={VOLUME}\n"
    )
    own: list[str | Path] = [
        "-m",
        "1",
        "-p",
        str(order.erase_bytes),
        "-Q",
        _SEQUENCE,
        "-o",
        order.image,
        settings,
    ]
    mtd.run(order.context, "ubinize", own)
    data = order.image.read_bytes()
    blocks = (order.room_bytes - len(data)) // order.erase_bytes
    order.image.write_bytes(data + _erased(order) * blocks)


def _erased(order: Order) -> bytes:
    """A block that holds nothing, and is known to."""
    head = struct.pack(">4sB3xQIII32x", b"UBI#", 1, 0, HEADERS_BYTES // 2, HEADERS_BYTES, int(_SEQUENCE))
    head += struct.pack(">I", zlib.crc32(head) ^ 0xFFFFFFFF)
    return head.ljust(order.erase_bytes, b"\xff")


def placed(order: Order, inside: Iterable[Piece]) -> Iterator[Piece]:
    """Pieces of the volume's contents, where they lie in the image: in order, behind the volume table."""
    leb = leb_bytes(order)
    found: list[Piece] = []
    for first, count, name, at in inside:
        for sector in range(first, first + count):
            block, byte = divmod(sector * SECTOR_BYTES, leb)
            place = (block + _LAYOUT_BLOCKS) * order.erase_bytes + HEADERS_BYTES + byte
            found.append((place // SECTOR_BYTES, 1, name, at + sector - first if name.startswith("/") else 0))
    yield from joined({piece[0]: piece for piece in found}.values())
