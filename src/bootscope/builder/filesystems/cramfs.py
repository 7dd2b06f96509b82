# SPDX-License-Identifier: Apache-2.0
"""CramFS, written here: distributions' tools for it do not support code that runs from flash.

Source of the format: Linux' include/uapi/linux/cramfs_fs.h and fs/cramfs/inode.c.
"""

from __future__ import annotations

import io
import stat
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from bootscope.builder.filesystems.model import (
    Entry,
    FileSystem,
    Order,
    Piece,
    check_size,
    in_sectors,
    joined,
)
from bootscope.core.errors import UserError, printable

XIP = "xip"
"""The option of `rootfs.options` that leaves parts of programs that are not written to uncompressed, to run
from flash; with `=` and a path, only for that program."""
_MAGIC, _SIGNATURE = 0x28CD3D45, b"Compressed ROMFS"
_VERSION_2, _SORTED, _POINTERS = 1, 2, 0x800
_SUPER_BYTES, _PAGE = 76, 4096
_UNCOMPRESSED, _DIRECT = 1 << 31, 1 << 30
_MOST_FILE_BYTES, _MOST_NAME = (1 << 24) - 1, 252
_READS_ONLY, _WRITES = "PT_LOAD", 2


@dataclass
class _Node:
    """A file, link or folder of the image; `at`: offset of its content, `size`: the size in the inode."""

    mode: int
    data: bytes = b""
    children: dict[str, _Node] = field(default_factory=dict)
    at: int = 0
    size: int = 0

    def inode(self, name_words: int) -> bytes:
        """The inode as stored before its name."""
        return struct.pack("<III", self.mode, self.size, name_words | (self.at // 4) << 6)


def make(order: Order) -> None:
    """Raises UserError for what CramFS cannot hold, ToolError for an image larger than its partition."""
    for path in order.entries:
        order.check_place(path)
    order.image.write_bytes(_Image(order.entries, order.rootfs.options).data)
    check_size(order)


def pieces(order: Order) -> Iterator[Piece]:
    """The map of the image; places in a compressed file are counted as if each block had a full page."""
    yield from joined(_Image(order.entries, order.rootfs.options).pieces)


class _Image:
    """The image, and the map of its content."""

    def __init__(self, entries: Mapping[PurePosixPath, Entry], options: Iterable[str]) -> None:
        chosen = [option for option in options if option.partition("=")[0] == XIP]
        if unknown := [option for option in options if option not in chosen]:
            raise UserError(
                f"rootfs.options: cramfs has no option '{printable(unknown[0])}', only {XIP}[=PATH]"
            )
        self._everything = XIP in chosen
        self._in_place = {option.partition("=")[2] for option in chosen}
        self.pieces: list[Piece] = []
        root = _Node(stat.S_IFDIR | 0o755)
        for path in sorted(entries):
            _add(root, path, entries[path])
        self._out = bytearray(_SUPER_BYTES)
        self._folders(root)
        self.pieces.append(in_sectors(0, len(self._out), "cramfs inodes"))
        files = list(_files(root, PurePosixPath("/")))
        for path, node in files:
            self._file(path, node)
        self._patch(root)
        self._out += bytes(-len(self._out) % _PAGE)
        self._super(root, len(files))
        self.data = bytes(self._out)

    def _folders(self, folder: _Node) -> None:
        """Reserves room for the entries of a folder and its subfolders."""
        if not folder.children:
            return
        folder.at = len(self._out)
        folder.size = sum(12 + _name_bytes(name) for name in folder.children)
        self._out += bytes(folder.size)
        for child in folder.children.values():
            self._folders(child)

    def _patch(self, folder: _Node) -> None:
        """Writes the entries, now that the places of all contents are known."""
        at = folder.at
        for name in sorted(folder.children, key=str.encode):
            child, room = folder.children[name], _name_bytes(name)
            self._out[at : at + 12] = child.inode(room // 4)
            self._out[at + 12 : at + 12 + room] = name.encode().ljust(room, b"\0")
            at += 12 + room
            self._patch(child)

    def _file(self, path: PurePosixPath, node: _Node) -> None:
        node.size = len(node.data)
        if not node.data:
            return
        if node.size > _MOST_FILE_BYTES:
            raise UserError(
                f"{printable(str(path))} has {node.size:,} bytes, and CramFS takes no more than 16 MiB"
            )
        blocks = [node.data[at : at + _PAGE] for at in range(0, node.size, _PAGE)]
        stays = self._stays(path, node.data)
        node.at, table = len(self._out), bytearray()
        self._out += bytes(4 * len(blocks))
        if stays:
            self._runs_in_place(str(path), blocks, stays, table)
        else:
            for number, block in enumerate(blocks):
                begin = len(self._out)
                self._out += zlib.compress(block, 9)
                table += struct.pack("<I", len(self._out))
                self._note(begin, str(path), number)
        self._out[node.at : node.at + len(table)] = table
        self._out += bytes(-len(self._out) % 4)

    def _runs_in_place(self, path: str, blocks: list[bytes], stays: set[int], table: bytearray) -> None:
        """Stores the blocks of a file that runs in place: those in `stays` uncompressed, aligned to pages."""
        for number, block in enumerate(blocks):
            if number in stays:
                self._out += bytes(-len(self._out) % _PAGE)
                begin, flags = len(self._out), _UNCOMPRESSED | _DIRECT
                self._out += block.ljust(_PAGE, b"\0")
            else:
                self._out += bytes(-len(self._out) % 4)
                begin, flags = len(self._out), _DIRECT
                packed = zlib.compress(block, 9)
                self._out += struct.pack("<H", len(packed)) + packed
            table += struct.pack("<I", begin // 4 | flags)
            self._note(begin, path, number)

    def _note(self, begin: int, path: str, block: int) -> None:
        self.pieces.append(in_sectors(begin, len(self._out) - begin, path, block * _PAGE))

    def _stays(self, path: PurePosixPath, data: bytes) -> set[int]:
        """The blocks of a program that are mapped and never written; empty if it does not run in place."""
        if not (self._everything or str(path) in self._in_place) or data[:4] != b"\x7fELF":
            return set()
        try:
            segments = [s for s in ELFFile(io.BytesIO(data)).iter_segments() if s["p_type"] == _READS_ONLY]
        except ELFError:
            return set()
        found: set[int] = set()
        for segment in segments:
            if not segment["p_flags"] & _WRITES:
                end = segment["p_offset"] + segment["p_filesz"]
                found.update(range(segment["p_offset"] // _PAGE, -(-end // _PAGE)))
        return found

    def _super(self, root: _Node, files: int) -> None:
        flags = _VERSION_2 | _SORTED | (_POINTERS if self._in_place else 0)
        count = files + 1
        head = struct.pack("<IIII16s", _MAGIC, len(self._out), flags, 0, _SIGNATURE)
        for check in (0, None):
            crc = zlib.crc32(bytes(self._out)) if check is None else check
            fsid = struct.pack("<IIII16s", crc, 0, len(self._out) // _PAGE, count, b"Compressed")
            self._out[:_SUPER_BYTES] = head + fsid + root.inode(0)


def _add(root: _Node, path: PurePosixPath, entry: Entry) -> None:
    """Puts an entry into its folder. Raises UserError for a name that is too long."""
    folder = root
    for name in path.parts[:-1]:
        folder = folder.children.setdefault(name, _Node(stat.S_IFDIR | 0o755))
    if len(path.name.encode()) > _MOST_NAME:
        raise UserError(f"/{printable(str(path))} has too long a name for CramFS")
    if entry.target is not None:
        node = _Node(stat.S_IFLNK | 0o777, entry.target.encode())
    elif entry.source is None:
        node = _Node(stat.S_IFDIR | entry.mode)
    else:
        node = _Node(stat.S_IFREG | entry.mode, entry.source.read_bytes())
    folder.children[path.name] = node


def _files(folder: _Node, path: PurePosixPath) -> Iterator[tuple[PurePosixPath, _Node]]:
    """Everything with content, sorted by name."""
    for name in sorted(folder.children, key=str.encode):
        child = folder.children[name]
        if stat.S_ISDIR(child.mode):
            yield from _files(child, path / name)
        else:
            yield path / name, child


def _name_bytes(name: str) -> int:
    return -(-len(name.encode()) // 4) * 4


KIND = FileSystem(make, pieces, ())
