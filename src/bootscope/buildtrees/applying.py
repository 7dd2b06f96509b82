# SPDX-License-Identifier: Apache-2.0
"""Writes changes into a user's tree: which writer to use, and for which imported tree."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from bootscope.buildtrees import openwrt_sources, to_buildroot, to_files, to_openwrt, to_yocto
from bootscope.buildtrees.look import text
from bootscope.buildtrees.model import BUILDROOT, OPENWRT, YOCTO, Tree, Trial
from bootscope.buildtrees.openwrt_sources import Sources
from bootscope.buildtrees.output import Target, Writer
from bootscope.core.errors import UserError

FILES = "files"
WRITERS: dict[str, Writer] = {
    BUILDROOT: to_buildroot.write,
    YOCTO: to_yocto.write,
    OPENWRT: to_openwrt.write,
    FILES: to_files.write,
}
_LINES = {BUILDROOT: to_buildroot.fragment_of, OPENWRT: to_openwrt.lines_of}
"""Where the lines are that a person copies into .config: what an earlier run set stays there."""
_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")


def target_for(
    name: str, tree: Tree | None, said: Trial, kind: str = "", folder: Path | None = None
) -> Target:
    """The target of changes: what the user `said` about Yocto, the `kind` of build system, and, where known,
    the `folder` that they are written to. Raises UserError for an unknown kind."""
    if not _NAME.fullmatch(name) or name.endswith("-"):
        raise UserError("--name: expected small letters, digits and '-', at most 40, a letter first")
    told = tree.versions.get("kernel recipe", "") if tree else ""
    config = _file(tree, "build-config")
    menu, words = _menu(tree), tree.command_line if tree else ""
    if tree and folder and kind == BUILDROOT:
        menu, words = to_buildroot.as_it_was(tree, menu, (folder / to_buildroot.fragment_of(name)).parent)
    return Target(
        name=name,
        tree=tree,
        config=config,
        menu=menu,
        command_line=words,
        before=text(folder / _LINES[kind](name)) if folder and kind in _LINES else "",
        sources=openwrt_sources.read(folder, config) if kind == OPENWRT else Sources(),
        kernel_recipe=said.kernel_recipe or told or "linux-yocto",
        uboot_recipe=said.uboot_recipe or "u-boot",
        series=said.series,
    )


def _menu(tree: Tree | None) -> str:
    """The boot menu that contains the tree's command line, if a boot menu does."""
    menu = tree.first("boot-menu") if tree else None
    return _file(tree, "boot-menu") if tree and menu and tree.command_line_from == menu.path else ""


def _file(tree: Tree | None, role: str) -> str:
    found = tree.first(role) if tree else None
    if not tree or not found:
        return ""
    root = Path(tree.folder).resolve()
    path = (root / found.path).resolve()
    return text(path) if path.is_relative_to(root) else ""


def name_of(names: Sequence[str]) -> str:
    """A name for the written changes, made of the changes' own names."""
    first = Path(names[0]).name.partition("=")[0] if names else ""
    slug = re.sub(r"[^a-z0-9]+", "-", first.lower()).strip("-")[:32].strip("-")
    return slug if len(names) == 1 and _NAME.fullmatch(slug) else "boot-time"
