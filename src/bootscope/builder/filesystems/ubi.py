# SPDX-License-Identifier: Apache-2.0
"""UBI: volumes in the erase blocks of flash. ubinize makes the blocks of a volume; the others are marked as
erased here, so that Linux does not do so in the first boot.

Source of the format: Linux' drivers/mtd/ubi/ubi-media.h.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from bootscope.builder.filesystems import mtd
from bootscope.builder.filesystems.model import Order, Piece, joined
from bootscope.core.errors import StepError
from bootscope.devices.model import SECTOR_BYTES

VOLUME = "root"
HEADER_BYTES = 64
"""Where flash is written byte by byte, each block begins with two of them; else each takes a page."""
RESERVED_BLOCKS = 12
"""For the table of volumes, for moving worn blocks, and for fastmap."""
_SEQUENCE = "20260101"
_LAYOUT_BLOCKS = 2


def headers_bytes(order: Order) -> int:
    """The bytes that the two headers take of each block."""
    return 2 * (order.page_bytes or HEADER_BYTES)


def leb_bytes(order: Order) -> int:
    """The bytes of an erase block that are left for data."""
    return order.erase_bytes - headers_bytes(order)


def volume_blocks(order: Order) -> int:
    """The number of erase blocks that the volume may have."""
    return order.room_bytes // order.erase_bytes - RESERVED_BLOCKS - order.spare_blocks


def wrap(order: Order, contents: Path) -> None:
    """Makes the image, with `contents` in one volume. Raises ToolError where they do not fit."""
    size, room = contents.stat().st_size, volume_blocks(order) * leb_bytes(order)
    if size > room:
        raise StepError(f"the root file system has {size:,} bytes, there is room for {room:,} on UBI")
    settings = order.context.scratch / "ubinize.ini"
    settings.write_text(
        f"[{VOLUME}]\nmode=ubi\nimage={contents}\nvol_id=0\nvol_size={room}\nvol_type=dynamic\nvol_name={VOLUME}\n"
    )
    sizes: list[str | Path] = ["-m", str(order.page_bytes or 1), "-p", str(order.erase_bytes)]
    mtd.run(order.context, "ubinize", [*sizes, "-Q", _SEQUENCE, "-o", order.image, settings])
    if order.page_bytes:
        return  # The code that fills the chip knows which blocks are left.
    data = order.image.read_bytes()
    blocks = (order.room_bytes - len(data)) // order.erase_bytes
    order.image.write_bytes(data + erased(HEADER_BYTES).ljust(order.erase_bytes, b"\xff") * blocks)


def erased(unit: int) -> bytes:
    """The header of an erased block. `unit`: the bytes that a header takes in it."""
    head = struct.pack(">4sB3xQIII32x", b"UBI#", 1, 0, unit, 2 * unit, int(_SEQUENCE))
    return head + struct.pack(">I", zlib.crc32(head) ^ 0xFFFFFFFF)


def placed(order: Order, inside: Iterable[Piece]) -> Iterator[Piece]:
    """Pieces of the volume's contents, placed in the image: in order, after the volume table."""
    leb = leb_bytes(order)
    found: list[Piece] = []
    for first, count, name, at in inside:
        for sector in range(first, first + count):
            block, byte = divmod(sector * SECTOR_BYTES, leb)
            place = (block + _LAYOUT_BLOCKS) * order.erase_bytes + headers_bytes(order) + byte
            found.append((place // SECTOR_BYTES, 1, name, at + sector - first if name.startswith("/") else 0))
    yield from joined({piece[0]: piece for piece in found}.values())
