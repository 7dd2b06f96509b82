# SPDX-License-Identifier: Apache-2.0
"""The kernel's command line of a tree, from the most reliable source."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Callable, Sequence

from bootscope.artefacts.file_facts import Piece
from bootscope.artefacts.identify import together
from bootscope.buildtrees.look import text
from bootscope.buildtrees.parts import Parts
from bootscope.core.errors import UserError
from bootscope.inventory.inventory import Inventory

_APPEND = re.compile(r"^[ \t]*+append[ \t]++(.+)$", re.MULTILINE | re.IGNORECASE)
_GRUB = re.compile(r"^[ \t]*+linux(?:16|efi)?[ \t]++\S++[ \t]++(.+)$", re.MULTILINE)
_ESCAPE = re.compile(r"\\(.)")
_MOST = 8192
_PLACES = (
    "start-qemu.sh, qemuboot.conf, extlinux.conf, grub.cfg, cmdline.txt, U-Boot's script and environment, "
    "CONFIG_CMDLINE"
)


def command_line(parts: Parts, pieces: Sequence[Piece]) -> tuple[str, str]:
    """The command line and its source; or an empty text, and where it was searched for."""
    known = _known(parts, pieces)
    built_in = _ESCAPE.sub(r"\1", known.text("kernel", "CMDLINE"))
    if built_in and known.on("kernel", "CMDLINE_FORCE"):
        return _cut(built_in), "CONFIG_CMDLINE, which the kernel always uses (CONFIG_CMDLINE_FORCE)"
    told = _told(parts, known)
    if told and built_in and known.on("kernel", "CMDLINE_EXTEND"):
        return _cut(f"{told[0]} {built_in}"), f"{told[1]}, and CONFIG_CMDLINE (CONFIG_CMDLINE_EXTEND)"
    if told:
        return _cut(told[0]), told[1]
    if built_in:
        return _cut(built_in), "CONFIG_CMDLINE; nothing else sets one"
    return "", _PLACES


def _told(parts: Parts, known: Inventory) -> tuple[str, str] | None:
    """The command line that a boot loader, or an emulator in its place, passes to the kernel."""
    look = parts.look
    emulator = parts.first("emulator")
    if emulator and emulator.suffix == ".sh":
        words = _of_emulator(text(emulator))
        if words:
            return words, look.relative(emulator)
    if parts.command_lines:
        return parts.command_lines[-1]
    menu = parts.first("boot-menu")
    if menu:
        words = in_menu(menu.name, text(menu))
        if words:
            return words, look.relative(menu)
    bootargs = known.loader.bootargs
    if bootargs:
        script = parts.first("uboot-script") or parts.first("uboot-environment")
        note = ", with variables that only the board sets" if "$" in bootargs else ""
        return bootargs, f"bootargs of {look.relative(script) if script else 'U-Boot'}{note}"
    return None


def _of_emulator(script: str) -> str:
    try:
        words = shlex.split(script.replace("\\\n", " "), comments=True)
    except ValueError:
        return ""
    found = [after for word, after in itertools.pairwise(words) if word == "-append"]
    return found[-1] if found else ""


def in_menu(name: str, menu: str) -> str:
    """The first command line of a boot menu, by the name of its file; empty where there is none."""
    if name == "cmdline.txt":
        return _cut(menu)
    found = (_GRUB if name == "grub.cfg" else _APPEND).search(menu)
    return _cut(found[1]) if found else ""


def with_menu(menu: str, new: Callable[[str], str]) -> str:
    """A boot menu (extlinux.conf, grub.cfg, cmdline.txt) with `new` applied to each of its command lines."""
    for pattern in (_APPEND, _GRUB):
        if pattern.search(menu):
            return pattern.sub(lambda m: m[0][: m.start(1) - m.start()] + new(m[1]), menu)
    return new(" ".join(menu.split())) + "\n"


def _known(parts: Parts, pieces: Sequence[Piece]) -> Inventory:
    try:
        return together(pieces)
    except UserError as error:
        parts.look.note(f"it is inconsistent: {error.message}")
        return Inventory()


def _cut(words: str) -> str:
    return " ".join(words.split())[:_MOST]
