# SPDX-License-Identifier: Apache-2.0
"""The commands of a tree's owner, and their parameters: passed in the environment, never inserted into the
command."""

from __future__ import annotations

from pathlib import Path

from bootscope.buildtrees.model import OPENWRT, Tree
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
