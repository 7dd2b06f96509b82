# SPDX-License-Identifier: Apache-2.0
"""Whether the symbols of a change are in what was built: in the configurations that the build used."""

from __future__ import annotations

from pathlib import Path

from bootscope.buildtrees.look import text
from bootscope.buildtrees.model import Tree
from bootscope.core.errors import printable
from bootscope.kbuild.kconfig import parse, written
from bootscope.system.changes import TREES, Change

_MOST_NAMED = 4


def missed(tree: Tree, change: Change) -> tuple[str, ...]:
    """What the tree's configurations do not have of a change after a build with it, a line for each of them.

    Nothing is said of a configuration that is not there, or was not when the tree was imported.
    """
    found = (_of_one(tree, name, change) for name in TREES)
    return tuple(line for line in found if line)


def _of_one(tree: Tree, name: str, change: Change) -> str:
    config = tree.first(f"{name}-config")
    symbols = getattr(change, name)
    root = Path(tree.folder).resolve()
    path = (root / config.path).resolve() if config else root
    values = parse(text(path)) if symbols and path.is_relative_to(root) else {}
    wrong = [
        f"CONFIG_{symbol}={values.get(symbol, 'n')} instead of {written(value)}"
        for symbol, value in symbols.items()
        if values and values.get(symbol, "n") != written(value)
    ]
    if not wrong or not config:
        return ""
    more = f" and {len(wrong) - _MOST_NAMED} more" if len(wrong) > _MOST_NAMED else ""
    named = printable(", ".join(wrong[:_MOST_NAMED]) + more)
    return f"built with the changes, {printable(config.path)} has {named}: does the build use these changes?"
