# SPDX-License-Identifier: Apache-2.0
"""The cache of sources and built steps: a folder, no daemon.

    steps/ID/         the result of one step, with meta.json; appears by rename or not at all
    sources/KEY/      a fetched source and resolved.json
    tmp/              work in progress; what a killed process left is removed at the next start
    locks/            one lock file a step, held while it is built
    refused/          downloads with a wrong hash, kept for inspection

Safe for parallel use: a process that needs a step that another one is building waits for it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from bootscope.core.errors import SpaceError, ToolError, UserError, printable

CACHEDIR_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This folder holds sources and builds of bootscope; all of it can be made again.\n"
)
DEFAULT_LIMIT_BYTES = 30 << 30


_POLL_S = 0.2


def _wait(lock: IO[str], enough: Callable[[], bool] | None) -> None:
    """Waits for a lock, or until `enough` holds."""
    if enough is None:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return
    while not enough():
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_POLL_S)
        else:
            return


@dataclass(frozen=True)
class Entry:
    """One finished step in the cache."""

    step_id: str
    path: Path
    size_bytes: int
    used_s: float


class Cache:
    """The cache below `root`, which is created if it does not exist."""

    def __init__(self, root: Path) -> None:
        # Steps run in their own folders, where a relative path would mean another place.
        self.root = root = root.absolute()
        if any(c.isspace() or c == ":" for c in str(root)):
            raise UserError(
                f"the cache cannot be in '{printable(str(root))}': builds do not work in paths with "
                "blanks or colons",
                hint="set BOOTSCOPE_CACHE to another folder",
            )
        self.steps = root / "steps"
        self.sources = root / "sources"
        self.refused = root / "refused"
        self._tmp = root / "tmp"
        self._locks = root / "locks"
        try:
            for folder in (self.steps, self.sources, self._tmp, self._locks):
                folder.mkdir(parents=True, exist_ok=True)
            tag = root / "CACHEDIR.TAG"
            if not tag.exists():
                tag.write_text(CACHEDIR_TAG)
        except OSError as error:
            elsewhere = "BOOTSCOPE_CACHE=FOLDER keeps sources and builds in another folder"
            raise ToolError(f"cannot use the cache {root}: {error.strerror}", hint=elsewhere) from error
        self._sweep()

    def find(self, step_id: str) -> Path | None:
        """The folder of a finished step, or None. Records that it is used now."""
        path = self.steps / step_id
        if not (path / "meta.json").exists():
            return None
        with contextlib.suppress(OSError):
            os.utime(path / "meta.json")
        return path

    @contextlib.contextmanager
    def lock(
        self, name: str, on_wait: Callable[[], None], enough: Callable[[], bool] | None = None
    ) -> Iterator[None]:
        """Holds the lock `name`; calls `on_wait` once when another process holds it.

        With `enough`, it continues without the lock as soon as `enough` holds: the process that made a step
        may keep the lock for long, while the step is already available.
        """
        with (self._locks / name).open("a") as f:
            try:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                on_wait()
                _wait(f, enough)
            yield

    @contextlib.contextmanager
    def use(self, step_ids: Iterable[str]) -> Iterator[None]:
        """Protects finished steps from pruning while they are used."""
        with contextlib.ExitStack() as stack:
            for step_id in step_ids:
                f = stack.enter_context((self._locks / step_id).open("a"))
                fcntl.flock(f, fcntl.LOCK_SH)
            yield

    def keep(self, step_id: str) -> None:
        """Protects a finished step from pruning as long as this process runs, or the program that it executes
        in its place."""
        held = os.open(self._locks / step_id, os.O_RDWR | os.O_CREAT, 0o666)
        fcntl.flock(held, fcntl.LOCK_SH)
        os.set_inheritable(held, True)

    @contextlib.contextmanager
    def workspace(self) -> Iterator[Path]:
        """A new folder for work in progress, removed at the end; its owner's lock protects it."""
        path = self._tmp / f"{os.getpid()}-{time.monotonic_ns()}"
        # First the lock, then the folder: a sweep must never see a folder without a lock.
        guard = path.with_suffix(".lock").open("w")
        fcntl.flock(guard, fcntl.LOCK_EX)
        path.mkdir()
        try:
            yield path
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise SpaceError(
                    f"no space left for the cache in {self.root}",
                    hint="'bootscope cache prune' makes room; BOOTSCOPE_CACHE moves the cache",
                ) from error
            raise
        finally:
            remove_tree(path)
            path.with_suffix(".lock").unlink(missing_ok=True)
            guard.close()

    def commit(self, work: Path, final: Path) -> Path:
        """Makes `work` appear as `final` at once; if another process was faster, its result stays."""
        _flush(work)
        try:
            work.rename(final)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        return final

    def entries(self) -> list[Entry]:
        """All finished steps, least recently used first."""
        found: list[Entry] = []
        for path in self.steps.iterdir():
            with contextlib.suppress(FileNotFoundError):
                used_s = (path / "meta.json").stat().st_mtime
                found.append(Entry(path.name, path, tree_bytes(path), used_s))
        return sorted(found, key=lambda entry: entry.used_s)

    def prune(self, limit_bytes: int, keep: frozenset[str] = frozenset()) -> list[Entry]:
        """Removes steps, least recently used first, until the rest takes at most `limit_bytes`.

        Steps in `keep` and locked steps stay. Returns what was removed.
        """
        entries = self.entries()
        total = sum(entry.size_bytes for entry in entries)
        removed: list[Entry] = []
        for entry in entries:
            if total <= limit_bytes:
                break
            if entry.step_id not in keep and self._remove(entry):
                removed.append(entry)
                total -= entry.size_bytes
        return removed

    def _remove(self, entry: Entry) -> bool:
        """Removes a step unless it is in use: first by rename, then for good."""
        with (self._locks / entry.step_id).open("a") as f:
            try:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            grave = self._tmp / f"removed-{entry.step_id}-{os.getpid()}"
            try:
                entry.path.rename(grave)
            except FileNotFoundError:
                return False  # another prune was faster
            remove_tree(grave)
        return True

    def _sweep(self) -> None:
        """Removes workspaces whose owner is gone (its lock is free)."""
        for path in self._tmp.iterdir():
            if not path.is_dir():
                continue
            guard = path.with_suffix(".lock")
            if guard.exists():
                with guard.open("a") as f, contextlib.suppress(BlockingIOError):
                    fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    # Renamed first: processes of a killed build may still write into it. What remains is
                    # removed the next time.
                    grave = self._tmp / f"removed-{path.name}"
                    path.rename(grave)
                    guard.unlink(missing_ok=True)
                    remove_tree(grave)
            elif path.name.startswith("removed-"):
                remove_tree(path)


def tree_bytes(root: Path) -> int:
    """Disk space of all files below `root` in bytes (without holes)."""
    total = 0
    for folder, _, files in os.walk(root):
        for name in files:
            with contextlib.suppress(FileNotFoundError):
                total += os.lstat(Path(folder, name)).st_blocks * 512
    return total


def remove_tree(path: Path) -> None:
    """Removes a folder, also with write-protected folders in it; does nothing when it is gone."""
    if not path.exists():
        return
    for folder, _, _ in os.walk(path):
        with contextlib.suppress(OSError):
            Path(folder).chmod(0o700)
    shutil.rmtree(path, ignore_errors=True)


def _flush(work: Path) -> None:
    """Writes the files' data to the disk before their name appears: a power cut must not leave
    a finished step with empty files."""
    for folder, _, files in os.walk(work):
        for name in files:
            path = Path(folder, name)
            if path.is_symlink():
                continue
            with path.open("rb") as f:
                os.fsync(f.fileno())
