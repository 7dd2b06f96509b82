# SPDX-License-Identifier: Apache-2.0
"""Searches a foreign folder for files: never through a link that leads out of it, and never through more
entries than a build has."""

from __future__ import annotations

import fnmatch
import os
import stat
from collections.abc import Callable, Iterable
from pathlib import Path

from bootscope.artefacts.folder import head
from bootscope.core.errors import UserError, printable
from bootscope.core.text import listed

_MOST_ENTRIES = 20_000
"""Per folder."""
_MOST_FOUND = 2_000
"""Per pattern."""

Check = Callable[[Path], bool]


class Look:
    """Searches in `root`, an absolute path without links. `notes` are for the user."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.notes: list[str] = []

    def relative(self, path: Path) -> str:
        """A path relative to the root, as it is recorded."""
        return path.relative_to(self.root).as_posix()

    def note(self, text: str) -> None:
        """Notes something once."""
        if text not in self.notes:
            self.notes.append(text)

    def all(self, pattern: str, *, folder: bool = False) -> list[Path]:
        """The files (or folders) whose path from the root matches, name by name; newest first."""
        found = [self.root]
        *inner, last = pattern.split("/")
        for part in inner:
            found = [p for f in found for p in self._matching(f, part, True)][:_MOST_FOUND]
        leaves = [p for f in found for p in self._matching(f, last, folder)][:_MOST_FOUND]
        return sorted(leaves, key=lambda p: (-_age(p), str(p)))

    def first(self, patterns: Iterable[str], check: Check | None = None) -> Path | None:
        """The newest file that `check` accepts, for the first pattern with such a file."""
        for pattern in patterns:
            found = [path for path in self.all(pattern) if check is None or check(path)]
            if found:
                if len(found) > 1 and not pattern.startswith("**"):
                    self._several(found)
                return found[0]
        return None

    def _several(self, found: list[Path]) -> None:
        # A link and its target count once.
        others = {p.resolve() for p in found[1:]} - {found[0].resolve()}
        if others:
            names = listed(sorted(printable(self.relative(p)) for p in others), 3)
            self.note(f"took the newest, {printable(self.relative(found[0]))}; there is also {names}")

    def _matching(self, folder: Path, pattern: str, wants_folder: bool) -> Iterable[Path]:
        if not any(c in pattern for c in "*?["):
            return [p] if self._is(p := folder / pattern, wants_folder) else []
        try:
            with os.scandir(folder) as entries:
                names = [e.name for e, _ in zip(entries, range(_MOST_ENTRIES), strict=False)]
        except OSError:
            return []
        if len(names) == _MOST_ENTRIES:
            self.note(f"{printable(self.relative(folder))} has too many files: only some were read")
        matching = fnmatch.filter(names, pattern)
        return [folder / name for name in sorted(matching) if self._is(folder / name, wants_folder)]

    def _is(self, path: Path, wants_folder: bool) -> bool:
        try:
            mode = path.stat().st_mode
            inside = path.resolve().is_relative_to(self.root)
        except (OSError, RuntimeError, ValueError):
            return False
        if not (stat.S_ISDIR(mode) if wants_folder else stat.S_ISREG(mode)):
            return False
        name = self.relative(path)
        if not inside:
            self.note(f"{printable(name)} is a link that leads out of the folder: not followed")
            return False
        try:
            name.encode()
        except UnicodeEncodeError:
            self.note(f"{printable(name)} has a name that is not UTF-8: left out")
            return False
        return True


def _age(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def text(path: Path, most: int = 4 << 20) -> str:
    """A text file, up to `most` bytes."""
    return head(path, most, follow=True).decode("utf-8", "replace")


def tree_folder(name: str | Path) -> Path:
    """The folder of a tree, absolute. Raises UserError when it is not a folder."""
    try:
        path = Path(name).resolve(strict=True)
        if not path.is_dir():
            raise UserError(
                f"{printable(str(name))} is a file", hint="give the folder in which your build system built"
            )
        with os.scandir(path):
            pass
        str(path).encode()
    except (OSError, RuntimeError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "its name cannot be stored"
        raise UserError(f"cannot read {printable(str(name))}: {why}") from error
    return path
