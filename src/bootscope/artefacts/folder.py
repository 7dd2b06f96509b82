# SPDX-License-Identifier: Apache-2.0
"""A root file system as a folder of this computer. Links in it are reported, never followed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from bootscope.artefacts import tree
from bootscope.artefacts.file_facts import Piece
from bootscope.artefacts.tree import DEVICE, FILE, FOLDER, LINK, Contents, Entry
from bootscope.core.errors import UserError, printable
from bootscope.core.text import listed

_DEEPEST = 64


def read(path: Path) -> Piece:
    """The content of a folder. Raises UserError when it is not a root file system, or cannot be read."""
    try:
        names = os.listdir(path)  # noqa: PTH208
    except OSError as error:
        raise UserError(f"cannot read {printable(str(path))}: {error.strerror}") from error
    if not tree.is_root(names):
        raise UserError(
            f"{printable(str(path))} is a folder but not a root file system: it has no etc, bin or the like",
            hint="name the files in it to read, one by one",
        )
    contents = Contents()
    notes: list[str] = []
    for entry in _entries(path, "", 0, notes):
        contents.add(entry)
    told = (f"could not be read: {listed(notes, 1)}",) if notes else ()
    return contents.piece(str(path), "folder", "", told)


def _entries(folder: Path, prefix: str, depth: int, notes: list[str]) -> Iterator[Entry]:
    """Everything below a folder; what cannot be read is noted."""
    try:
        with os.scandir(folder) as found:
            inner = sorted(found, key=lambda item: item.name)
    except OSError:
        notes.append(as_text(prefix) or "/")
        return
    for item in inner:
        name = f"{prefix}/{item.name}"
        try:
            about = item.stat(follow_symlinks=False)
            entry = _entry(item, name, about)
        except OSError:
            notes.append(as_text(name))
            continue
        yield entry
        if entry.kind == FOLDER and depth < _DEEPEST:
            yield from _entries(Path(item.path), name, depth + 1, notes)


def _entry(item: os.DirEntry[str], name: str, about: os.stat_result) -> Entry:
    mode, path = about.st_mode, as_text(name)
    if stat.S_ISLNK(mode):
        return Entry(path, LINK, target=as_text(os.readlink(item.path)))  # noqa: PTH115
    if stat.S_ISDIR(mode):
        return Entry(path, FOLDER)
    if not stat.S_ISREG(mode):
        return Entry(path, DEVICE)
    return Entry(path, FILE, about.st_size, bool(mode & 0o111), read=partial(head, item.path))


def head(path: str | Path, most: int, follow: bool = False) -> bytes:
    """The first bytes of a regular file; empty for one that cannot be read, has been replaced by something
    else, or is a link that is not to be followed."""
    links = 0 if follow else os.O_NOFOLLOW
    try:
        # Does not wait for a writer of a pipe.
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | links)
    except OSError:
        return b""
    with os.fdopen(number, "rb") as opened:
        try:
            return opened.read(most) if stat.S_ISREG(os.fstat(number).st_mode) else b""
        except OSError:
            return b""


def as_text(name: str) -> str:
    """A file name of this computer as text that can be printed and stored."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")
