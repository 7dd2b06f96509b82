# SPDX-License-Identifier: Apache-2.0
"""The kernel's sources as a system wants them: a view of the tree in which some files are others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from bootscope.builder.step import Context, Step
from bootscope.builder.steps import function_order, probe_later, tree_view
from bootscope.builder.steps.unpack import TREE, tree_of
from bootscope.system.model import Kernel

Edits = Callable[[Path, Mapping[str, str]], dict[str, str]]
"""From a tree and the files over it to those that are edited."""


def files_of(kernel: Kernel) -> Mapping[str, str]:
    """The files that a system puts over the kernel's sources."""
    return kernel.files if isinstance(kernel.files, dict) else {}


def is_other(kernel: Kernel) -> bool:
    """Whether a system wants another tree than the one that was unpacked."""
    return bool(files_of(kernel) or _edits(kernel))


def source_of(kernel: Kernel) -> str:
    """The name of the source tree that this kernel is built from."""
    return f"{kernel.source}-files" if is_other(kernel) else kernel.source


def step(kernel: Kernel) -> Step:
    """The step `unpack-SOURCE-files`: the view."""
    given, edits = files_of(kernel), _edits(kernel)

    def work(context: Context) -> None:
        tree, files = tree_of(context, kernel.source), dict(given)
        for _, edit in edits.values():
            files |= edit(tree, files)
        tree_view.write(tree, context.out / TREE, files)

    title = "the kernel's tree with files of the system"
    inputs = {"files": given, **{name: what for name, (what, _) in edits.items()}}
    return Step(f"unpack-{source_of(kernel)}", title, 1, work, inputs, (f"unpack-{kernel.source}",))


def _edits(kernel: Kernel) -> dict[str, tuple[object, Edits]]:
    """What is edited in the sources, by name: what it depends on, and what does it."""
    found: dict[str, tuple[object, Edits]] = {}
    if function_order.names(kernel):
        found["function_order"] = function_order.INPUTS, function_order.files
    if kernel.probe_later is True:
        found["probe_later"] = probe_later.inputs(), probe_later.files
    return found
