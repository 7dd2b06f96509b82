# SPDX-License-Identifier: Apache-2.0
"""Reads the tables of a SquashFS 4.0 image: where each file's blocks are.

Layout: a superblock of 96 bytes, data blocks and fragments (small files packed together), then the tables of
inodes and folders, in chunks of up to 8 KiB. The chunks must not be compressed here; the data may be.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from bootscope.builder.filesystems.model import Piece, in_sectors
from bootscope.core.errors import ToolError

SUPERBLOCK_BYTES = 96
_NO_FRAGMENT = 0xFFFFFFFF
_STORED = 1 << 15
_FOLDER, _FILE, _LARGE_FOLDER, _LARGE_FILE = 1, 2, 8, 9


@dataclass(frozen=True)
class Superblock:
    """Where the parts of an image begin, in bytes from its start."""

    block_bytes: int
    root: int
    end: int
    inodes: int
    folders: int

    @classmethod
    def read(cls, data: bytes) -> Superblock:
        """From the first bytes of an image. Raises ToolError when it is not SquashFS 4.0."""
        if data[:4] != b"hsqs" or len(data) < SUPERBLOCK_BYTES:
            raise ToolError("mksquashfs has not written a SquashFS image")
        (block_bytes,) = struct.unpack_from("<I", data, 12)
        root, end, _, _, inodes, folders = struct.unpack_from("<6Q", data, 32)
        return cls(block_bytes, root, end, inodes, folders)


class _Table:
    """A table of chunks, joined; references identify a chunk by its first byte."""

    def __init__(self, image: bytes, start: int, end: int) -> None:
        self.data = b""
        self._at: dict[int, int] = {}
        position = start
        while position < end:
            (size,) = struct.unpack_from("<H", image, position)
            if not size & _STORED:
                raise ToolError("mksquashfs has compressed tables although it was asked not to")
            self._at[position - start] = len(self.data)
            self.data += image[position + 2 : position + 2 + size - _STORED]
            position += 2 + size - _STORED

    def place(self, chunk: int, offset: int) -> int:
        """The offset in `data` for a reference."""
        return self._at[chunk] + offset


@dataclass(frozen=True)
class _Inode:
    """`blocks`: (first byte, bytes) of each block of a file in the image; 0 bytes are a hole."""

    blocks: tuple[tuple[int, int], ...] = ()
    listing: tuple[int, int, int] | None = None
    """For a folder: chunk, offset and bytes of its list."""


def pieces(plain: bytes, superblock: bytes) -> Iterator[Piece]:
    """The map of the image that begins with `superblock`, read from its `plain` twin."""
    twin, real = Superblock.read(plain), Superblock.read(superblock)
    yield in_sectors(0, SUPERBLOCK_BYTES, "squashfs superblock")
    if twin.inodes == real.inodes:
        yield from _data(plain, twin)
    yield in_sectors(real.inodes, real.folders - real.inodes, "squashfs inodes")
    yield in_sectors(real.folders, real.end - real.folders, "squashfs folders")


def _data(image: bytes, known: Superblock) -> Iterator[Piece]:
    """Files of more than a block under their names, and the rest, where smaller ones are packed."""
    yield in_sectors(SUPERBLOCK_BYTES, known.inodes - SUPERBLOCK_BYTES, "squashfs small files")
    # The list of folders ends where those of fragments and owners begin, whose chunks are not read.
    for path, inode in _walk(image, known):
        for number, (start, size) in enumerate(inode.blocks):
            if size:
                yield in_sectors(start, size, path, number * known.block_bytes)


def _walk(image: bytes, known: Superblock) -> Iterator[tuple[str, _Inode]]:
    """(path, inode) of everything in the image."""
    inodes = _Table(image, known.inodes, known.folders)
    folders = _Table(image, known.folders, _end_of_folders(image, known))
    queue = [("", known.root)]
    while queue:
        path, reference = queue.pop()
        inode = _inode(inodes.data, inodes.place(reference >> 16, reference & 0xFFFF), known.block_bytes)
        yield path or "/", inode
        if inode.listing:
            chunk, offset, size = inode.listing
            begin = folders.place(chunk, offset) if size else 0
            listed = _listed(folders.data[begin : begin + size])
            queue += [(f"{path}/{name}", child) for name, child in listed]


def _end_of_folders(image: bytes, known: Superblock) -> int:
    """The first byte after the chunks of the list of folders.

    The superblock only says where the indexes of the tables after it begin; an index begins with the place
    of that table's first chunk.
    """
    owners, _, _, _, fragments, exports = struct.unpack_from("<6Q", image, 48)
    (fragment_count,) = struct.unpack_from("<I", image, 16)
    there = (owners, exports, *((fragments,) if fragment_count else ()))
    indexes = [at for at in there if known.folders < at < known.end]
    firsts = [struct.unpack_from("<Q", image, at)[0] for at in indexes]
    return min((at for at in firsts if known.folders <= at), default=known.end)


def _inode(data: bytes, at: int, block_bytes: int) -> _Inode:
    (kind,) = struct.unpack_from("<H", data, at)
    at += 16  # kind, mode, owner, group, time, number
    if kind == _FOLDER:
        chunk, _, size, offset = struct.unpack_from("<IIHH", data, at)
        return _Inode(listing=(chunk, offset, size - 3))
    if kind == _LARGE_FOLDER:
        _, size, chunk, _, _, offset = struct.unpack_from("<IIIIHH", data, at)
        return _Inode(listing=(chunk, offset, size - 3))
    if kind == _FILE:
        start, fragment, _, size = struct.unpack_from("<IIII", data, at)
        return _Inode(_blocks(data, at + 16, start, size, fragment, block_bytes))
    if kind == _LARGE_FILE:
        start, size, _, _, fragment = struct.unpack_from("<QQQII", data, at)
        return _Inode(_blocks(data, at + 40, start, size, fragment, block_bytes))
    return _Inode()


def _blocks(
    data: bytes, at: int, start: int, size: int, fragment: int, block_bytes: int
) -> tuple[tuple[int, int], ...]:
    count = size // block_bytes if fragment != _NO_FRAGMENT else -(-size // block_bytes)
    found = []
    for word in struct.unpack_from(f"<{count}I", data, at):
        length = word & 0xFFFFFF  # the bit above means: not compressed
        found.append((start, length))
        start += length
    return tuple(found)


def _listed(data: bytes) -> Iterator[tuple[str, int]]:
    """(name, reference of the inode) of each entry of a folder."""
    at = 0
    while at < len(data):
        count, chunk, _ = struct.unpack_from("<III", data, at)
        at += 12
        for _ in range(count + 1):
            offset, _, _, length = struct.unpack_from("<HhHH", data, at)
            name = data[at + 8 : at + 9 + length].decode("utf-8", "replace")
            yield name, chunk << 16 | offset
            at += 9 + length
