# SPDX-License-Identifier: Apache-2.0
"""EROFS: mkfs.erofs packs a folder; the options choose the compressor (`-zlz4hc`)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bootscope.builder.filesystems.model import FileSystem, Order, Piece, check_size, in_sectors
from bootscope.builder.step import EPOCH

_EXTENT = re.compile(r"^\s*\d+:\s*(\d+)\.\.\s*\d+ \|\s*\d+ :\s*(\d+)\.\.\s*(\d+) \|", re.M)


def make(order: Order) -> None:
    """Raises ToolError when the image cannot be made."""
    rootfs = order.rootfs
    own = ["--quiet", "-T", str(EPOCH), "-U", rootfs.uuid, "--all-root", "-x-1"]
    order.context.run(["mkfs.erofs", *own, *rootfs.options, order.image, order.folder()])
    check_size(order)


def pieces(order: Order) -> Iterator[Piece]:
    """The map of the image from dump.erofs; inodes, with small files in them, count as the file system's own.

    For a compressed file, each piece says where the unpacked content begins in the file.
    """
    yield in_sectors(0, order.image.stat().st_size, "erofs inodes")
    for path in order.listed():
        told = order.context.run(["dump.erofs", f"--path={path}", "-e", order.image]).output
        for at, start, end in _EXTENT.findall(told):
            yield in_sectors(int(start), int(end) - int(start), path, int(at))


KIND = FileSystem(make, pieces, ("mkfs.erofs", "dump.erofs"))
