# SPDX-License-Identifier: Apache-2.0
"""The commands that the owner of a tree gave, and what they are told: by their environment, never by words
that are put into them."""

from __future__ import annotations

from pathlib import Path

from bootscope.buildtrees.model import OPENWRT, Tree
from bootscope.core.errors import UserError, printable
from bootscope.core.paths import store_dir

BASE = "base"
"""What the system without changes is called."""


def words(tree: Tree, command: tuple[str, ...]) -> list[str]:
    """A command of the tree's owner as it is started."""
    return ["/bin/sh", "-c", command[0]] if tree.shell else list(command)


def build_words(tree: Tree) -> list[str]:
    """The command that builds a tree. Raises UserError when nobody gave one."""
    if not tree.build:
        raise UserError(
            f"no build command is configured for {tree.name}",
            hint=f"bootscope system import {printable(tree.folder)} --as {tree.name} --build 'make -C ...'",
        )
    return words(tree, tree.build)


def changes_folder(tree: Tree) -> Path:
    """Where changes of a tree are written: as its owner said, or beside its record; OpenWrt has them in the
    top folder of its sources."""
    if tree.trial.changes:
        return Path(tree.trial.changes)
    return Path(tree.folder) if tree.made_by == OPENWRT else own_folder(tree) / "changes"


def own_folder(tree: Tree) -> Path:
    """Where we keep what belongs to a tree: logs, and its changes where they have no other place."""
    return store_dir().absolute() / "trees" / f"{tree.name}.files"


def command_environment(tree: Tree, variant: str = BASE) -> dict[str, str]:
    """What commands find in their environment; `variant` is the content id of the changes."""
    return {
        "BOOTSCOPE_SYSTEM": tree.name,
        "BOOTSCOPE_TREE": tree.folder,
        "BOOTSCOPE_CHANGES": str(changes_folder(tree)),
        "BOOTSCOPE_VARIANT": variant,
    }
