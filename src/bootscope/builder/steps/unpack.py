# SPDX-License-Identifier: Apache-2.0
"""A source tarball, unpacked; a user's own tree is used in place."""

from __future__ import annotations

import os
from pathlib import Path

from bootscope.builder.sources import Resolved
from bootscope.builder.step import Context, Step
from bootscope.core.errors import ToolError

TREE = "tree"


def step(name: str, source: Resolved) -> Step:
    """The step `unpack-NAME`; its result holds the source tree as `tree`."""

    def work(context: Context) -> None:
        tree = context.out / TREE
        if source.is_tree:
            tree.symlink_to(source.path)
            return
        unpacked = context.scratch / "unpacked"
        unpacked.mkdir()
        context.run(["tar", "-xf", source.path, "-C", unpacked, "--no-same-owner"])
        folders = list(unpacked.iterdir())
        if len(folders) != 1:
            raise ToolError(f"{source.path} holds {len(folders)} entries at its top, expected one folder")
        folders[0].rename(tree)

    where = source.path if source.is_tree else ""
    inputs = {"sha256": source.sha256, "tree": where}
    step = f"unpack-{name}"
    figures = "" if source.is_tree else step
    return Step(step, f"unpacking {name} {source.version}", 1, work, inputs, figures=figures)


def tree_of(context: Context, name: str) -> Path:
    """The source tree called `name`, absolute and without symbolic links."""
    return Path(os.path.realpath(context.results[f"unpack-{name}"] / TREE))
