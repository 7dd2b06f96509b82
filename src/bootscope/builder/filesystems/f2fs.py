# SPDX-License-Identifier: Apache-2.0
"""F2FS: mkfs.f2fs makes it empty, sload.f2fs copies a folder into it, owned by root.

The block map is read from the inodes, which each hold their own name: one block each, which also contains a
small file, and blocks with further addresses for large files.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bootscope.builder.filesystems.model import FileSystem, Order, Piece, in_sectors, joined
from bootscope.builder.step import EPOCH

BLOCK_BYTES = 4096
SMALL_BYTES = 128 << 20
_SMALL = ("-o", "60")
"""Below SMALL_BYTES, mkfs.f2fs by default reserves too much for cleaning up: sload.f2fs finds no room."""

_SUPERBLOCKS = (1024, BLOCK_BYTES + 1024)
_VERSIONS = slice(1668, 2180)
"""In the superblock: the version of the kernel that made it, twice."""
_FEATURES, _CHECKSUM_FEATURE, _CHECKSUM, MAGIC = 2180, 0x800, 3068, 0xF2F52010

_NODE = re.compile(r"^nid:\s*(\d+)\s+ino:\s*(\d+)\s+offset:\s*\d+\s+blkaddr:\s*(\d+)", re.M)
_AREAS = ("checkpoint", "segment table", "node table", "summaries")
_FIRST_FILE = 3
_ADDRESSES, _NODES = 360, 4052
_INLINE_XATTR, _INLINE_DATA, _INLINE_FOLDER, _EXTRA = 0x01, 0x02, 0x04, 0x20
_XATTR_WORDS = 50
_PER_NODE = 1018
_HOLES = (0, 0xFFFFFFFF, 0xFFFFFFFE)


def make(order: Order) -> None:
    """Raises ToolError when the image cannot be made or filled."""
    order.empty()
    rootfs = order.rootfs
    own = ["-q", "-f", "-r", "-T", str(EPOCH), "-U", rootfs.uuid, "-l", rootfs.label, "-R", "0:0"]
    if order.room_bytes < SMALL_BYTES:
        own += _SMALL
    order.context.run(["mkfs.f2fs", *own, *rootfs.options, order.image])
    order.context.run(["sload.f2fs", "-T", str(EPOCH), "-f", order.folder(), order.image])
    _forget_builder(order)


def _forget_builder(order: Order) -> None:
    """Removes the version of the kernel on the build computer from both superblocks."""
    with order.image.open("r+b") as f:
        for at in _SUPERBLOCKS:
            f.seek(at)
            block = bytearray(f.read(_CHECKSUM + 4))
            block[_VERSIONS] = bytes(_VERSIONS.stop - _VERSIONS.start)
            (features,) = struct.unpack_from("<I", block, _FEATURES)
            if features & _CHECKSUM_FEATURE:
                struct.pack_into("<I", block, _CHECKSUM, checksum(bytes(block[:_CHECKSUM])))
            f.seek(at)
            f.write(block)


def checksum(data: bytes) -> int:
    """F2FS's CRC-32: the usual one, started with the magic number and without inversions."""
    return zlib.crc32(data, MAGIC ^ 0xFFFFFFFF) ^ 0xFFFFFFFF


@dataclass(frozen=True)
class _Inode:
    """A file or folder: the number of its parent, its own name, the block of the inode, whether the inode
    also contains the content, and otherwise (place in the file, block) of the content."""

    parent: int
    name: str
    first: int
    inline: bool
    blocks: Iterable[tuple[int, int]]


def pieces(order: Order) -> Iterator[Piece]:
    """The map of the image. dump.f2fs lists the inodes."""
    image = order.image.read_bytes()
    order.context.run(["dump.f2fs", "-n", "0~-1", order.image])
    told = (order.context.scratch / "dump_nat").read_text()
    nodes = {int(number): int(block) for number, _, block in _NODE.findall(told)}
    roots = {int(number) for number, owner, _ in _NODE.findall(told) if number == owner}
    inodes = {number: _inode(image, nodes, nodes[number]) for number in roots if number >= _FIRST_FILE}
    yield from _areas(image)
    for block in nodes.values():
        yield _block(block, 1, "f2fs inodes")
    yield from joined(_files(inodes))


def _files(inodes: dict[int, _Inode]) -> Iterator[Piece]:
    for number, inode in inodes.items():
        path = _path(number, inodes)
        if inode.inline:
            yield _block(inode.first, 1, path)
        for at, block in inode.blocks:
            if block not in _HOLES:
                yield _block(block, 1, path, at)


def _path(number: int, inodes: dict[int, _Inode]) -> str:
    parts: list[str] = []
    while number in inodes and number != _FIRST_FILE:
        parts.append(inodes[number].name)
        number = inodes[number].parent
    return "/" + "/".join(reversed(parts))


def _block(block: int, count: int, name: str, at: int = 0) -> Piece:
    return in_sectors(block * BLOCK_BYTES, count * BLOCK_BYTES, name, at * BLOCK_BYTES)


def _areas(image: bytes) -> Iterator[Piece]:
    """The file system's own data: the superblocks and everything between them and the files."""
    yield _block(0, 2, "f2fs superblock")
    begins = struct.unpack_from("<5I", image, _SUPERBLOCKS[0] + 76)
    for first, after, name in zip(begins[:-1], begins[1:], _AREAS, strict=True):
        yield _block(first, after - first, f"f2fs {name}")


def _inode(image: bytes, nodes: dict[int, int], block: int) -> _Inode:
    base = block * BLOCK_BYTES
    flags = image[base + 3]
    parent, length = struct.unpack_from("<II", image, base + 84)
    name = image[base + 92 : base + 92 + length].decode("utf-8", "replace")
    inline = bool(flags & (_INLINE_DATA | _INLINE_FOLDER))
    return _Inode(parent, name, block, inline, () if inline else _blocks(image, nodes, base, flags))


def _blocks(image: bytes, nodes: dict[int, int], base: int, flags: int) -> Iterator[tuple[int, int]]:
    """(place in the file, block): first those in the inode itself, then those in its nodes."""
    extra = struct.unpack_from("<H", image, base + _ADDRESSES)[0] if flags & _EXTRA else 0
    start = base + _ADDRESSES + extra
    place = (base + _NODES - start) // 4 - (_XATTR_WORDS if flags & _INLINE_XATTR else 0)
    yield from enumerate(struct.unpack_from(f"<{place}I", image, start))
    # Two nodes of addresses, two nodes of such nodes, and one node of those.
    for number, depth in zip(struct.unpack_from("<5I", image, base + _NODES), (0, 0, 1, 1, 2), strict=True):
        yield from _below(image, nodes, number, depth, place)
        place += _PER_NODE ** (depth + 1)


def _below(
    image: bytes, nodes: dict[int, int], number: int, depth: int, place: int
) -> Iterator[tuple[int, int]]:
    if number not in nodes:
        return
    words = struct.unpack_from(f"<{_PER_NODE}I", image, nodes[number] * BLOCK_BYTES)
    for at, word in enumerate(words):
        if depth:
            yield from _below(image, nodes, word, depth - 1, place + at * _PER_NODE**depth)
        else:
            yield place + at, word


KIND = FileSystem(make, pieces, ("mkfs.f2fs", "sload.f2fs", "dump.f2fs"))
