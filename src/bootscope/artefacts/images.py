# SPDX-License-Identifier: Apache-2.0
"""Root file systems as images: ext by debugfs, SquashFS by unsquashfs.

Names in an image never reach a command line: ext files are requested by inode number, and extracted files are
numbered and in a folder of our own.
"""

from __future__ import annotations

import re
import struct
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bootscope.artefacts.ext_image import ExtImage
from bootscope.artefacts.file_facts import Piece
from bootscope.artefacts.tree import (
    DEVICE,
    FILE,
    FOLDER,
    LINK,
    Contents,
    Entry,
)
from bootscope.core.errors import ToolError, UserError, printable
from bootscope.core.process import first_bytes, run

_EXT_MAGIC_AT, _EXT_MAGIC = 0x438, b"\x53\xef"
_JOURNAL, _EXTENTS = 0x4, 0x40
_SQUASHFS = (b"hsqs", b"sqsh")
_TIMEOUT_S = 120
_MOST_CATS = 400


def is_ext(head: bytes) -> bool:
    """Whether an image starts with an ext2, ext3 or ext4 file system."""
    return head[_EXT_MAGIC_AT : _EXT_MAGIC_AT + 2] == _EXT_MAGIC


def is_squashfs(head: bytes) -> bool:
    """Whether an image starts with a SquashFS."""
    return head.startswith(_SQUASHFS)


def ext_kind(head: bytes) -> str:
    """`ext2`, `ext3` or `ext4`, by the features in the superblock."""
    compatible, incompatible = struct.unpack_from("<II", head.ljust(0x500, b"\0"), 0x45C)
    return "ext4" if incompatible & _EXTENTS else "ext3" if compatible & _JOURNAL else "ext2"


# ---- ext ----


def read_ext(path: Path, head: bytes) -> Piece:
    """The content of an ext image. Raises UserError when it cannot be read, ToolError without debugfs."""
    contents = Contents()
    with tempfile.TemporaryDirectory(prefix="bootscope-") as folder:
        image = ExtImage(path.resolve(), Path(folder))
        found = list(image.walk())
        if not found:
            raise UserError(f"{printable(str(path))} looks like ext, but debugfs finds no files in it")
        image.take(found)
        for one in found:
            contents.add(image.entry(one))
    kind = ext_kind(head)
    return contents.piece(str(path), f"{kind} image", kind)


# ---- SquashFS ----

# Only devices have two numbers. The target of a link may contain line breaks, and so pretend to be a row.
_ROW = re.compile(
    r"^(?:([-dlps][rwxstST-]{9}) \S+ +([0-9]{1,19})|([bc])[rwxstST-]{9} \S+ +[0-9]+, *[0-9]+)"
    r" \S+ \S+ squashfs-root(/.*)$"
)


def read_squashfs(path: Path) -> Piece:
    """The content of a SquashFS image. Raises UserError when it cannot be read, ToolError without
    unsquashfs."""
    contents = Contents()
    for entry in squashfs_entries(path.resolve(), str(path)):
        contents.add(entry)
    return contents.piece(str(path), "SquashFS image", "squashfs")


def squashfs_entries(image: Path, name: str, offset_bytes: int = 0) -> list[Entry]:
    """The files of a SquashFS that begins `offset_bytes` into a file; `name` is the file's name in errors.

    Raises UserError when it cannot be read, ToolError without unsquashfs.
    """
    begin = ("-offset", str(offset_bytes)) if offset_bytes else ()
    try:
        done = run(["unsquashfs", *begin, "-lln", image], timeout_s=_TIMEOUT_S, check=False)
    except ToolError as error:
        raise ToolError(error.message, hint="install squashfs-tools, or unpack the image") from error
    cats = [0]
    rows = filter(None, map(_ROW.match, done.output.splitlines()))
    found = [_of_row(row, partial(_cat, image, begin, cats)) for row in rows]
    if not found:
        why = next((line for line in done.output.splitlines() if line.strip()), "it says nothing")
        told = f"{printable(name)} looks like SquashFS, but unsquashfs cannot read it"
        raise UserError(f"{told}: {printable(why)[:200]}")
    return found


def _of_row(row: re.Match[str], cat: Callable[[str, int], bytes]) -> Entry:
    mode, count, device, path = row.groups()
    if device:
        return Entry(path, DEVICE)
    if mode[0] == "l":
        path, _, target = path.partition(" -> ")
        return Entry(path, LINK, target=target)
    if mode[0] != "-":
        return Entry(path, FOLDER if mode[0] == "d" else DEVICE)
    program = "x" in mode or "s" in mode
    return Entry(path, FILE, int(count), program, read=partial(cat, path))


def _cat(image: Path, begin: tuple[str, ...], cats: list[int], path: str, most: int) -> bytes:
    """The first bytes of a file in the image; empty after very many calls, each of which starts a process."""
    cats[0] += 1
    if cats[0] > _MOST_CATS:
        return b""
    return first_bytes(["unsquashfs", *begin, "-no-wildcards", "-cat", image, path], most)
