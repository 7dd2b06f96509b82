# SPDX-License-Identifier: Apache-2.0
"""The output for a tree: files and links by path, and what a person still has to do."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import NamedTuple

import msgspec

from bootscope.builder.steps import small_init
from bootscope.buildtrees import kernel_code, loader_code
from bootscope.buildtrees.changeset import ChangeSet
from bootscope.buildtrees.model import Tree
from bootscope.buildtrees.openwrt_sources import Sources
from bootscope.core.errors import UserError, printable
from bootscope.kbuild.kconfig import fragment
from bootscope.system.changes import Change
from bootscope.system.model import Symbols
from bootscope.system.small_init import SmallInit

_ESCAPED = r"\\\1"
_GLOB = re.compile(r"([*?\[\]\\])")


class CommandLine(NamedTuple):
    """A command line, and where it was found, in words."""

    words: str
    place: str


@dataclass
class Output:
    """`files`: path -> text; one that begins with `#!` is a program. `links`: path -> target. `use`: how to
    make the build system use them, a step each (commands are indented), with DIR for the folder that is
    written and OUTPUT for the tree's. `by_hand`: what a person has to do. `lost`: what could not be
    expressed. `replaced`: a command line that it makes, or a boot menu -> that before (words of both are
    separated by single blanks in the keys)."""

    files: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    use: list[str] = field(default_factory=list)
    by_hand: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    replaced: dict[str, CommandLine] = field(default_factory=dict)


@dataclass(frozen=True)
class Target:
    """The target of changes: `name` of what is made (letters, digits, '-'), the imported `tree`, if any, with
    its `config` and boot `menu`; tree and menu have the command lines without the words of earlier runs, and
    `menu_differs` from the tree's file where that has some. What earlier runs set (`before`, lines) and did
    to command lines (`replaced`); facts from the `sources` of OpenWrt; and what the user says about Yocto:
    recipes and series."""

    name: str
    tree: Tree | None = None
    config: str = ""
    menu: str = ""
    menu_differs: bool = False
    before: str = ""
    replaced: Mapping[str, CommandLine] = field(default_factory=dict)
    sources: Sources = field(default_factory=Sources)
    kernel_recipe: str = "linux-yocto"
    uboot_recipe: str = "u-boot"
    series: str = ""

    @property
    def command_line(self) -> str:
        """The tree's command line; empty where none is known."""
        return self.tree.command_line if self.tree else ""

    @property
    def inside(self) -> bool:
        """Whether Buildroot built in the folder of its own sources."""
        image = self.tree.first("kernel-image") if self.tree else None
        return image is not None and image.path.startswith("output/")

    @property
    def command_line_at(self) -> str:
        """Where the tree's command line is, in words."""
        at = self.tree.command_line_from if self.tree else ""
        return f" ({printable(at)})" if at else ""


Writer = Callable[[ChangeSet, Target], Output]
"""Writes changes in the form of one build system."""


def symbols_text(symbols: Symbols) -> str:
    """The text of a configuration fragment."""
    return "\n".join(fragment(symbols)) + "\n"


def overlay(out: Output, files: Mapping[str, str], at: str) -> bool:
    """Puts files of the root file system below a folder; returns whether there are any."""
    out.files |= {f"{at}{path}": text for path, text in files.items()}
    return bool(files)


def root_changes(change: Change, folder: str) -> str:
    """Lines of a shell script that remove what a root file system does not need, except what the change
    itself puts there, and that make the change's links, even in place of a folder; `folder` is quoted for the
    shell.

    `find` matches as our own patterns do: a star matches slashes too.
    """
    kept = dict.fromkeys(
        str(name)
        for path in (*change.write, *change.link)
        for name in (path, *PurePosixPath(path).parents[:-1])
    )
    # What is kept, and the folders around it, must stay; the rest of those folders may still go.
    others = "".join(f" ! -path {_here(_GLOB.sub(_ESCAPED, path))}" for path in kept)
    lines = [f"cd {folder}"]
    for pattern in change.remove:
        matching = f"-path {_here(pattern)} -o -path {_here(f'{pattern}/*')}"
        lines.append(f"find . \\( {matching} \\){others} -prune -exec rm -rf {{}} +")
    for path, target in change.link.items():
        name, parent = _here(path), _here(str(PurePosixPath(path).parent))
        lines.append(f"mkdir -p {parent}; rm -rf {name}; ln -s {shlex.quote(target)} {name}")
    return "".join(f"{line}\n" for line in lines)


def _here(path: str) -> str:
    """A path relative to the root file system's top, quoted for the shell."""
    return shlex.quote(f".{path}")


def look_at_files(out: Output, changes: ChangeSet) -> None:
    """Asks the user to check files that come from another system."""
    if changes.change.write:
        names = ", ".join(sorted(changes.change.write))
        out.by_hand.append(
            f"check these files, which come from the system they were tried on: {printable(names)}"
        )


def keep_command_line(out: Output, changes: ChangeSet, target: Target) -> None:
    """Notes the tree's command line without the changes: the tree is built with their words, and a later run
    may want others."""
    old = target.command_line
    if not old or not target.tree:
        return
    before = CommandLine(old, target.tree.command_line_from)
    # A technique may compile it into the kernel: then it is found there.
    compiled_in = changes.change.kernel.get("CMDLINE")
    for line in (changes.new_command_line(old), compiled_in):
        if isinstance(line, str) and (line != old or compiled_in):
            out.replaced[" ".join(line.split())] = before


def words_by_hand(changes: ChangeSet, target: Target) -> list[str]:
    """How to change the command line by hand, where no file can do it."""
    change, lines = changes.change, []
    if change.command_line:
        lines.append(
            f"add to the kernel's command line{target.command_line_at}: {' '.join(change.command_line)}"
        )
    if change.command_line_drop:
        lines.append(f"remove from the kernel's command line: {' '.join(change.command_line_drop)}")
    if changes.command_line and not lines:
        lines.append(
            "the changes contain the full command line of the system that they were tried on; "
            f"compare it with yours: {printable(changes.command_line)}"
        )
    if target.command_line and changes.changes_words:
        lines.append(
            f"the full command line is then: {printable(changes.new_command_line(target.command_line))}"
        )
    return lines


_SAID = {
    "uboot.falcon": "Falcon mode (the SPL loads Linux) depends on the board: bootscope techniques falcon-fat",
    "kernel.load_address": "the address that U-Boot loads the kernel to (kernel_addr_r, or in its script)",
    "kernel.defconfig": "the kernel was configured from",
    "busybox.defconfig": "BusyBox was configured from",
    "application.libc": "the application was linked against another C library",
    "application.sources": "the application itself was changed",
    "application.configured.options": "the options of the application's configure script",
    "kernel.disabled_nodes": 'nodes to set to status = "disabled" in the board\'s device tree',
    "card.raw_sector": "the layout of the card",
    "card.raw_kernel": "the layout of the card",
    "card.root_sectors": "the layout of the card",
    "busybox.libc": "BusyBox was linked against another C library",
    "toolchain": "BusyBox and the application were compiled by another compiler",
    "uboot.script": "the commands that U-Boot ran there",
}


def settings_by_hand(out: Output, settings: dict[str, object]) -> None:
    """Settings without an equivalent in the build system; a first program is written as C, and so is what is
    added to the kernel or changed in U-Boot."""
    _small_init(out, settings)
    for code in (kernel_code, loader_code):
        files, steps = code.by_hand(settings)
        out.files |= files
        out.by_hand += steps
    for key, value in sorted(settings.items()):
        said = f"{_SAID[key]}: " if key in _SAID else ""
        out.lost.append(f"{said}{key} = {printable(str(value))}")


def _small_init(out: Output, settings: dict[str, object]) -> None:
    """Writes the C source of a first program; its steps come first, since the board does not boot without
    it."""
    own = {key: settings.pop(key) for key in list(settings) if key.startswith("small_init.")}
    if not own:
        return
    try:
        init = msgspec.convert({key.partition(".")[2]: value for key, value in own.items()}, SmallInit)
        out.files |= small_init.sources(init)
    except (msgspec.ValidationError, UserError) as error:
        out.lost.append(f"the first program cannot be generated: {printable(str(error))}")
        return
    command = "${CROSS_COMPILE}gcc -Os -static -s -o small-init small_init.c"
    out.by_hand.insert(
        0,
        f"compile DIR/{small_init.NAME}/small_init.c and install it as {printable(init.path)}; "
        f"without it the board does not boot: {command}",
    )


def options_by_hand(out: Output, changes: ChangeSet) -> None:
    """Compiler options: they are for one program, which only its recipe knows."""
    c = changes.change
    if c.compiler_options:
        out.by_hand.append(f"compile the application with: {shlex.join(c.compiler_options)}")
    if c.compiler_options_drop:
        out.by_hand.append(f"compile the application without: {shlex.join(c.compiler_options_drop)}")


def readme(out: Output, changes: ChangeSet, target: Target, what: str) -> str:
    """The README for the files."""
    lines = [f"# {target.name}", "", what, "", "## What it changes", ""]
    lines += [f"- {line}" for line in changes.about]
    lines += ["", "## How to use it", ""]
    lines += [line if line.startswith("    ") else f"\n{line}\n" for line in out.use]
    if out.by_hand:
        lines += ["", "## To be done by hand", "", *(f"- {line}" for line in out.by_hand)]
    if out.lost:
        lines += ["", "## Could not be expressed here", "", *(f"- {line}" for line in out.lost)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines) + "\n")
