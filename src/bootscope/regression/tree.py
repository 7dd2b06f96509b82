# SPDX-License-Identifier: Apache-2.0
"""The files of a commit, in a folder of our own: the user's tree and its index are not touched.

The folder is the same for all commits, so only files that differ are written and ccache finds the rest. It
has no .git: kernels and boot loaders would put a commit's name into their images, and a longer name takes
longer on a serial line.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bootscope.core import process
from bootscope.core.errors import CommandError, UserError, printable
from bootscope.history.commits import git

_NAME = re.compile(r"[A-Za-z0-9_./~^@{}][A-Za-z0-9_./~^@{}-]{0,199}")
_TREE, _INDEX, _BUSY = "tree", "index", "checking-out"


@dataclass(frozen=True)
class Commit:
    """A commit by its whole hash, with the first line of its message, author and date."""

    sha: str
    subject: str
    author: str
    day: str

    @property
    def short(self) -> str:
        """The abbreviated hash."""
        return self.sha[:12]


@dataclass(frozen=True)
class Sources:
    """A git tree of the user's at `tree`; `prefix` is its path in its repository, with a slash at the end."""

    tree: Path
    git_dir: Path
    prefix: str

    def between(self, good: str, bad: str) -> list[Commit]:
        """`good`, and all commits after it up to `bad`, which is the last.

        Merges are followed along the first parent only: a merge is one commit. Raises UserError for unknown
        names, and if `bad` does not come after `good`.
        """
        first, last = self._sha(good), self._sha(bad)
        form = "--format=%H%x09%an%x09%as%x09%s"
        words = ("log", "--first-parent", "--ancestry-path", "--reverse", form, f"{first}..{last}", "--")
        found = [_commit(line) for line in git(self.tree, *words).splitlines()]
        told = [commit for commit in found if commit]
        if not told:
            raise UserError(
                f"{printable(bad)} does not come after {printable(good)} in {self.tree}",
                hint="git log --first-parent --ancestry-path GOOD..BAD shows what is between",
            )
        start = [_commit(line) for line in git(self.tree, "log", "-1", form, first, "--").splitlines()]
        return [*(commit for commit in start if commit), *told]

    def _sha(self, name: str) -> str:
        if not _NAME.fullmatch(name):
            raise UserError(f"'{printable(name[:100])}' is not the name of a commit")
        return git(self.tree, "rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}").split()[-1]


def sources_of(tree: Path) -> Sources:
    """The git tree in a folder. Raises UserError if there is none."""
    if not tree.is_dir():
        raise UserError(f"{tree} is not a folder")
    lines = git(tree, "rev-parse", "--absolute-git-dir", "--show-prefix").splitlines()
    return Sources(tree.resolve(), Path(lines[0]), lines[1] if len(lines) > 1 else "")


class Checkout:
    """The folder below `root` that holds one commit of the sources at a time."""

    def __init__(self, sources: Sources, root: Path) -> None:
        key = hashlib.sha256(f"{sources.git_dir}\0{sources.prefix}".encode()).hexdigest()[:16]
        self._sources, self._home = sources, root / key
        self.path = self._home / _TREE

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Locks the folder for us. Raises UserError if another bootscope uses it."""
        self._home.mkdir(parents=True, exist_ok=True)
        with (self._home / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UserError(f"another bisect works on {self._sources.tree}", hint="wait for it") from None
            yield

    def check_out(self, commit: Commit) -> None:
        """Makes the folder hold this commit. Raises UserError if git fails."""
        busy = self._home / _BUSY
        if busy.exists():  # left by a killed process: its content is unknown
            shutil.rmtree(self.path, ignore_errors=True)
            (self._home / _INDEX).unlink(missing_ok=True)
        busy.touch()
        (self._home / f"{_INDEX}.lock").unlink(missing_ok=True)
        self.path.mkdir(exist_ok=True)
        what = f"{commit.sha}:{self._sources.prefix}" if self._sources.prefix else commit.sha
        own = {
            "GIT_DIR": self._sources.git_dir,
            "GIT_WORK_TREE": self.path,
            "GIT_INDEX_FILE": self._home / _INDEX,
        }
        env = process.environment({name: str(path) for name, path in own.items()})
        safe = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.autocrlf=false")
        try:
            process.run(["git", *safe, "read-tree", "--reset", "-u", what], cwd=self.path, env=env)
        except CommandError as error:
            raise UserError(
                f"git cannot check out {commit.short}: {printable(error.message)[:300]}"
            ) from error
        busy.unlink()


def _commit(line: str) -> Commit | None:
    parts = line.split("\t", 3)
    if len(parts) < 4 or not re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", parts[0]):
        return None
    return Commit(parts[0], parts[3], parts[1], parts[2])
