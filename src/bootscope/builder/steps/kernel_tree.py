# SPDX-License-Identifier: Apache-2.0
"""The kernel's sources as a system needs them: a view of the tree in which some files are replaced."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from bootscope.builder.step import Context, Step
from bootscope.builder.steps import function_order, nand_driver, probe_later, tree_view
from bootscope.builder.steps.unpack import TREE, tree_of
from bootscope.system.model import Kernel, System
from bootscope.system.nand import nand_of

Edits = Callable[[Path, Mapping[str, str]], dict[str, str]]
"""From a tree and the files that replace some of its own to the files that are edited."""
_NAND = "nand"


def files_of(kernel: Kernel) -> Mapping[str, str]:
    """The files of a system that replace or add kernel sources."""
    return kernel.files if isinstance(kernel.files, dict) else {}


def is_other(system: System) -> bool:
    """Whether a system needs another tree than the unpacked one."""
    return source_of(system) != system.kernel.source


def source_of(system: System) -> str:
    """The name of the source tree that this kernel is built from."""
    edits = _edits(system)
    chip = f"-{_NAND}" if _NAND in edits else ""
    files = "-files" if files_of(system.kernel) or edits.keys() - {_NAND} else ""
    return f"{system.kernel.source}{chip}{files}"


def step(system: System) -> Step:
    """The step `unpack-SOURCE-nand`, `-files` or both: the view."""
    source, given, edits = system.kernel.source, files_of(system.kernel), _edits(system)

    def work(context: Context) -> None:
        tree, files = tree_of(context, source), dict(given)
        for _, edit in edits.values():
            files |= edit(tree, files)
        tree_view.write(tree, context.out / TREE, files)

    title = "the kernel's tree with files of the system"
    if _NAND in edits:
        title = "the kernel's tree with the driver of a NAND chip"
    inputs = {"files": given, **{name: what for name, (what, _) in edits.items()}}
    return Step(f"unpack-{source_of(system)}", title, 1, work, inputs, (f"unpack-{source}",))


def _edits(system: System) -> dict[str, tuple[object, Edits]]:
    """The edits of the sources, by name: what they depend on, and the function that makes them."""
    kernel, found = system.kernel, dict[str, tuple[object, Edits]]()
    if function_order.names(kernel):
        found["function_order"] = function_order.INPUTS, function_order.files
    if kernel.probe_later is True:
        found["probe_later"] = probe_later.inputs(), probe_later.files
    if nand_of(system.nand):
        found[_NAND] = nand_driver.inputs(), nand_driver.files
    return found
