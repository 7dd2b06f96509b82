# SPDX-License-Identifier: Apache-2.0
"""What is known of a system, from a recording, a system file or loose files; and what is not.

Nothing is assumed about an unknown part: conditions and checks ask first.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from bootscope.core.errors import UserError
from bootscope.inventory.bootlog import BootLog
from bootscope.inventory.loader_script import LoaderScript
from bootscope.loaders.registry import BUILT
from bootscope.system.changes import SAME

_ASSUMED = "assumed: the rate is unknown"


class Part(StrEnum):
    """A part of a system, with its name for messages when it is missing."""

    KERNEL = "kernel configuration"
    LOADER = f"{BUILT.title} configuration"
    BUSYBOX = "BusyBox configuration"
    COMMAND_LINE = "kernel command line"
    ENVIRONMENT = f"{BUILT.title} environment"
    COMMANDS = f"commands that {BUILT.title} runs"
    FILES = "root file system"
    SCRIPTS = "scripts of the root file system"
    PROGRAMS = "programs of the root file system"
    LOG = "boot log"
    SETTINGS = "system file"
    BOOT = "recorded boot"
    EMULATOR = "QEMU command line"


INITRAMFS = "initramfs"
"""The value of `rootfs.filesystem` where the root file system is an archive that the kernel unpacks."""
TREE_PARTS = {"kernel": Part.KERNEL, BUILT.tree: Part.LOADER, "busybox": Part.BUSYBOX}


@dataclass(frozen=True)
class Program:
    """A program of the root file system: whether it is statically linked, against which C library (`glibc`,
    `musl`, `uclibc` or the empty string), its size, and whether it has section headers."""

    static: bool
    libc: str
    size_bytes: int
    sections: bool


@dataclass(frozen=True)
class Image:
    """A kernel or device tree as a file. `kind`: `zImage`, `Image`, `uImage`, `dtb` or `compressed`.

    For a uImage, `load` and `payload` (the kind inside) come from its header; `unpacked_bytes` is a kernel's
    size in memory, 0 where the file does not say; `appended`: a device tree follows the zImage.
    """

    kind: str
    size_bytes: int
    unpacked_bytes: int = 0
    load: int = 0
    payload: str = ""
    appended: bool = False


@dataclass(frozen=True, kw_only=True)
class Inventory:
    """A system as far as it is known. `parts` are the known ones.

    `configs`: tree -> symbol -> value as written. `partial`: trees of which only the symbols in `configs`
    are known. `architecture`, `cpus`: of the board, where known. `init`: the init system, where a file
    belongs to only one (INITS in machine.py). `files`: path in the root file system -> its entry in a list of
    contents. `settings`: name in the system file -> value as text. `scripts`: path -> text.
    `units`: systemd's unit files by path (system/unit_files.py).
    `images`: file name -> its description.
    """

    parts: frozenset[Part] = frozenset()
    settings: Mapping[str, str] = field(default_factory=dict)
    configs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    partial: frozenset[str] = frozenset()
    command_line: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    commands: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    scripts: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    programs: Mapping[str, Program] = field(default_factory=dict)
    images: Mapping[str, Image] = field(default_factory=dict)
    log: BootLog | None = None
    emulator: str = ""
    architecture: str = ""
    cpus: int = 0
    init: str = ""

    def knows(self, *parts: Part) -> bool:
        """Whether all these parts are known."""
        return all(part in self.parts for part in parts)

    def symbol(self, tree: str, name: str) -> str | None:
        """The value of a symbol as written, `n` where it is not set; None where unknown."""
        found = self.configs.get(tree, {}).get(name)
        if found is not None:
            return found
        return "n" if TREE_PARTS[tree] in self.parts and tree not in self.partial else None

    def on(self, tree: str, name: str) -> bool:
        """Whether a symbol is known to be y."""
        return self.symbol(tree, name) == "y"

    def image(self, *kinds: str) -> Image | None:
        """The first image of one of these kinds."""
        return next((image for image in self.images.values() if image.kind in kinds), None)

    def text(self, tree: str, name: str) -> str:
        """A text symbol without its quotes; empty where it is not set or unknown."""
        found = self.symbol(tree, name) or "n"
        return "" if found == "n" else found.removeprefix('"').removesuffix('"')

    def number(self, tree: str, name: str) -> int | None:
        """A number symbol; None where it is not set, unknown or not a number."""
        return number(self.symbol(tree, name) or "")

    @cached_property
    def words(self) -> list[str]:
        """The kernel's command line, word by word."""
        return self.command_line.split()

    def word(self, name: str) -> str | None:
        """The value of the last word of that name (empty for one without `=`); None where there is none."""
        found = [word.partition("=")[2] for word in self.words if word.partition("=")[0] == name]
        return found[-1] if found else None

    @cached_property
    def loader(self) -> LoaderScript:
        """What the boot loader runs: its script, or else the commands of its environment."""
        return LoaderScript(self.environment, self.commands)

    @property
    def compiler_options(self) -> list[str]:
        """The compiler options of the application."""
        return listed(self.settings.get("application.compiler_options", ""))

    @property
    def console(self) -> str:
        """All lines of the boot, where there is a log."""
        return self.log.text if self.log else ""

    def logged(self, pattern: str | re.Pattern[str]) -> re.Match[str] | None:
        """The first match of a pattern in the log; in a text, `^` and `$` match at the ends of lines."""
        return self.log.find(pattern) if self.log else None

    @property
    def filesystem(self) -> str:
        """The kind of the root file system, from settings, the kernel's log or the command line; empty where
        none of them gives it."""
        if told := self.settings.get("rootfs.filesystem", ""):
            return told.partition(",")[0]
        mounted = self.logged(r"VFS: Mounted root \((\w{1,20}) filesystem\)")
        return mounted[1] if mounted else (self.word("rootfstype") or "").partition(",")[0]

    @property
    def memory_bytes(self) -> int:
        """The size of memory from the log; 0 where it does not show it."""
        found = self.logged(r"Memory: \d+K/(\d{1,12})K available")
        return int(found[1]) * 1024 if found else 0

    @cached_property
    def baud(self) -> tuple[int, str]:
        """The rate of the serial console, and the source of that."""
        if found := re.search(r"(?<!\S)console=tty\w*,(\d{3,8})", self.command_line):
            return int(found[1]), "the command line says so"
        told = number(self.environment.get("baudrate", "")) or self.number(BUILT.tree, BUILT.settings.rate)
        return (told, f"{BUILT.title} is set to it") if told else (115_200, _ASSUMED)

    @property
    def rate_assumed(self) -> bool:
        """Whether the rate of the serial console is unknown, and assumed."""
        return self.baud[1] == _ASSUMED

    def line_ns(self, count: int) -> int:
        """The time for `count` bytes on the serial line, at ten bits a byte."""
        return count * 10 * 1_000_000_000 // max(1, self.baud[0])

    def has_file(self, path: str, text: str) -> bool:
        """Whether that file already has this text as its content."""
        told = self.files.get(path, "")
        return told.endswith(hashlib.sha256(text.encode()).hexdigest()[:16])

    def has_setting(self, key: str, value: object) -> bool:
        """Whether this setting already has that value; a missing setting counts as empty. For a list with
        SAME in it, whether it has the added items."""
        if isinstance(value, Mapping):
            inside = {k: v for k, v in self.settings.items() if k.startswith(f"{key}.")}
            return inside == {f"{key}.{name}": str(text) for name, text in value.items()}
        if isinstance(value, list | tuple) and SAME in value:
            there = listed(self.settings.get(key, ""))
            return all(item in there for item in value if item != SAME)
        return self.settings.get(key, "") == str(value)

    def unread(self, path: str) -> bool:
        """Whether there is such a file whose content is unknown."""
        return self.files.get(path) in ("file", "program")


class Absent(UserError):
    """A system is known not to have what a technique refers to."""


def listed(text: str) -> list[str]:
    """The texts in a list, as settings write it."""
    return re.findall(r"'([^']*)'", text)


def number(text: str) -> int | None:
    """A number as configurations write it, decimal or 0x...; None for anything else."""
    text = text.strip().strip('"')
    if re.fullmatch(r"0[xX][0-9a-fA-F]{1,16}", text):
        return int(text, 16)
    return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else None
