# SPDX-License-Identifier: Apache-2.0
"""Writes changes into a user's tree: which writer to use, and for which imported tree."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from bootscope.buildtrees import openwrt_sources, place, to_buildroot, to_files, to_openwrt, to_yocto
from bootscope.buildtrees.boot_words import in_menu, with_menu
from bootscope.buildtrees.look import text
from bootscope.buildtrees.model import BUILDROOT, OPENWRT, YOCTO, Tree, Trial
from bootscope.buildtrees.openwrt_sources import Sources
from bootscope.buildtrees.output import CommandLine, Target, Writer
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
    the `folder` that they are written to: the tree may have been built with the words of earlier runs, which
    are left out. Raises UserError for an unknown kind."""
    if not _NAME.fullmatch(name) or name.endswith("-"):
        raise UserError("--name: expected small letters, digits and '-', at most 40, a letter first")
    told = tree.versions.get("kernel recipe", "") if tree else ""
    config = _file(tree, "build-config")
    replaced = place.replaced(folder, name) if folder else {}
    if tree and tree.command_line in replaced:
        words, where = replaced[tree.command_line]
        tree = msgspec.structs.replace(tree, command_line=words, command_line_from=where)
    now = _menu(tree)
    menu = _as_it_was(now, replaced)
    if menu == now and now and replaced:
        menu = with_menu(now, lambda line: _as_it_was(line, replaced))
    if tree and menu != now:
        words = in_menu(Path(tree.command_line_from).name, menu)
        tree = msgspec.structs.replace(tree, command_line=words)
    return Target(
        name=name,
        tree=tree,
        config=config,
        menu=menu,
        menu_differs=menu != now,
        before=text(folder / _LINES[kind](name)) if folder and kind in _LINES else "",
        replaced=replaced,
        sources=openwrt_sources.read(folder, config) if kind == OPENWRT else Sources(),
        kernel_recipe=said.kernel_recipe or told or "linux-yocto",
        uboot_recipe=said.uboot_recipe or "u-boot",
        series=said.series,
    )


def _as_it_was(text: str, replaced: Mapping[str, CommandLine]) -> str:
    """A command line or a boot menu without the words of earlier runs."""
    made = " ".join(text.split())
    return replaced[made].words if made in replaced else text


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
