# SPDX-License-Identifier: Apache-2.0
"""SquashFS: mksquashfs packs a folder; the options choose the compressor (`-comp lz4`)."""

from __future__ import annotations

from collections.abc import Iterator

from bootscope.builder.filesystems import squashfs_tables
from bootscope.builder.filesystems.model import FileSystem, Order, Piece, check_size, joined
from bootscope.system.model import RootFs

_HOW = ("-noappend", "-all-root", "-no-xattrs", "-no-progress", "-quiet")


def make(order: Order) -> None:
    """All times are the build's: those of the folder and, from SOURCE_DATE_EPOCH, that of the image."""
    order.context.run(["mksquashfs", order.folder(), order.image, *_HOW, *_options(order.rootfs)])
    check_size(order)


def pieces(order: Order) -> Iterator[Piece]:
    """The map of the image, from a second image that differs only in its uncompressed tables.

    The data comes first and does not depend on the tables, so it is at the same place in both.
    """
    plain = order.context.scratch / "plain.squashfs"
    how = [*_HOW, *_options(order.rootfs), "-noI", "-noId"]
    order.context.run(["mksquashfs", order.folder(), plain, *how])
    yield from joined(squashfs_tables.pieces(plain.read_bytes(), order.image.read_bytes()))


def _options(rootfs: RootFs) -> list[str]:
    block = ["-b", str(rootfs.block_bytes)] if isinstance(rootfs.block_bytes, int) else []
    return [*rootfs.options, *block]


KIND = FileSystem(make, pieces, ("mksquashfs",))
