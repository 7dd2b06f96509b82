# SPDX-License-Identifier: Apache-2.0
"""Rebuilding an imported tree: runs its owner's command, and reads the results again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bootscope.buildtrees import keep
from bootscope.buildtrees.importing import Wish, import_tree
from bootscope.buildtrees.model import Tree
from bootscope.buildtrees.owner import build_words, changes_folder, command_environment
from bootscope.buildtrees.variants import Variants
from bootscope.core import process
from bootscope.core.errors import ToolError, UserError, printable

LONGEST_S = 24 * 3600
"""A first build of Yocto takes hours."""


@dataclass(frozen=True)
class Rebuilt:
    """A tree after a build, and the paths that changed, are new, or are gone; `log` has the whole output."""

    tree: Tree
    changed: tuple[str, ...]
    new: tuple[str, ...]
    gone: tuple[str, ...]
    log: Path


def build(tree: Tree, path: Path, on_line: Callable[[str], None] | None = None) -> Rebuilt:
    """Runs the command in the tree's folder, reads the tree again, and writes its record to `path`.

    Raises UserError when there is no command, or the folder no longer exists; ToolError when the command
    fails.
    """
    words = build_words(tree)
    folder = Path(tree.folder)
    if not folder.is_dir():
        raise UserError(f"{printable(tree.folder)} no longer exists")
    log = path.with_suffix(".log")
    try:
        log.unlink(missing_ok=True)
    except OSError as error:
        raise ToolError(f"cannot write {log}: {error.strerror}") from error
    if tree.trial.board and not changes_folder(tree).exists():
        # A command that takes changes needs a folder of changes, even an empty set.
        variants = Variants(tree, lambda name: (), {})
        variants.put(variants.base)
    env = process.environment(command_environment(tree))
    process.run(words, cwd=folder, env=env, log=log, on_line=on_line, timeout_s=LONGEST_S)
    wish = Wish(tree.made_by, tree.machine, tree.image, tree.build, tree.shell, tree.trial)
    found = import_tree(tree.name, folder, wish)
    keep.write(found, path)
    old, new = _hashes(tree), _hashes(found)
    return Rebuilt(
        tree=found,
        changed=tuple(sorted(name for name in old.keys() & new.keys() if old[name] != new[name])),
        new=tuple(sorted(new.keys() - old.keys())),
        gone=tuple(sorted(old.keys() - new.keys())),
        log=log,
    )


def _hashes(tree: Tree) -> dict[str, tuple[str, int]]:
    return {a.path: (a.sha256, a.size_bytes) for a in tree.artefacts}
