# SPDX-License-Identifier: Apache-2.0
"""btrfs: mkfs.btrfs copies a folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from bootscope.builder.filesystems import steady
from bootscope.builder.filesystems.model import FileSystem, Order, Piece, check_size, in_sectors, joined
from bootscope.core.errors import ToolError

SMALL_BYTES = 256 << 20
"""Below this size data and metadata share block groups: separate, both need over 100 MB at least."""

_FILES, _CHUNKS = "5", "3"
_CHUNK = re.compile(r"key \(FIRST_CHUNK_TREE CHUNK_ITEM (\d+)\).*?\n\s+length (\d+)")
_STRIPE = re.compile(r"stripe \d+ devid \d+ offset (\d+)")
_NAME = re.compile(r"key \((\d+) INODE_REF (\d+)\).*?\n\s+index \d+ namelen \d+ name: (.*)")
_EXTENT = re.compile(
    r"key \((\d+) EXTENT_DATA (\d+)\).*?\n.*?\n\s+extent data disk byte (\d+) nr (\d+)\n"
    r"\s+extent data offset (\d+) nr (\d+)"
)
_NODE = re.compile(r"^(?:leaf|node) (\d+) (?:items|level)", re.M)
_NODE_BYTES = re.compile(r"^nodesize\s+(\d+)", re.M)
_OWNER = re.compile(r"links \d+ uid (\d+) gid (\d+)")
_ROOT = "256"


def make(order: Order) -> None:
    """Raises ToolError when the image cannot be made."""
    order.empty()
    rootfs = order.rootfs
    own: list[str | Path] = ["-q", "-f", "-U", rootfs.uuid, "-L", rootfs.label, "--rootdir", order.folder()]
    if order.room_bytes < SMALL_BYTES:
        own.append("--mixed")
    steady.run(order.context, ["mkfs.btrfs", *own, *rootfs.options, order.image])
    check_size(order)
    if set(_OWNER.findall(_tree(order, _FILES))) != {("0", "0")}:
        # A statically linked program does not load libraries.
        raise ToolError(
            "mkfs.btrfs gave files another owner than root", hint="use the one of Debian's btrfs-progs"
        )


def pieces(order: Order) -> Iterator[Piece]:
    """The map of the image from `btrfs inspect-internal`. Small files are in the trees."""
    chunks = list(_chunks(_tree(order, _CHUNKS)))
    files = _tree(order, _FILES)
    superblock = order.context.run(["btrfs", "inspect-internal", "dump-super", order.image]).output
    yield in_sectors(65536, 4096, "btrfs superblock")
    node = int(found[1]) if (found := _NODE_BYTES.search(superblock)) else 0
    every = order.context.run(["btrfs", "inspect-internal", "dump-tree", order.image]).output
    trees = [(int(at), node, "btrfs trees", 0) for at in _NODE.findall(every)]
    yield from joined(_on_disk([*trees, *_extents(files)], chunks))


def _tree(order: Order, number: str) -> str:
    return order.context.run(["btrfs", "inspect-internal", "dump-tree", "-t", number, order.image]).output


def _chunks(told: str) -> Iterator[tuple[int, int, list[int]]]:
    """(logical address, bytes, places on the disk) of each chunk."""
    found = list(_CHUNK.finditer(told))
    ends = [*(match.start() for match in found[1:]), len(told)]
    for match, end in zip(found, ends, strict=False):
        stripes = [int(at) for at in _STRIPE.findall(told, match.end(), end)]
        yield int(match[1]), int(match[2]), stripes


def _extents(told: str) -> Iterator[tuple[int, int, str, int]]:
    """(logical address, bytes, path, byte in the file) of each extent of a file outside of the trees."""
    names = {inode: (parent, name) for inode, parent, name in _NAME.findall(told)}

    def path(inode: str) -> str:
        parts: list[str] = []
        while inode != _ROOT and inode in names:
            inode, name = names[inode]
            parts.append(name)
        return "/" + "/".join(reversed(parts))

    for inode, at, address, _, offset, length in _EXTENT.findall(told):
        if int(address):  # 0 is a hole
            yield int(address) + int(offset), int(length), path(inode), int(at)


def _on_disk(
    found: list[tuple[int, int, str, int]], chunks: list[tuple[int, int, list[int]]]
) -> Iterator[Piece]:
    """Pieces at their places on the disk, in each copy."""
    for address, length, name, at in found:
        for start, size, places in chunks:
            if start <= address < start + size:
                for place in places:
                    yield in_sectors(place + address - start, length, name, at)


KIND = FileSystem(make, pieces, ("mkfs.btrfs", "btrfs"), steady=True)
