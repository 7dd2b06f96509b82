# SPDX-License-Identifier: Apache-2.0
"""Programs that make images for flash, from a distribution's packages."""

from __future__ import annotations

from pathlib import Path

from bootscope.builder.filesystems.mtd import NAME, TREE
from bootscope.builder.sources import Resolved
from bootscope.builder.step import Context, Step
from bootscope.builder.steps import packages


def step(source: Resolved) -> Step:
    """The step `mtd-utils`: the packages, unpacked. `source`: all of them, or a folder with their files."""

    def work(context: Context) -> None:
        tree = context.out / TREE
        if source.is_tree:
            tree.symlink_to(source.path)
            return
        for deb in packages.taken_out(context, Path(source.path)):
            context.run(["dpkg-deb", "--extract", deb, tree])

    return Step(NAME, "unpacking mtd-utils", 1, work, {"source": source.sha256}, (), ("dpkg-deb",))
