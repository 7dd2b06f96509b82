# SPDX-License-Identifier: Apache-2.0
"""XFS: mkfs.xfs takes names, owners and contents from a list (a "prototype")."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from bootscope.builder.filesystems import steady
from bootscope.builder.filesystems.model import Entry, FileSystem, Order, Piece, in_sectors, joined
from bootscope.core.errors import ToolError, UserError, printable

SMALL_BYTES = 300 << 20
"""Below this size mkfs.xfs needs an option that confirms the size."""

_EXTENT = re.compile(r"^data offset (\d+) startblock (\d+) \(\d+/\d+\) count (\d+)", re.M)
_GEOMETRY = re.compile(r"^(rootino|blocksize|agblocks|agcount|agblklog|logstart|logblocks) = (\d+)", re.M)


def make(order: Order) -> None:
    """Raises UserError for a name that the list cannot hold, ToolError when the image cannot be made."""
    order.empty()
    listed = order.context.scratch / "prototype"
    listed.write_text("".join(_prototype(order)))
    rootfs = order.rootfs
    own: list[str | Path] = ["-q", "-m", f"uuid={rootfs.uuid}", "-L", rootfs.label, "-p", listed]
    if order.room_bytes < SMALL_BYTES:
        own.append("--unsupported")
    steady.run(order.context, ["mkfs.xfs", *own, *rootfs.options, order.image])


def _prototype(order: Order) -> Iterator[str]:
    """The lines of the list: each folder with its entries, closed by a `$`."""
    inside: dict[PurePosixPath, list[Entry]] = {}
    for path in sorted(order.entries):
        inside.setdefault(path.parent, []).append(order.entries[path])

    root = order.folder()
    _word(str(root))

    def folder(path: PurePosixPath) -> Iterator[str]:
        for entry in inside.get(path, []):
            name = _word(entry.path.name)
            if entry.target is not None:
                yield f"{name} l--777 0 0 {_word(entry.target)}\n"
            elif entry.source is None:
                yield f"{name} d--{entry.mode:o} 0 0\n"
                yield from folder(entry.path)
            else:
                yield f"{name} ---{entry.mode:o} 0 0 {root / entry.path}\n"
        yield "$\n"

    yield "/\n0 0\nd--755 0 0\n"
    yield from folder(PurePosixPath())


def _word(text: str) -> str:
    if not text or text.split() != [text] or text in ("$", ":"):
        raise UserError(
            f"an XFS image cannot have this name: '{printable(text)}'",
            hint="mkfs.xfs splits names at spaces: remove the space",
        )
    return text


def pieces(order: Order) -> Iterator[Piece]:
    """The map of the image from xfs_db; inodes, with small folders in them, are the file system's own."""
    known = _geometry(order)
    block = known["blocksize"]
    yield in_sectors(0, order.image.stat().st_size, "xfs inodes and free space")
    for group in range(known["agcount"]):
        yield in_sectors(group * known["agblocks"] * block, block, "xfs group headers")
    start = _linear(known["logstart"], known)
    yield in_sectors(start, known["logblocks"] * block, "xfs journal")
    yield from joined(_files(order, known))


def _files(order: Order, known: dict[str, int]) -> Iterator[Piece]:
    block = known["blocksize"]
    for path in order.listed():
        there = f"path {path}" if path != "/" else f"inode {known['rootino']}"
        told = order.context.run(["xfs_db", "-r", "-c", there, "-c", "bmap", order.image]).output
        for at, start, count in _EXTENT.findall(told):
            yield in_sectors(_linear(int(start), known), int(count) * block, path, int(at) * block)


def _linear(block: int, known: dict[str, int]) -> int:
    """The first byte of a block, whose number has the allocation group in the upper bits."""
    group, inside = block >> known["agblklog"], block & ((1 << known["agblklog"]) - 1)
    return (group * known["agblocks"] + inside) * known["blocksize"]


def _geometry(order: Order) -> dict[str, int]:
    told = order.context.run(["xfs_db", "-r", "-c", "sb 0", "-c", "print", order.image]).output
    found = {name: int(value) for name, value in _GEOMETRY.findall(told)}
    if len(found) != 7:
        raise ToolError(f"xfs_db does not tell the layout of {order.image.name}")
    return found


KIND = FileSystem(make, pieces, ("mkfs.xfs", "xfs_db"), steady=True)
