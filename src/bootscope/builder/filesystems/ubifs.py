# SPDX-License-Identifier: Apache-2.0
"""UBIFS, in a volume of UBI: mkfs.ubifs packs a folder.

Source of the nodes' format: Linux' fs/ubifs/ubifs-media.h.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

from bootscope.builder.filesystems import mtd, ubi
from bootscope.builder.filesystems.model import FileSystem, Order, Piece
from bootscope.devices.model import SECTOR_BYTES

_MAGIC, _HEADER_BYTES, _DATA, _ENTRY = struct.pack("<I", 0x06101831), 24, 1, 2
_BLOCK, _ROOT, _UUID = 4096, 1, 108
_MIN_IO = 8
"""The minimum of UBIFS; the flash can write single bytes."""


def make(order: Order) -> None:
    """Raises ToolError when the image cannot be made, or does not fit."""
    rootfs, contents = order.rootfs, _contents(order)
    own = [
        "-m",
        str(order.page_bytes or _MIN_IO),
        "-e",
        str(ubi.leb_bytes(order)),
        "-c",
        str(ubi.volume_blocks(order)),
    ]
    own += ["--squash-uids", "-U", "-r", str(order.folder()), "-o", str(contents), *rootfs.options]
    mtd.run(order.context, "mkfs.ubifs", own, still=True)
    contents.write_bytes(_named(contents.read_bytes(), UUID(rootfs.uuid).bytes))
    ubi.wrap(order, contents)


def _named(data: bytes, uuid: bytes) -> bytes:
    """Replaces the random identifier: the first node is the superblock."""
    (length,) = struct.unpack_from("<I", data, 16)
    rest = data[8:_UUID] + uuid + data[_UUID + len(uuid) : length]
    return data[:4] + struct.pack("<I", zlib.crc32(rest) ^ 0xFFFFFFFF) + rest + data[length:]


def pieces(order: Order) -> Iterator[Piece]:
    """The map of the image: each sector belongs to the node that has its first byte."""
    data, found = _contents(order).read_bytes(), dict[int, tuple[str, int]]()
    nodes = list(_nodes(data))
    names = dict(_names(data, nodes))
    for at, kind, length in nodes:
        name, start = "ubifs nodes", 0
        if kind == _DATA:
            inode, key = struct.unpack_from("<II", data, at + _HEADER_BYTES)
            name, start = names.get(inode, name), (key & 0x1FFFFFFF) * _BLOCK
        for sector in range(-(-at // SECTOR_BYTES), -(-(at + length) // SECTOR_BYTES)):
            found[sector] = name, start // SECTOR_BYTES
    yield from ubi.placed(order, ((sector, 1, name, at) for sector, (name, at) in sorted(found.items())))


def _contents(order: Order) -> Path:
    return order.context.scratch / "contents.ubifs"


def _nodes(data: bytes) -> Iterator[tuple[int, int, int]]:
    """(place, kind, bytes) of each node."""
    at = data.find(_MAGIC)
    while at >= 0 and at + _HEADER_BYTES <= len(data):
        length, kind = struct.unpack_from("<IB", data, at + 16)
        yield at, kind, length
        at = data.find(_MAGIC, at + max(8, length))


def _names(data: bytes, nodes: list[tuple[int, int, int]]) -> Iterator[tuple[int, str]]:
    """Inode -> path."""
    found: dict[int, tuple[int, str]] = {}
    for at, kind, _length in nodes:
        if kind == _ENTRY:
            (parent,) = struct.unpack_from("<I", data, at + _HEADER_BYTES)
            inode, _pad, _type, size = struct.unpack_from("<QBBH", data, at + 40)
            found[inode] = parent, data[at + 56 : at + 56 + size].decode("utf-8", "replace")
    for inode in found:
        parts, number = list[str](), inode
        while number in found and len(parts) <= len(found):
            number, name = found[number]
            parts.append(name)
        if number == _ROOT:
            yield inode, "/" + "/".join(reversed(parts))


KIND = FileSystem(make, pieces, (), steady=True, needs=(mtd.NAME,), flash=True)
