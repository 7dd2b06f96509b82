# SPDX-License-Identifier: Apache-2.0
"""A folder as one file, to send to another computer: a finished step, or sources.

    zstd( MAGIC, length of the list in 8 bytes, the list as JSON, the bytes of all files in its order )

A reader only takes what is in the list, below the folder that it unpacks into: each parent must be a folder
listed earlier, so that no link is followed. The hash of the unpacked folder
(:func:`bootscope.builder.ids.tree_id`) shows whether it is what was requested.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from bootscope.core import zstd
from bootscope.core.damaged import DAMAGED
from bootscope.core.errors import ToolError, printable

MAGIC = b"bsparcel"
MOST_LIST_BYTES = 256 << 20
_LEVEL = 1
_CHUNK = 1 << 20
_WINDOW = 27
_ZEROS = bytes(_CHUNK)
FOLDER, FILE, LINK = "folder", "file", "link"


class Item(msgspec.Struct, frozen=True, array_like=True):
    """A folder, a file with its bytes, or a link with its target; `path` is relative to the parcel's root."""

    path: str
    kind: str
    mode: int
    mtime_ns: int
    size_bytes: int = 0
    target: str = ""


def pack(folder: Path, to: BinaryIO) -> None:
    """Writes a folder. Raises ToolError for a file that changes meanwhile, OSError for a disk error."""
    items = list(_items(folder))
    listed = msgspec.json.encode(items)
    known = zstd.module().CompressionParameter
    # The checksum detects damage also where no hash covers it: in times.
    with zstd.module().ZstdFile(
        to, "wb", options={known.compression_level: _LEVEL, known.checksum_flag: 1}
    ) as out:
        out.write(MAGIC + len(listed).to_bytes(8, "big") + listed)
        for item in items:
            if item.kind == FILE:
                _copy_in(folder / item.path, item.size_bytes, out)


def unpack(source: BinaryIO, folder: Path) -> None:
    """Fills an empty folder from a parcel. Raises ToolError for a parcel that is damaged or malicious."""
    known = zstd.module()
    limit = {known.DecompressionParameter.window_log_max: _WINDOW}
    try:
        with known.ZstdFile(source, "rb", options=limit) as stream:
            _unpack(stream, folder)
    except (known.ZstdError, EOFError, UnicodeError, *DAMAGED) as error:
        raise ToolError(f"a parcel cannot be unpacked: {printable(str(error))[:200]}") from error


def _items(root: Path) -> Iterator[Item]:
    for where, folders, files in os.walk(root):
        folders.sort()
        for name in sorted([*folders, *files]):
            path = Path(where, name)
            found, relative = path.lstat(), str(path.relative_to(root))
            mode, mtime_ns = stat.S_IMODE(found.st_mode), found.st_mtime_ns
            if stat.S_ISLNK(found.st_mode):
                yield Item(relative, LINK, mode, mtime_ns, target=str(path.readlink()))
            elif stat.S_ISDIR(found.st_mode):
                yield Item(relative, FOLDER, mode, mtime_ns)
            elif stat.S_ISREG(found.st_mode):
                yield Item(relative, FILE, mode, mtime_ns, found.st_size)


def _copy_in(path: Path, size_bytes: int, out: Any) -> None:
    left = size_bytes
    with path.open("rb") as f:
        while part := f.read(min(left, _CHUNK)) if left else b"":
            out.write(part)
            left -= len(part)
    if left:
        raise ToolError(f"{path} became shorter while it was packed")


def _unpack(stream: Any, root: Path) -> None:
    first = _exactly(stream, len(MAGIC) + 8)
    length = int.from_bytes(first[len(MAGIC) :], "big")
    if first[: len(MAGIC)] != MAGIC or length > MOST_LIST_BYTES:
        raise ToolError("a parcel has another beginning than parcels have")
    items = msgspec.json.decode(_exactly(stream, length), type=list[Item])
    folders, there = {""}, set[str]()
    for item in items:
        _check(item, folders, there)
        path = root / item.path
        if item.kind == FOLDER:
            path.mkdir()
            folders.add(item.path)
        elif item.kind == LINK:
            path.symlink_to(item.target)
        else:
            _copy_out(stream, item.size_bytes, path)
            path.chmod(item.mode & 0o7777)
            os.utime(path, ns=(item.mtime_ns, item.mtime_ns))
    if stream.read(1):
        raise ToolError("a parcel holds more than its list says")
    # Innermost first, since creating entries changes the time of a folder.
    for item in reversed(items):
        if item.kind == FOLDER:
            (root / item.path).chmod(item.mode & 0o7777)
            os.utime(root / item.path, ns=(item.mtime_ns, item.mtime_ns))


def _check(item: Item, folders: set[str], there: set[str]) -> None:
    """Raises ToolError for a path that leaves the folder, occurs twice, or has no listed parent."""
    parent, slash, name = item.path.rpartition("/")
    strange = name in ("", ".", "..") or "\0" in item.path or (slash and not parent)
    misplaced = parent not in folders or item.path in there
    if strange or misplaced or item.kind not in (FOLDER, FILE, LINK) or item.size_bytes < 0:
        raise ToolError(f"a parcel lists '{printable(item.path[:200])}', which is refused")
    there.add(item.path)


def _copy_out(stream: Any, size_bytes: int, path: Path) -> None:
    """Writes a file; zeros become a hole, as in the images that were packed."""
    left = size_bytes
    with path.open("xb") as f:
        while left:
            part = _exactly(stream, min(left, _CHUNK))
            left -= len(part)
            if part == _ZEROS:
                f.seek(len(part), os.SEEK_CUR)
            else:
                f.write(part)
        f.truncate(size_bytes)


def _exactly(stream: Any, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        part = stream.read(count - len(data))
        if not part:
            raise ToolError("a parcel is cut off")
        data += part
    return bytes(data)
