# SPDX-License-Identifier: Apache-2.0
"""The commands of a tree's owner, and their parameters: passed in the environment, never inserted into the
command."""

from __future__ import annotations

import contextlib
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

from bootscope.builder.ids import file_sha256
from bootscope.buildtrees.model import OPENWRT, Tree
from bootscope.core import process
from bootscope.core.errors import UserError, printable
from bootscope.core.paths import store_dir

BASE = "base"
"""The name of the system without changes."""


def words(tree: Tree, command: tuple[str, ...]) -> list[str]:
    """An owner's command as a list of words to start."""
    return ["/bin/sh", "-c", command[0]] if tree.shell else list(command)


def build_words(tree: Tree) -> list[str]:
    """The command that builds a tree. Raises UserError when none is configured."""
    if not tree.build:
        raise UserError(
            f"no build command is configured for {tree.name}",
            hint=f"bootscope system import {printable(tree.folder)} --as {tree.name} --build 'make -C ...'",
        )
    return words(tree, tree.build)


def build_files(tree: Tree) -> dict[str, str]:
    """The files that the build command names, such as a script, by their SHA-256."""
    found: dict[str, str] = {}
    for word in (word for text in tree.build for word in (text, *_parts(text))):
        # Text for a shell may have words that cannot be the name of a file.
        with contextlib.suppress(OSError, ValueError, RuntimeError):
            path = Path(tree.folder, Path(word).expanduser())
            command = path if path.is_file() else shutil.which(word, path=process.search_path())
            if command:
                found[word] = file_sha256(Path(command))
    return found


def _parts(text: str) -> Iterator[str]:
    """The words of a text for a shell, without what separates its commands."""
    words = shlex.shlex(text, posix=True, punctuation_chars=True)
    words.whitespace_split, words.commenters = True, ""
    with contextlib.suppress(ValueError):  # a quote that is not closed
        yield from words


def changes_folder(tree: Tree) -> Path:
    """Where changes of a tree are written: the owner's folder, or one beside the tree's record; for OpenWrt
    the top folder of its sources."""
    if tree.trial.changes:
        return Path(tree.trial.changes)
    return Path(tree.folder) if tree.made_by == OPENWRT else own_folder(tree) / "changes"


def own_folder(tree: Tree) -> Path:
    """Where bootscope keeps what belongs to a tree: logs, and its changes where no other folder is
    configured."""
    return store_dir().absolute() / "trees" / f"{tree.name}.files"


def command_environment(tree: Tree, variant: str = BASE) -> dict[str, str]:
    """The environment of the owner's commands; `variant` is the content id of the changes."""
    return {
        "BOOTSCOPE_SYSTEM": tree.name,
        "BOOTSCOPE_TREE": tree.folder,
        "BOOTSCOPE_CHANGES": str(changes_folder(tree)),
        "BOOTSCOPE_VARIANT": variant,
    }
