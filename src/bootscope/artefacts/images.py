# SPDX-License-Identifier: Apache-2.0
"""Root file systems as images: ext by debugfs, SquashFS by unsquashfs.

Names in an image never reach a command line: ext files are asked for by their number, and what is taken out
goes to numbered files in a folder of our own.
"""

from __future__ import annotations

import re
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from bootscope.artefacts.file_facts import Piece
from bootscope.artefacts.tree import (
    DEVICE,
    FILE,
    FOLDER,
    LINK,
    MOST_ENTRIES,
    PROGRAM_BYTES,
    SMALL_BYTES,
    Contents,
    Entry,
)
from bootscope.core.errors import ToolError, UserError, printable
from bootscope.core.process import end, run, spawn

_EXT_MAGIC_AT, _EXT_MAGIC = 0x438, b"\x53\xef"
_JOURNAL, _EXTENTS = 0x4, 0x40
_SQUASHFS = (b"hsqs", b"sqsh")
_TIMEOUT_S = 120
_DEEPEST = 32
_MOST_TAKEN_BYTES = 256 << 20
_MOST_CATS = 400
_ROOT_INODE = 2
_LISTED = re.compile(r"^/(\d{1,10})/(\d{6})/\d{1,10}/\d{1,10}/(.{1,255})/(\d{0,19})/$")
_COMMAND = re.compile(r"^debugfs: \w+ (?:-p )?<(\d{1,10})>$")
_TARGET = re.compile(r'^Fast link dest: "(.*)"$')


def is_ext(head: bytes) -> bool:
    """Whether an image begins like an ext2, ext3 or ext4 file system."""
    return head[_EXT_MAGIC_AT : _EXT_MAGIC_AT + 2] == _EXT_MAGIC


def is_squashfs(head: bytes) -> bool:
    """Whether an image begins like a SquashFS."""
    return head.startswith(_SQUASHFS)


def ext_kind(head: bytes) -> str:
    """`ext2`, `ext3` or `ext4`, by the features in the superblock."""
    compatible, incompatible = struct.unpack_from("<II", head.ljust(0x500, b"\0"), 0x45C)
    return "ext4" if incompatible & _EXTENTS else "ext3" if compatible & _JOURNAL else "ext2"


# ---- ext ----


def read_ext(path: Path, head: bytes) -> Piece:
    """What an ext image holds. Raises UserError when it cannot be read, ToolError without debugfs."""
    contents = Contents()
    with tempfile.TemporaryDirectory(prefix="bootscope-") as folder:
        image = _Ext(path.resolve(), Path(folder))
        found = list(image.walk())
        if not found:
            raise UserError(f"{printable(str(path))} looks like ext, but debugfs finds no files in it")
        image.take(found)
        for one in found:
            contents.add(image.entry(one))
    kind = ext_kind(head)
    return contents.piece(str(path), f"{kind} image", kind)


class _Found:
    """A file of the image: its number, mode, size and path; `target` for a link."""

    def __init__(self, inode: int, mode: int, size_bytes: int, path: str) -> None:
        self.inode, self.mode, self.size_bytes, self.path = inode, mode, size_bytes, path
        self.target = ""

    @property
    def kind(self) -> int:
        return self.mode >> 12

    @property
    def program(self) -> bool:
        return bool(self.mode & 0o111)


_REGULAR, _SYMLINK, _DIRECTORY = 8, 10, 4


class _Ext:
    def __init__(self, image: Path, folder: Path) -> None:
        self._image, self._folder = image, folder

    def _ask(self, commands: list[str]) -> Iterator[tuple[int, list[str]]]:
        """Runs commands about inodes; yields each inode with the lines of its answer."""
        script = self._folder / "commands"
        script.write_text("\n".join(commands) + "\n")
        done = run(
            ["debugfs", "-f", script.name, self._image], cwd=self._folder, timeout_s=_TIMEOUT_S, check=False
        )
        inode, lines = -1, list[str]()
        for line in done.output.splitlines():
            match = _COMMAND.match(line)
            if match:
                yield inode, lines
                inode, lines = int(match[1]), []
            else:
                lines.append(line)
        yield inode, lines

    def walk(self) -> Iterator[_Found]:
        """All files, a level of folders at a time."""
        level, seen, count = {_ROOT_INODE: ""}, {_ROOT_INODE}, 0
        for _ in range(_DEEPEST):
            below: dict[int, str] = {}
            links: dict[int, _Found] = {}
            for inode, lines in self._ask([f"ls -p <{inode}>" for inode in level]):
                for one in _listed(lines, level.get(inode)):
                    count += 1
                    if count > MOST_ENTRIES:
                        raise UserError(f"the image has more than {MOST_ENTRIES:,} files")
                    # A folder that holds itself, in a damaged image, is walked once.
                    if one.kind == _DIRECTORY and one.inode not in seen:
                        seen.add(one.inode)
                        below[one.inode] = one.path
                    if one.kind == _SYMLINK:
                        links[one.inode] = one
                    yield one
            self._targets(links)
            level = below
            if not level:
                return

    def _targets(self, links: dict[int, _Found]) -> None:
        if not links:
            return
        for inode, lines in self._ask([f"stat <{inode}>" for inode in links]):
            for match in filter(None, map(_TARGET.match, lines)):
                if inode in links:
                    links[inode].target = match[1]

    def take(self, found: list[_Found]) -> None:
        """Takes small files and programs out of the image, to files called by their number."""
        left, commands = _MOST_TAKEN_BYTES, []
        for one in found:
            most = PROGRAM_BYTES if one.program else SMALL_BYTES
            if one.kind == _REGULAR and 0 < one.size_bytes <= min(most, left):
                left -= one.size_bytes
                commands.append(f"dump <{one.inode}> {one.inode}")
        if commands:
            list(self._ask(commands))

    def entry(self, one: _Found) -> Entry:
        """A file as the others see it."""
        if one.kind == _SYMLINK:
            return Entry(one.path, LINK, target=one.target)
        if one.kind != _REGULAR:
            return Entry(one.path, FOLDER if one.kind == _DIRECTORY else DEVICE)
        return Entry(one.path, FILE, one.size_bytes, one.program, read=partial(self._read, one.inode))

    def _read(self, inode: int, most: int) -> bytes:
        try:
            with (self._folder / str(inode)).open("rb") as opened:
                return opened.read(most)
        except OSError:
            return b""


def _listed(lines: list[str], folder: str | None) -> Iterator[_Found]:
    """The files of a folder as debugfs lists them; nothing for one that was not asked for."""
    for match in filter(None, map(_LISTED.match, lines)) if folder is not None else ():
        inode, mode, name, count = match.groups()
        if int(inode) and name not in (".", "..") and len(mode) == 6 and re.fullmatch("[0-7]{6}", mode):
            yield _Found(int(inode), int(mode, 8), int(count or 0), f"{folder}/{name}")


# ---- SquashFS ----

_ROW = re.compile(r"^([-dlbcps][rwxstST-]{9}) \S+ +(\d+(?:, *\d+)?) \S+ \S+ squashfs-root(/.*)$")


def read_squashfs(path: Path) -> Piece:
    """What a SquashFS image holds. Raises UserError when it cannot be read, ToolError without unsquashfs."""
    image = path.resolve()
    try:
        done = run(["unsquashfs", "-lln", image], timeout_s=_TIMEOUT_S, check=False)
    except ToolError as error:
        raise ToolError(error.message, hint="install squashfs-tools, or unpack the image") from error
    contents = Contents()
    cats = [0]
    for row in filter(None, map(_ROW.match, done.output.splitlines())):
        contents.add(_of_row(row, image, cats))
    if not contents.files:
        why = next((line for line in done.output.splitlines() if line.strip()), "it says nothing")
        told = f"{printable(str(path))} looks like SquashFS, but unsquashfs cannot read it"
        raise UserError(f"{told}: {printable(why)[:200]}")
    return contents.piece(str(path), "SquashFS image", "squashfs")


def _of_row(row: re.Match[str], image: Path, cats: list[int]) -> Entry:
    mode, count, path = row.groups()
    if mode[0] == "l":
        path, _, target = path.partition(" -> ")
        return Entry(path, LINK, target=target)
    if mode[0] != "-":
        return Entry(path, FOLDER if mode[0] == "d" else DEVICE)
    program = "x" in mode or "s" in mode
    return Entry(path, FILE, int(count), program, read=partial(_cat, image, path, cats))


def _cat(image: Path, path: str, cats: list[int], most: int) -> bytes:
    """The first bytes of a file in the image; nothing after very many, each being a process."""
    cats[0] += 1
    if cats[0] > _MOST_CATS:
        return b""
    child = spawn(["unsquashfs", "-no-wildcards", "-cat", image, path], stderr=subprocess.DEVNULL)
    assert child.stdout
    try:
        return child.stdout.read(most)
    finally:
        end(child)
        child.wait()
        child.stdout.close()
