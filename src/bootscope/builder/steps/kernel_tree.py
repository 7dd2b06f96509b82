# SPDX-License-Identifier: Apache-2.0
"""The kernel's sources as a system wants them: a view of the tree in which some files are others."""

from __future__ import annotations

from collections.abc import Mapping

from bootscope.builder.step import Context, Step
from bootscope.builder.steps import tree_view
from bootscope.builder.steps.unpack import TREE, tree_of
from bootscope.system.model import Kernel


def files_of(kernel: Kernel) -> Mapping[str, str]:
    """The files that a system puts over the kernel's sources."""
    return kernel.files if isinstance(kernel.files, dict) else {}


def source_of(kernel: Kernel) -> str:
    """The name of the source tree that this kernel is built from."""
    return f"{kernel.source}-files" if files_of(kernel) else kernel.source


def step(kernel: Kernel) -> Step:
    """The step `unpack-SOURCE-files`: the view."""

    def work(context: Context) -> None:
        tree_view.write(tree_of(context, kernel.source), context.out / TREE, files_of(kernel))

    title, inputs = "the kernel's tree with files of the system", {"files": files_of(kernel)}
    return Step(f"unpack-{source_of(kernel)}", title, 1, work, inputs, (f"unpack-{kernel.source}",))
