# SPDX-License-Identifier: Apache-2.0
"""JFFS2: mkfs.jffs2 packs a folder into nodes, and sumtool adds a summary to each erase block.

Source of the nodes' format: Linux' include/uapi/linux/jffs2.h.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from bootscope.builder.filesystems import mtd
from bootscope.builder.filesystems.model import FileSystem, Order, Piece, check_size, joined
from bootscope.devices.model import SECTOR_BYTES

SUMMARY = "summary"
"""The option of `rootfs.options` that adds a summary; the others are passed to mkfs.jffs2."""
_MAGIC, _HEADER, _MARKER_BYTES = 0x1985, struct.Struct("<HHII"), 12
_DIRENT, _INODE, _MARKER, _SUM = 0xE001, 0xE002, 0x2003, 0x2006
_ROOT = 1


def make(order: Order) -> None:
    """Makes an image of full size: the remaining blocks are erased and marked as such.

    Raises ToolError when it cannot be made, or is larger than its part of the flash.
    """
    options = [option for option in order.rootfs.options if option != SUMMARY]
    own: list[str | Path] = [
        "-l",
        "-e",
        str(order.erase_bytes),
        "--squash",
        "-d",
        order.folder(),
        "-o",
        order.image,
    ]
    mtd.run(order.context, "mkfs.jffs2", [*own, *options])
    if SUMMARY in order.rootfs.options:
        plain = order.context.scratch / "plain.jffs2"
        order.image.replace(plain)
        mtd.run(
            order.context, "sumtool", ["-l", "-e", str(order.erase_bytes), "-i", plain, "-o", order.image]
        )
    check_size(order)
    _fill(order)


def _fill(order: Order) -> None:
    data = bytearray(order.image.read_bytes())
    data += b"\xff" * (-len(data) % order.erase_bytes)
    marker = _HEADER.pack(_MAGIC, _MARKER, _MARKER_BYTES, _crc(_HEADER.pack(_MAGIC, _MARKER, 12, 0)[:8]))
    empty = marker + b"\xff" * (order.erase_bytes - len(marker))
    data += empty * ((order.room_bytes - len(data)) // order.erase_bytes)
    order.image.write_bytes(data)


def _crc(data: bytes) -> int:
    """The CRC of JFFS2: zlib's, without the first and last inversion."""
    return zlib.crc32(data, 0xFFFFFFFF) ^ 0xFFFFFFFF


def pieces(order: Order) -> Iterator[Piece]:
    """The map of the image: each sector belongs to the node that has its first byte."""
    data = order.image.read_bytes()
    nodes = list(_nodes(data, order.erase_bytes))
    names = dict(_names(data, nodes))
    found: dict[int, tuple[str, int]] = {}
    for at, kind, length in nodes:
        name, start = "jffs2 nodes", 0
        if kind == _INODE:
            (number,) = struct.unpack_from("<I", data, at + 12)
            (start,) = struct.unpack_from("<I", data, at + 44)
            name = names.get(number, name)
        elif kind == _SUM:
            name = "jffs2 summaries"
        first = -(-at // SECTOR_BYTES)
        for sector in range(first, -(-(at + length) // SECTOR_BYTES)):
            found[sector] = name, (start // SECTOR_BYTES if name.startswith("/") else 0)
    yield from joined((sector, 1, name, at) for sector, (name, at) in found.items())


def _nodes(data: bytes, erase_bytes: int) -> Iterator[tuple[int, int, int]]:
    """(place, kind, bytes) of each node, block by block."""
    for block in range(0, len(data), erase_bytes):
        at = block
        while at + _HEADER.size <= min(block + erase_bytes, len(data)):
            magic, kind, length, _check = _HEADER.unpack_from(data, at)
            if magic != _MAGIC or length < _HEADER.size:
                at += 4
                if data[at : at + 64].count(0xFF) == 64:
                    end = block + erase_bytes
                    rest = data.find(struct.pack("<H", _MAGIC), at, end)
                    at = rest if rest >= 0 else end
                continue
            yield at, kind, length
            at += -(-length // 4) * 4


def _names(data: bytes, nodes: list[tuple[int, int, int]]) -> Iterator[tuple[int, str]]:
    """Inode -> path."""
    found: dict[int, tuple[int, str]] = {}
    for at, kind, _length in nodes:
        if kind == _DIRENT:
            parent, _version, inode, _time, size = struct.unpack_from("<IIIIB", data, at + 12)
            found[inode] = parent, data[at + 40 : at + 40 + size].decode("utf-8", "replace")
    for inode in found:
        parts, number = list[str](), inode
        while number in found and len(parts) < len(found):
            number, name = found[number]
            parts.append(name)
        if number == _ROOT:
            yield inode, "/" + "/".join(reversed(parts))


KIND = FileSystem(make, pieces, (), needs=(mtd.NAME,), flash=True)
