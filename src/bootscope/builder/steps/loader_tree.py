# SPDX-License-Identifier: Apache-2.0
"""U-Boot's sources as a system needs them: a view of the tree, of links, in which some files are replaced."""

from __future__ import annotations

from pathlib import Path

import msgspec

from bootscope.builder.step import Context, Step
from bootscope.builder.steps import falcon, nand_loader, tree_view
from bootscope.builder.steps.edits import Edit, edited
from bootscope.builder.steps.unpack import TREE, tree_of
from bootscope.core.errors import printable
from bootscope.system import source_edits
from bootscope.system.model import System

_OTHER_SOURCE = "this U-Boot is of another version, or of another driver"


def source_of(system: System) -> str:
    """The name of the source tree that this U-Boot is built from."""
    uboot = system.uboot
    chip = "-nand" if nand_loader.wanted(system) else ""
    with_falcon = f"{uboot.source}{chip}-falcon" if falcon.by_spl(system) else f"{uboot.source}{chip}"
    return f"{with_falcon}-files" if uboot.files or source_edits.of(uboot.edits) else with_falcon


def needed(system: System) -> bool:
    """Whether a system needs another tree than the unpacked one."""
    return source_of(system) != system.uboot.source


def step(system: System) -> Step:
    """The step `unpack-SOURCE-nand`, `-falcon`, `-files` or several of them: the view."""
    uboot, nand = system.uboot, nand_loader.wanted(system)

    def work(context: Context) -> None:
        write(system, tree_of(context, uboot.source), context.out / TREE)

    inputs: dict[str, object] = falcon.tree_inputs(system.card) if falcon.by_spl(system) else {}
    if nand:
        inputs = {**inputs, "nand": nand_loader.inputs(nand)}
    if uboot.files:
        inputs = {**inputs, "files": uboot.files}
    if edits := source_edits.of(uboot.edits):
        inputs = {**inputs, "edits": msgspec.to_builtins(edits)}
    title = "U-Boot's tree for Falcon mode" if falcon.by_spl(system) else "U-Boot's tree with a NAND driver"
    title = "U-Boot's tree with files of the system" if uboot.files or edits else title
    return Step(f"unpack-{source_of(system)}", title, 1, work, inputs, (f"unpack-{uboot.source}",))


def write(system: System, tree: Path, view: Path) -> None:
    """Makes the view of a tree."""
    changed = falcon.files(tree, system.card) if falcon.by_spl(system) else {}
    if nand := nand_loader.wanted(system):
        changed |= nand_loader.files(tree, nand)
    files = {**changed, **system.uboot.files}
    for name, edit in source_edits.of(system.uboot.edits).items():
        one = Edit(edit.file, edit.before, edit.after)
        files |= edited(tree, files, [one], f"uboot.edits.{printable(name)}", _OTHER_SOURCE)
    tree_view.write(tree, view, files)
