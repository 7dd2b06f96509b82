# SPDX-License-Identifier: Apache-2.0
"""Files in an image, whatever contains them: found by path, through links, never outside.

A path begins with a slash and is untrusted text. Links are followed within the image, a limited number of
times.
"""

from __future__ import annotations

import fnmatch
import os
import stat
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Protocol

from bootscope.artefacts.ext_image import DIRECTORY, REGULAR, ROOT_INODE, SYMLINK, ExtImage
from bootscope.artefacts.folder import as_text, head
from bootscope.artefacts.tree import DEVICE, FILE, FOLDER, LINK, MOST_ENTRIES, Entry
from bootscope.core.errors import UserError

_MOST_LINKS = 40
_MOST_FOUND = 2000


class Holder(Protocol):
    """Something that contains files. `folder` returns the entries of a folder by name, none for anything
    else; parents are requested before their children."""

    kind: str

    def folder(self, path: str) -> dict[str, Entry]: ...


class Listed:
    """A holder whose files are all known: an archive, or a SquashFS."""

    def __init__(self, kind: str, entries: Iterable[Entry]) -> None:
        self.kind = kind
        self._folders: dict[str, dict[str, Entry]] = {"/": {}}
        for number, entry in enumerate(entries):
            if number >= MOST_ENTRIES:
                raise UserError(f"more than {MOST_ENTRIES:,} files are not read")
            above, _, name = entry.path.rpartition("/")
            self._made(above or "/")
            if entry.kind == FOLDER:
                self._folders.setdefault(entry.path, {})
            if name not in ("", ".", ".."):
                self._folders[above or "/"][name] = entry

    def _made(self, path: str) -> None:
        """Adds folders that an archive implies without listing them."""
        while path not in self._folders:
            self._folders[path] = {}
            above, _, name = path.rpartition("/")
            self._folders.setdefault(above or "/", {})[name] = Entry(path, FOLDER)
            path = above or "/"

    def folder(self, path: str) -> dict[str, Entry]:
        """The entries of a folder."""
        return self._folders.get(path, {})


class Ext:
    """A holder for ext2, ext3 and ext4 that reads one folder at a time."""

    def __init__(self, kind: str, image: ExtImage) -> None:
        self.kind, self._image = kind, image
        self._inodes = {"/": ROOT_INODE}

    def folder(self, path: str) -> dict[str, Entry]:
        """The entries of a folder."""
        if path not in self._inodes:
            return {}
        found: dict[str, Entry] = {}
        for one in self._image.below(self._inodes[path], path.rstrip("/")):
            name = one.path.rpartition("/")[2]
            if one.kind == DIRECTORY:
                self._inodes[one.path] = one.inode
                found[name] = Entry(one.path, FOLDER)
            elif one.kind == SYMLINK:
                found[name] = Entry(one.path, LINK, target=one.target)
            elif one.kind == REGULAR:
                read = partial(self._image.head, one.inode)
                found[name] = Entry(one.path, FILE, one.size_bytes, one.program, read=read)
            else:
                found[name] = Entry(one.path, DEVICE)
        return found


class OnDisk:
    """A holder that is a folder of this computer. Nothing outside it is read."""

    kind = "folder"

    def __init__(self, root: Path) -> None:
        self._root = root

    def folder(self, path: str) -> dict[str, Entry]:
        """The entries of a folder."""
        place = Path(f"{self._root}{path}")
        found: dict[str, Entry] = {}
        try:
            if place != Path(f"{self._root}/") and place.is_symlink():
                return {}
            with os.scandir(place) as items:
                for item, _ in zip(items, range(MOST_ENTRIES), strict=False):
                    if as_text(item.name) == item.name:  # a name that is not UTF-8 cannot be stored
                        found[item.name] = _of_item(item, f"{path.rstrip('/')}/{item.name}")
        except OSError:
            return found
        return found


def _of_item(item: os.DirEntry[str], path: str) -> Entry:
    about = item.stat(follow_symlinks=False)
    if stat.S_ISLNK(about.st_mode):
        return Entry(path, LINK, target=as_text(os.readlink(item.path)))  # noqa: PTH115
    if stat.S_ISDIR(about.st_mode):
        return Entry(path, FOLDER)
    if not stat.S_ISREG(about.st_mode):
        return Entry(path, DEVICE)
    return Entry(
        path, FILE, about.st_size, bool(about.st_mode & 0o111), read=lambda most: head(item.path, most)
    )


class Files:
    """The files of a holder, by path; results are cached."""

    def __init__(self, holder: Holder) -> None:
        self._holder = holder
        self._known: dict[str, dict[str, Entry]] = {}

    @property
    def kind(self) -> str:
        """What contains them, in words."""
        return self._holder.kind

    def folder(self, path: str) -> dict[str, Entry]:
        """The entries of a folder by name; none for anything else."""
        entry = self.find(path)
        if entry is None or entry.kind != FOLDER:
            return {}
        if entry.path not in self._known:
            self._known[entry.path] = self._holder.folder(entry.path)
        return self._known[entry.path]

    def find(self, path: str) -> Entry | None:
        """The target of a path, through links; None where it does not exist, or links form a circle."""
        return self._find([part for part in path.split("/") if part not in ("", ".")], _MOST_LINKS)

    def _find(self, parts: list[str], links: int) -> Entry | None:
        here = Entry("/", FOLDER)
        way: list[Entry] = []
        for number, part in enumerate(parts):
            if part == "..":
                here = way.pop() if way else Entry("/", FOLDER)
                continue
            if here.kind != FOLDER:
                return None
            if here.path not in self._known:
                self._known[here.path] = self._holder.folder(here.path)
            found = self._known[here.path].get(part) or self._other_case(here.path, part)
            if found is None:
                return None
            if found.kind == LINK:
                if links <= 0:
                    return None
                start = [] if found.target.startswith("/") else _parts(here.path)
                return self._find([*start, *_parts(found.target), *parts[number + 1 :]], links - 1)
            way.append(here)
            here = found
        return here

    def _other_case(self, folder: str, name: str) -> Entry | None:
        """FAT ignores case."""
        if self.kind != "FAT":
            return None
        return next((e for n, e in self._known[folder].items() if n.lower() == name.lower()), None)

    def read(self, path: str, most: int) -> bytes | None:
        """The first bytes of a file; None where it does not exist."""
        entry = self.find(path)
        return entry.read(most) if entry and entry.kind == FILE else None

    def text(self, path: str, most: int = 256 << 10) -> str | None:
        """A text file, up to `most` bytes; None where it does not exist."""
        data = self.read(path, most)
        return None if data is None else data.decode("utf-8", "backslashreplace")

    def matching(self, pattern: str) -> Iterator[Entry]:
        """The files whose path matches, component by component, sorted; links are followed."""
        paths = ["/"]
        for part in _parts(pattern):
            paths = [f"{p.rstrip('/')}/{name}" for p in paths for name in self._names(p, part)][:_MOST_FOUND]
        for path in paths:
            entry = self.find(path)
            if entry and entry.kind == FILE:
                yield Entry(path, FILE, entry.size_bytes, entry.program, read=entry.read)

    def _names(self, folder: str, pattern: str) -> list[str]:
        if not any(c in pattern for c in "*?["):
            found = self.find(f"{folder}/{pattern}")
            return [pattern] if found else []
        return sorted(name for name in self.folder(folder) if fnmatch.fnmatch(name.lower(), pattern.lower()))


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]
