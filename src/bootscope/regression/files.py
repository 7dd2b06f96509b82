# SPDX-License-Identifier: Apache-2.0
"""The differences between two root file systems, or two overlays: files that are new, gone or changed."""

from __future__ import annotations

import contextlib
import glob
import posixpath
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import msgspec
from elftools.common.exceptions import ELFError

from bootscope.builder.cache import Cache
from bootscope.builder.ids import id_of
from bootscope.builder.steps.rootfs import needed_libraries
from bootscope.core.errors import UserError, printable
from bootscope.core.text import size
from bootscope.regression import roots
from bootscope.regression.inputs import Inputs
from bootscope.regression.placed import placed
from bootscope.regression.roots import FOLDER, LINK, PROGRAM, Item
from bootscope.regression.units import Chosen
from bootscope.system.load import LoadedSystem

_OVERLAY = "overlay"


@dataclass(frozen=True)
class Files(Inputs):
    """The files of two folders, in place of a system's overlay. `cache`: where combinations are composed."""

    option: ClassVar[str] = "--files"
    noun: ClassVar[tuple[str, str]] = ("file", "files")
    views: ClassVar[tuple[str, ...]] = ("processes", "storage", "functions")
    sides: tuple[Path, Path]
    cache: Cache

    @cached_property
    def _items(self) -> tuple[dict[str, Item], dict[str, Item]]:
        return roots.listed(self.sides[0]), roots.listed(self.sides[1])

    @cached_property
    def _folders(self) -> tuple[set[str], set[str]]:
        """The folders of each side: those above a file or link, and empty ones."""
        first, second = (
            {parent for path in items for parent in _above(path)}
            | {path for path, item in items.items() if item.kind == FOLDER}
            for items in self._items
        )
        return first, second

    @cached_property
    def differing(self) -> dict[str, str]:
        """Path -> its change, in words."""
        old, new = self._items
        paths = sorted(path for path in {*old, *new} if old.get(path) != new.get(path))
        return {
            path: told
            for path in paths
            if (
                told := _told(
                    old.get(path), new.get(path), path in self._folders[0], path in self._folders[1]
                )
            )
        }

    @cached_property
    def key(self) -> str:
        """Of both contents."""
        return id_of([msgspec.to_builtins(self._items[0]), msgspec.to_builtins(self._items[1])])

    @contextlib.contextmanager
    def system(self, chosen: Chosen) -> Iterator[LoadedSystem]:
        """The system with a combination's files as its overlay; paths that the combination lacks are
        removed."""
        from_bad = self.names(chosen)
        with self.cache.workspace() as work:
            overlay = work / _OVERLAY
            overlay.mkdir()
            self._write(overlay, from_bad)
            places = {path: overlay / path[1:] for path in self.differing}
            gone = [path for path, at in places.items() if not at.is_symlink() and not at.exists()]
            s = placed(self.loaded, work)
            rootfs = msgspec.structs.replace(
                s.system.rootfs,
                overlay=_OVERLAY,
                remove=(*s.system.rootfs.remove, *(glob.escape(path) for path in gone)),
            )
            yield LoadedSystem(msgspec.structs.replace(s.system, rootfs=rootfs), s.path)

    def _write(self, overlay: Path, from_bad: set[str]) -> None:
        for path in self._folders[0] & self._folders[1]:
            (overlay / path[1:]).mkdir(parents=True, exist_ok=True)
        for side, items in enumerate(self._items):
            for path, item in items.items():
                if (path in from_bad) == bool(side) if path in self.differing else not side:
                    _copy(self.sides[side], overlay, path, item)

    # ---- dependencies ----

    def needs(self) -> Mapping[str, set[str]]:
        """Of the paths that differ: a link needs its target, a program its libraries; a file that replaces a
        folder and the files of that folder need each other. What is removed is removed after whatever needed
        it."""
        needs: dict[str, set[str]] = {path: set() for path in self.differing}
        old, new = self._items
        names = {path.rpartition("/")[2]: path for path in self.differing}
        for path in self.differing:
            for above in _above(path):
                if above in self.differing:
                    needs[path].add(above)
                    needs[above].add(path)
            for used in self._used(1, path, new.get(path), names):
                needs[path].add(used)
            for used in self._used(0, path, old.get(path), names):
                if used not in new:
                    needs[used].add(path)
        return needs

    def _used(self, side: int, path: str, item: Item | None, names: Mapping[str, str]) -> Iterator[str]:
        if item is None or item.kind == FOLDER:
            return
        if item.kind == LINK:
            target = posixpath.normpath(posixpath.join(posixpath.dirname(path), item.content))
            if target in self.differing:
                yield target
            return
        place = self.sides[side] / path[1:]
        with place.open("rb") as f:
            if f.read(4) != b"\x7fELF":
                return
        with contextlib.suppress(ELFError, ValueError, KeyError):
            yield from (names[name] for name in needed_libraries(place) if name in names)


def files(loaded: LoadedSystem, given: tuple[str, str], cache: Cache, work: Path) -> Files:
    """The inputs that a user gives; an archive or image is unpacked below `work`.

    Raises UserError for what has no files, and for two equal inputs.
    """
    folders = []
    for number, name in enumerate(given):
        (work / str(number)).mkdir()
        folders.append(roots.opened(Path(name).expanduser(), work / str(number)))
    found = Files(loaded, given[0], given[1], (folders[0], folders[1]), cache)
    if not found.differing:
        raise UserError(
            f"{printable(given[0])} and {printable(given[1])} hold the same files", hint="another pair"
        )
    return found


def _told(old: Item | None, new: Item | None, was_folder: bool, is_folder: bool) -> str:
    """The change of a path, in words; empty for a folder that only gets its first, or loses its last
    files."""
    if (
        (old is None or old.kind == FOLDER)
        and (new is None or new.kind == FOLDER)
        and was_folder == is_folder
    ):
        return ""
    return f"{_side(old, was_folder)} -> {_side(new, is_folder)}"


def _side(item: Item | None, is_folder: bool) -> str:
    if item is None or item.kind == FOLDER:
        return FOLDER if is_folder else "none"
    if item.kind == LINK:
        return f"link to {printable(item.content)}"
    return f"{item.kind} of {size(item.size_bytes)}"


def _above(path: str) -> Iterator[str]:
    """The folders above a path, without the root."""
    while path := path.rpartition("/")[0]:
        yield path


def _copy(root: Path, overlay: Path, path: str, item: Item) -> None:
    place = overlay / path[1:]
    place.parent.mkdir(parents=True, exist_ok=True)
    if item.kind == FOLDER:
        place.mkdir(exist_ok=True)
    elif item.kind == LINK:
        place.symlink_to(item.content)
    else:
        shutil.copyfile(root / path[1:], place)
        place.chmod(0o755 if item.kind == PROGRAM else 0o644)
