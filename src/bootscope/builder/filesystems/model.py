# SPDX-License-Identifier: Apache-2.0
"""What all kinds of root file systems share: their entries, the map of an image, the interface of a kind."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from bootscope.builder.step import EPOCH, Context
from bootscope.core.errors import StepError, UserError, printable
from bootscope.devices.model import SECTOR_BYTES
from bootscope.system.model import RootFs

BLOCK_MAP = "blocks.txt"
"""The map of an image, by sector: files by name, and the file system's own data."""

Piece = tuple[int, int, str, int]
"""(first sector from the image's start, sectors, name, sector in that file)."""


@dataclass(frozen=True)
class Entry:
    """One file of the image: a regular file (`source`), a symbolic link (`target`) or a folder; `permissions`
    replaces the usual ones."""

    path: PurePosixPath
    source: Path | None = None
    target: str | None = None
    program: bool = False
    permissions: int | None = None

    @property
    def mode(self) -> int:
        """Its permissions."""
        if self.permissions is not None:
            return self.permissions
        return 0o755 if self.program or self.source is None else 0o644


@dataclass(frozen=True)
class Order:
    """An image to make: at `image`, of `sectors` sectors or fewer, with `entries` in it.

    `erase_bytes`: of an erase block, for flash; 0 for other storage. `page_bytes`: the unit in which the
    flash is written; 0 for single bytes. `spare_blocks`: reserved to replace blocks that go bad.
    """

    context: Context
    rootfs: RootFs
    entries: Mapping[PurePosixPath, Entry]
    image: Path
    sectors: int
    erase_bytes: int = 0
    page_bytes: int = 0
    spare_blocks: int = 0

    @property
    def room_bytes(self) -> int:
        """The largest size of the image."""
        return self.sectors * SECTOR_BYTES

    def empty(self) -> None:
        """Makes the image an empty file of full size."""
        with self.image.open("wb") as f:
            f.truncate(self.room_bytes)

    def listed(self) -> list[str]:
        """The absolute paths of all files and folders that a tool's command language can express."""
        found = (f"/{path}" for path in sorted(self.entries) if self.entries[path].target is None)
        return ["/", *(path for path in found if path.isprintable() and '"' not in path)]

    def folder(self) -> Path:
        """The entries as a real folder, owned by the user who builds: for tools that copy one.

        All have the build's time, so that it does not matter when the folder was filled. Raises UserError for
        an entry that would end up outside of it.
        """
        root = self.context.scratch / "root"
        if not root.exists():
            lay_out(self.entries, root)
        return root

    def check_place(self, path: PurePosixPath) -> None:
        """Raises UserError for a path below a link or outside of the root: in a folder it would be a file of
        this computer's own."""
        check_place(self.entries, path)


def check_place(entries: Mapping[PurePosixPath, Entry], path: PurePosixPath) -> None:
    """Raises UserError for a path below a link or outside of the root: in a folder it would be a file of
    this computer's own."""
    links = [p for p in path.parents if p in entries and entries[p].target is not None]
    if links or ".." in path.parts or path.is_absolute():
        why = f": /{links[0]} is a link" if links else ""
        raise UserError(f"/{printable(str(path))} cannot be in a root file system{printable(why)}")


def lay_out(entries: Mapping[PurePosixPath, Entry], root: Path) -> None:
    """Makes a folder with the entries in it; all have the build's time.

    Raises UserError for an entry that would end up outside of it.
    """
    root.mkdir()
    for path in sorted(entries):
        check_place(entries, path)
        _put(entries[path], root / path)
    # In reverse order: creating entries changes the time of a folder.
    for path in (*sorted(entries, reverse=True), PurePosixPath()):
        os.utime(root / path, (EPOCH, EPOCH), follow_symlinks=False)
    root.chmod(0o755)


def _put(entry: Entry, place: Path) -> None:
    if entry.target is not None:
        place.symlink_to(entry.target)
        return
    if entry.source is None:
        place.mkdir()
    else:
        shutil.copyfile(entry.source, place)
    place.chmod(entry.mode)


@dataclass(frozen=True)
class FileSystem:
    """One kind of file system.

    `make` writes the image, `pieces` gives its map. `tools` are the programs that both call; `revision` rises
    when the image is made differently, and 0 leaves ids as they were before there were kinds.
    `steady`: made with the library that makes a mkfs reproducible (see steady.py). `needs`: steps that
    provide its programs; `flash`: it is for flash only.
    """

    make: Callable[[Order], None]
    pieces: Callable[[Order], Iterable[Piece]]
    tools: tuple[str, ...]
    revision: int = 1
    steady: bool = False
    needs: tuple[str, ...] = ()
    flash: bool = False


def check_size(order: Order) -> None:
    """Raises ToolError when the image does not fit its partition."""
    size = order.image.stat().st_size
    if size > order.room_bytes:
        raise StepError(
            f"the root file system has {size:,} bytes, there is room for {order.room_bytes:,}",
            hint="increase card.root_sectors, or put less into it",
        )


def in_sectors(start: int, length: int, name: str, at: int = 0) -> Piece:
    """A piece from bytes; sectors that are only partly covered are included."""
    first = start // SECTOR_BYTES
    return first, -(-(start + length) // SECTOR_BYTES) - first, name, at // SECTOR_BYTES


def joined(pieces: Iterable[Piece]) -> list[Piece]:
    """Pieces in order, with adjacent ones of the same file merged."""
    found: list[Piece] = []
    for first, count, name, at in sorted(set(pieces)):
        last, length, of, begin = found[-1] if found else (0, 0, "", 0)
        if found and (first, name, at) == (last + length, of, begin + length):
            found[-1] = last, length + count, of, begin
        else:
            found.append((first, count, name, at))
    return found


def write_map(folder: Path, pieces: Iterable[Piece]) -> None:
    """Writes BLOCK_MAP: a tab-separated line `first sector, sectors, name, sector in the file` for each.

    Sectors have 512 bytes and count from the image's start; for the file system's own data the last is 0.
    """
    lines = [f"{first}\t{count}\t{name}\t{at}\n" for first, count, name, at in sorted(pieces)]
    (folder / BLOCK_MAP).write_text("".join(lines))
