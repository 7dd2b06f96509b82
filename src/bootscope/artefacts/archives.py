# SPDX-License-Identifier: Apache-2.0
"""Root file systems as archives: cpio (an initramfs) and tar, read in memory."""

from __future__ import annotations

import mmap
import re
import stat
from collections.abc import Iterator
from functools import partial

from bootscope.artefacts import tree
from bootscope.artefacts.file_facts import Piece
from bootscope.artefacts.tree import DEVICE, FILE, FOLDER, LINK, Contents, Entry, clean
from bootscope.core.errors import UserError, printable
from bootscope.inventory.inventory import INITRAMFS
from bootscope.readers.unpack import is_tar, tar_members

_CPIO = (b"070701", b"070702")
_OLD_CPIO = (b"070707", b"\xc7\x71", b"\x71\xc7")
_HEADER, _LONGEST_NAME = 110, 4096
_TRAILER = "TRAILER!!!"
_FILLED = re.compile(rb"[^\0]")
_NUMBERS = re.compile(rb"[0-9a-fA-F]{104}")


def is_cpio(data: bytes) -> bool:
    """Whether this is an archive that the kernel accepts as an initramfs."""
    return data.startswith(_CPIO)


def read_cpio(name: str, data: bytes) -> Piece:
    """An initramfs. Raises UserError when it is empty."""
    contents = Contents()
    whole = [False]
    for entry in _cpio_entries(data, whole):
        contents.add(entry)
    notes = () if whole[0] else ("the archive is truncated; read up to there",)
    return contents.piece(name, "cpio archive", INITRAMFS, notes)


def _cpio_entries(data: bytes, whole: list[bool]) -> Iterator[Entry]:
    at = 0
    while data.startswith(_CPIO, at):
        # Several archives may follow one another, with zeros between them.
        one = CpioArchive(data, at)
        yield from one
        whole[0] = whole[0] or one.whole
        more = _FILLED.search(data, one.end) if one.whole else None
        at = more.start() if more else len(data)


class CpioArchive:
    """The entries of the cpio archive at an offset. After iteration, `end` is the first byte behind it, and
    `whole` says whether its last entry was reached."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self.end, self.whole = at, False

    def __iter__(self) -> Iterator[Entry]:
        data, at = self._data, self.end
        while data.startswith(_CPIO, at) and at + _HEADER <= len(data):
            fields = cpio_numbers(data[at + 6 : at + _HEADER])
            if fields is None or not 0 < fields[11] <= _LONGEST_NAME:
                return
            mode, count = fields[1], fields[6]
            name = data[at + _HEADER : at + _HEADER + fields[11] - 1].decode("utf-8", "backslashreplace")
            start = _aligned(at + _HEADER + fields[11])
            if start + count > len(data):
                return
            at = self.end = _aligned(start + count)
            if name == _TRAILER:
                self.whole = True
                return
            if clean(name) != "/":
                yield _entry(clean(name), mode, data, start, count)


def _aligned(at: int) -> int:
    return -(-at // 4) * 4


def cpio_numbers(text: bytes) -> tuple[int, ...] | None:
    """The thirteen numbers of a header, from what follows its magic; None when one is invalid."""
    # int() would take signs, underscores and blanks, and a negative size leads back to the same header.
    if not _NUMBERS.fullmatch(text):
        return None
    return tuple(int(text[n : n + 8], 16) for n in range(0, len(text), 8))


def _entry(path: str, mode: int, data: bytes, start: int, count: int) -> Entry:
    kind = stat.S_IFMT(mode)
    if kind == stat.S_IFLNK:
        return Entry(
            path, LINK, target=data[start : start + min(count, 4096)].decode("utf-8", "backslashreplace")
        )
    if kind == stat.S_IFDIR:
        return Entry(path, FOLDER)
    if kind != stat.S_IFREG:
        return Entry(path, DEVICE)
    return Entry(path, FILE, count, bool(mode & 0o111), read=partial(_part, data, start, count))


def _part(data: bytes | mmap.mmap, start: int, count: int, most: int) -> bytes:
    return data[start : start + min(count, most)]


def is_root_tar(data: bytes | mmap.mmap) -> bool:
    """Whether this is a tar archive of a root file system (bootchart's is not)."""
    if not is_tar(data):
        return False
    names = []
    for member in tar_members(data):
        names.append(clean((member.name or b"").decode("utf-8", "replace")))
        if len(names) >= tree.MOST_ENTRIES:
            break
    return tree.is_root(names)


def read_tar(name: str, data: bytes) -> Piece:
    """A root file system in a tar archive."""
    contents = Contents()
    whole = [True]
    for entry in tar_entries(data, whole):
        contents.add(entry)
    notes = () if whole[0] else ("the archive is damaged; read up to there",)
    return contents.piece(name, "tar archive", "", notes)


def tar_entries(data: bytes | mmap.mmap, whole: list[bool] | None = None) -> Iterator[Entry]:
    """The entries of a tar archive; `whole[0]` becomes False where it is damaged."""
    for member in tar_members(data):
        if member.name is None or (member.kind == b"0" and member.start + member.size > len(data)):
            if whole is not None:
                whole[0] = False
            return
        path = clean(member.name.decode("utf-8", "backslashreplace"))
        if path == "/":
            continue
        target = member.target.decode("utf-8", "backslashreplace")
        if member.kind == b"0":
            reader = partial(_part, data, member.start, member.size)
            yield Entry(path, FILE, member.size, bool(member.mode & 0o111), read=reader)
        elif member.kind in b"12":
            # A hard link's target is a path in the archive.
            yield Entry(path, LINK, target=clean(target) if member.kind == b"1" else target)
        else:
            yield Entry(path, FOLDER if member.kind == b"5" else DEVICE)


def refused(name: str, data: bytes) -> UserError | None:
    """The error for an archive of a kind that is recognised but not read; None for all others."""
    if data.startswith(_OLD_CPIO):
        hint = "create it again with: cpio -H newc"
        return UserError(
            f"{printable(name)} is a cpio archive in the old format, which no kernel reads", hint=hint
        )
    return None
