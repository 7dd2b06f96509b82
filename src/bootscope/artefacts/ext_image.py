# SPDX-License-Identifier: Apache-2.0
"""ext2, ext3 and ext4 by debugfs. Files are requested by inode number: no name from the image is in a
command."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path

from bootscope.artefacts.tree import (
    DEVICE,
    FILE,
    FOLDER,
    LINK,
    MOST_ENTRIES,
    PROGRAM_BYTES,
    SMALL_BYTES,
    Entry,
)
from bootscope.core.errors import UserError
from bootscope.core.process import first_bytes, run

_TIMEOUT_S = 120
_DEEPEST = 32
_MOST_TAKEN_BYTES = 256 << 20
_LISTED = re.compile(r"^/(\d{1,10})/(\d{6})/\d{1,10}/\d{1,10}/(.{1,255})/(\d{0,19})/$")
_COMMAND = re.compile(r"^debugfs: \w+ (?:-p )?<(\d{1,10})>$")
_FAST_BYTES, _LONGEST_TARGET_BYTES = 59, 4095
_TARGET = re.compile(r'^Fast link dest: "(.*)"$')


class Found:
    """A file of the image: its inode number, mode, size and path; `target` for a link."""

    def __init__(self, inode: int, mode: int, size_bytes: int, path: str) -> None:
        self.inode, self.mode, self.size_bytes, self.path = inode, mode, size_bytes, path
        self.target = ""

    @property
    def kind(self) -> int:
        return self.mode >> 12

    @property
    def program(self) -> bool:
        return bool(self.mode & 0o111)


REGULAR, SYMLINK, DIRECTORY = 8, 10, 4
"""File types in the mode."""
ROOT_INODE = 2


class ExtImage:
    """An ext file system that begins `offset_bytes` into a file; `folder` is a scratch folder for extracted
    files."""

    def __init__(self, image: Path, folder: Path, offset_bytes: int = 0) -> None:
        self._folder = folder
        # Text after a question mark is taken as options, and a user's file name may contain one: hence the
        # link.
        link = folder / f"image-{offset_bytes}"
        link.symlink_to(image)
        self._device = f"{link}?offset={offset_bytes}" if offset_bytes else str(link)

    def _ask(self, commands: list[str]) -> Iterator[tuple[int, list[str]]]:
        """Runs commands about inodes; yields each inode with the lines of its answer."""
        script = self._folder / "commands"
        script.write_text("\n".join(commands) + "\n")
        done = run(
            ["debugfs", "-f", script.name, self._device], cwd=self._folder, timeout_s=_TIMEOUT_S, check=False
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

    def walk(self) -> Iterator[Found]:
        """All files, one level of folders at a time."""
        level, seen, count = {ROOT_INODE: ""}, {ROOT_INODE}, 0
        for _ in range(_DEEPEST):
            below: dict[int, str] = {}
            links: dict[int, Found] = {}
            for inode, lines in self._ask([f"ls -p <{inode}>" for inode in level]):
                for one in _listed(lines, level.get(inode)):
                    count += 1
                    if count > MOST_ENTRIES:
                        raise UserError(f"the image has more than {MOST_ENTRIES:,} files")
                    # In a damaged image a folder may contain itself: it is walked once.
                    if one.kind == DIRECTORY and one.inode not in seen:
                        seen.add(one.inode)
                        below[one.inode] = one.path
                    if one.kind == SYMLINK:
                        links[one.inode] = one
                    yield one
            self._targets(links)
            level = below
            if not level:
                return

    def below(self, inode: int, path: str) -> list[Found]:
        """The files in one folder, with link targets."""
        every = (one for _, lines in self._ask([f"ls -p <{inode}>"]) for one in _listed(lines, path))
        found = list(islice(every, MOST_ENTRIES))
        self._targets({one.inode: one for one in found if one.kind == SYMLINK})
        return found

    def head(self, inode: int, most: int) -> bytes:
        """The first bytes of a file, which is not kept."""
        return first_bytes(["debugfs", "-R", f"cat <{inode}>", self._device], most)

    def _targets(self, links: dict[int, Found]) -> None:
        if not links:
            return
        for inode, lines in self._ask([f"stat <{inode}>" for inode in links]):
            for match in filter(None, map(_TARGET.match, lines)):
                if inode in links:
                    links[inode].target = match[1]
        # A long link target is in a block of its own, like a file's content.
        for inode, found in links.items():
            if not found.target and _FAST_BYTES < found.size_bytes <= _LONGEST_TARGET_BYTES:
                found.target = self.head(inode, found.size_bytes).decode("utf-8", "backslashreplace")

    def take(self, found: list[Found]) -> None:
        """Extracts small files and programs from the image; the copies are named by inode number."""
        left, commands = _MOST_TAKEN_BYTES, []
        for one in found:
            most = PROGRAM_BYTES if one.program else SMALL_BYTES
            if one.kind == REGULAR and 0 < one.size_bytes <= min(most, left):
                left -= one.size_bytes
                commands.append(f"dump <{one.inode}> {one.inode}")
        if commands:
            list(self._ask(commands))

    def entry(self, one: Found) -> Entry:
        """A file as an entry of the common kind."""
        if one.kind == SYMLINK:
            return Entry(one.path, LINK, target=one.target)
        if one.kind != REGULAR:
            return Entry(one.path, FOLDER if one.kind == DIRECTORY else DEVICE)
        return Entry(one.path, FILE, one.size_bytes, one.program, read=partial(self._read, one.inode))

    def _read(self, inode: int, most: int) -> bytes:
        try:
            with (self._folder / str(inode)).open("rb") as opened:
                return opened.read(most)
        except OSError:
            return b""


def _listed(lines: list[str], folder: str | None) -> Iterator[Found]:
    """The files of a folder in the output of debugfs; none for a folder that was not requested."""
    for match in filter(None, map(_LISTED.match, lines)) if folder is not None else ():
        inode, mode, name, count = match.groups()
        if int(inode) and name not in (".", "..") and len(mode) == 6 and re.fullmatch("[0-7]{6}", mode):
            yield Found(int(inode), int(mode, 8), int(count or 0), f"{folder}/{name}")
