# SPDX-License-Identifier: Apache-2.0
"""Writes files into a user's folder: all of them or none, nothing through links, nothing overwritten unless
asked to."""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import msgspec

from bootscope.buildtrees.output import CommandLine, Output
from bootscope.core.damaged import DAMAGED
from bootscope.core.errors import ToolError, UserError, printable
from bootscope.core.text import listed

SCHEMA = 1
_MOST_COMPARED = 4 << 20
_MOST_LINES = 50
"""Command lines of runs that are kept."""


@dataclass(frozen=True)
class Difference:
    """A file to be created, changed or removed: `old` is its current text, None where there is no file (or it
    is not text); `new` is its new text, ``-> target`` for a link, None where it is removed. `ours`: it is
    unchanged since an earlier run wrote it, or does not exist."""

    path: str
    old: str | None
    new: str | None
    exists: bool
    ours: bool

    def lines(self) -> Iterator[str]:
        """The difference as a diff."""
        before = f"a/{self.path}" if self.exists else "/dev/null"
        after = f"b/{self.path}" if self.new is not None else "/dev/null"
        old, new = (text.splitlines() if text is not None else [] for text in (self.old, self.new))
        yield from difflib.unified_diff(old, new, before, after, lineterm="")


class Written(msgspec.Struct):
    """What a run wrote, kept in the folder: path -> hash of the text, or ``-> target``; and the command lines
    that it and the runs before made -> those before."""

    schema: int
    files: dict[str, str]
    replaced: dict[str, CommandLine] = {}


def differences(folder: Path, out: Output, name: str) -> list[Difference]:
    """The differences that writing would make in a folder, sorted by path; what an earlier run for the same
    `name` wrote and this one does not is removed, unless it was changed since.

    Raises UserError when something would be written through a link, or over something that is not a file.
    """
    found = []
    wanted, before = _wanted(out), _before(folder, name).files
    for path in sorted({*wanted, *before}):
        try:
            _check_path(folder, path)
        except UserError:
            if path in wanted:
                raise
            continue  # the path of an earlier run's file is blocked by something else
        exists, old = _now(folder / path)
        ours = not exists or (old is not None and _mark(old) == before.get(path))
        if path not in wanted:
            if exists and ours:
                found.append(Difference(path, old, None, exists, ours))
        elif not exists or old != wanted[path] or _mode_differs(folder / path, out, path):
            found.append(Difference(path, old, wanted[path], exists, ours))
    return found


def _wanted(out: Output) -> dict[str, str]:
    return {**out.files, **{path: f"-> {target}" for path, target in out.links.items()}}


def _manifest(name: str) -> str:
    return f".bootscope-{name}.json"


def _mark(text: str) -> str:
    return text if text.startswith("-> ") else hashlib.sha256(text.encode()).hexdigest()


def _before(folder: Path, name: str) -> Written:
    """What an earlier run wrote; nothing where that is unknown."""
    path, nothing = folder / _manifest(name), Written(SCHEMA, {})
    try:
        if path.is_symlink() or path.stat().st_size > _MOST_COMPARED:
            return nothing
        kept = msgspec.json.decode(path.read_bytes(), type=Written)
    except (OSError, *DAMAGED):
        return nothing
    kept.files = {path: mark for path, mark in kept.files.items() if _stays_inside(path)}
    return kept if kept.schema == SCHEMA else nothing


def _has_controls(text: str) -> bool:
    return any(not char.isprintable() and char not in "\n\t" for char in text)


def replaced(folder: Path, name: str) -> dict[str, CommandLine]:
    """Command lines and boot menus that earlier runs for the same `name` made in a folder -> those before.
    The tree may have been built with any of them."""
    found = _before(folder, name).replaced
    return {made: line for made, line in found.items() if not _has_controls(made + line.words)}


def _stays_inside(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return not path.startswith("/") and ".." not in parts and bool(parts)


def _check_path(folder: Path, path: str) -> None:
    parts = PurePosixPath(path).parts
    if not _stays_inside(path):
        raise UserError(f"'{printable(path)}' leads out of the folder")
    at = folder
    for part in parts[:-1]:
        at = at / part
        if at.is_symlink():
            raise UserError(f"{printable(str(at))} is a link: bootscope does not write through links")
        if at.exists() and not at.is_dir():
            raise UserError(f"{printable(str(at))} is a file, but must be a folder")
    if (folder / path).is_dir() and not (folder / path).is_symlink():
        raise UserError(f"{printable(str(folder / path))} is a folder, but must be a file")


def _now(path: Path) -> tuple[bool, str | None]:
    try:
        about = path.lstat()
        if stat.S_ISLNK(about.st_mode):
            return True, f"-> {path.readlink()}"
        if not stat.S_ISREG(about.st_mode) or about.st_size > _MOST_COMPARED:
            return True, None
        return True, path.read_bytes().decode()
    except (FileNotFoundError, NotADirectoryError):
        return False, None
    except UnicodeDecodeError:
        return True, None
    except OSError as error:
        raise UserError(f"cannot read {printable(str(path))}: {error.strerror}") from error


def _mode_differs(path: Path, out: Output, name: str) -> bool:
    """Whether, despite equal texts, one is a link and the other a file, or a program is not executable."""
    if name in out.links:
        return not path.is_symlink()
    return path.is_symlink() or (out.files[name].startswith("#!") and not os.access(path, os.X_OK))


def place(folder: Path, out: Output, name: str, force: bool) -> list[Difference]:
    """Writes everything into a folder, which need not exist; returns the differences.

    Raises UserError when that would overwrite foreign files, unless `force`; ToolError when it cannot be
    written; then nothing is changed.
    """
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{printable(str(folder))} is a file: expected a folder, or a new name")
    found = differences(folder, out, name)
    there = [d.path for d in found if d.exists and not d.ours]
    if there and not force:
        names = printable(listed(there, 3))
        raise UserError(
            f"{printable(str(folder))} already has different files with these names: {names}",
            hint="--dry-run shows the difference, --force overwrites them",
        )
    lines = replaced(folder, name)
    if not found and out.replaced.items() <= lines.items():
        return []
    marks = {path: _mark(text) for path, text in _wanted(out).items()}
    latest = list({**lines, **out.replaced}.items())[-_MOST_LINES:]
    written = Written(SCHEMA, dict(sorted(marks.items())), dict(latest))
    kept = msgspec.json.format(msgspec.json.encode(written), indent=1)
    whole = Output({**out.files, _manifest(name): kept.decode() + "\n"}, out.links)
    coming = [*(d.path for d in found if d.new is not None), _manifest(name)]
    going = [d.path for d in found if d.new is None]
    if not marks:
        # Nothing of ours is left, so the manifest goes, too.
        coming, going = [], [*going, _manifest(name)]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".bootscope-") as work:
            _stage(Path(work, "new"), whole, coming)
            _swap(folder, Path(work), coming, going)
    except OSError as error:
        raise ToolError(f"cannot write to {printable(str(folder))}: {error.strerror}") from error
    return found


def _stage(folder: Path, out: Output, paths: list[str]) -> None:
    for path in paths:
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if path in out.links:
            target.symlink_to(out.links[path])
            continue
        target.write_text(out.files[path])
        target.chmod(0o755 if out.files[path].startswith("#!") else 0o644)


def _swap(folder: Path, work: Path, coming: list[str], going: list[str]) -> None:
    """Moves all new files in and the old ones out; undoes everything when one move fails."""
    done: list[tuple[Path, Path | None]] = []
    made: list[Path] = []
    try:
        for number, path in enumerate([*coming, *going]):
            target, kept = folder / path, work / f"old-{number}"
            made += _made_folders(folder, target)
            there = target.is_symlink() or target.exists()
            if there:
                target.rename(kept)
            done.append((target, kept if there else None))
            if number < len(coming):
                (work / "new" / path).rename(target)
    except BaseException:
        _undo(done, made)
        raise
    for path in going:
        # A folder that is empty now was created for a removed file.
        for parent in _inner(folder, folder / path):
            with contextlib.suppress(OSError):
                parent.rmdir()


def _inner(folder: Path, path: Path) -> list[Path]:
    """The folders around a path, below `folder`; the innermost first."""
    return [p for p in path.parents if p != folder and p.is_relative_to(folder)]


def _made_folders(folder: Path, target: Path) -> list[Path]:
    """Creates the folders for a file; returns those that are new."""
    missing = [p for p in reversed(_inner(folder, target)) if not p.exists()]
    for parent in missing:
        parent.mkdir()
    return missing


def _undo(done: list[tuple[Path, Path | None]], made: list[Path]) -> None:
    for target, before in reversed(done):
        with contextlib.suppress(OSError):
            target.unlink(missing_ok=True)
            if before:
                before.rename(target)
    for parent in reversed(made):
        with contextlib.suppress(OSError):
            parent.rmdir()
