# SPDX-License-Identifier: Apache-2.0
"""What all build systems have in common: kernel, U-Boot and BusyBox trees, images, root file systems."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bootscope.artefacts.configs import HEADS
from bootscope.artefacts.folder import head
from bootscope.buildtrees.look import Check, Look
from bootscope.buildtrees.model import ROLES
from bootscope.core.errors import UserError, printable
from bootscope.devices import sunxi_boot_rom

KERNEL_IMAGES = ("zImage", "Image", "Image.gz", "Image.lz4", "uImage", "bzImage", "fitImage", "vmlinuz")
ROOT_IMAGES = (
    "squashfs",
    "ext4",
    "ext3",
    "ext2",
    "erofs",
    "cpio",
    "cpio.gz",
    "cpio.xz",
    "tar",
    "tar.gz",
    "tar.xz",
)
"""Suffixes of images of root file systems; those that say most about the storage format come first."""
MENUS = ("extlinux/extlinux.conf", "extlinux.conf", "grub.cfg", "cmdline.txt")

_MOST_JSON = 16 << 20


class Parts:
    """Collects what is found: role -> paths, in order of precedence; versions; what is missing.
    `wants_machine` and `wants_image` choose one of several; empty for no choice."""

    def __init__(self, look: Look, wants_machine: str = "", wants_image: str = "") -> None:
        self.look, self.wants_machine, self.wants_image = look, wants_machine, wants_image
        self.paths: dict[str, list[Path]] = {}
        self.missing: dict[str, str] = {}
        self.versions: dict[str, str] = {}
        self.machine = ""
        self.image = ""
        self.toolchain_prefix = ""
        self.command_lines: list[tuple[str, str]] = []
        """Command lines from the build system's own files, and their sources."""

    def want(self, role: str, patterns: Iterable[str], check: Check | None = None) -> Path | None:
        """Searches for the file of a role, pattern by pattern; notes the patterns when there is none."""
        looked = list(patterns)
        found = self.look.first(looked, check)
        self.put_or_lack(role, found, ", ".join(looked))
        return found

    def take(self, role: str, patterns: Iterable[str]) -> None:
        """Searches for an optional file."""
        if found := self.look.first(patterns):
            self.put(role, found)

    def put_or_lack(self, role: str, path: Path | None, where: str) -> None:
        """Adds a file or folder; without one, notes where it was searched for."""
        if path:
            self.put(role, path)
        else:
            self.lack(role, where)

    def put(self, role: str, path: Path) -> None:
        """Adds a file or folder, unless it has been added."""
        kept = self.paths.setdefault(role, [])
        # A link to a known file is not another file.
        if all(path.resolve() != other.resolve() for other in kept):
            kept.append(path)
        self.missing.pop(ROLES[role], None)

    def lack(self, role: str, where: str) -> None:
        """Notes that a role has no file, and where it was searched for."""
        if role not in self.paths:
            before = self.missing.get(ROLES[role])
            self.missing[ROLES[role]] = f"{before}, {where}" if before else where

    def lack_build(self, where: str) -> None:
        """Notes that everything is missing that only a build's folders contain."""
        for role in ("kernel-config", "kernel-elf", "kernel-symbols", "busybox-config", "rootfs-folder"):
            self.lack(role, where)

    def first(self, role: str) -> Path | None:
        """The file of a role; None where there is none."""
        return next(iter(self.paths.get(role, ())), None)

    def variables(self, path: Path | None, where: str) -> dict[str, Any]:
        """The JSON object in a file of the build; empty, with a note, where there is none."""
        if path is None:
            self.lack("variables", where)
            return {}
        self.put("variables", path)
        try:
            if path.stat().st_size > _MOST_JSON:
                raise ValueError("it is too large")
            told = json.loads(path.read_bytes())
            # Bytes that were no UTF-8 in the build's environment cannot be stored.
            told = json.loads(json.dumps(told, ensure_ascii=False).encode("utf-8", "replace"))
            if not isinstance(told, dict):
                raise ValueError("it is not an object")
        except (OSError, ValueError, RecursionError) as error:
            self.not_understood(path, error)
            return {}
        return told

    def not_understood(self, path: Path, error: Exception) -> None:
        """Notes why a file of the build cannot be used."""
        name = printable(self.look.relative(path))
        self.look.note(f"{name} was not understood: {printable(str(error))[:200]}")


def chosen(found: Mapping[str, Path], wanted: str, lacking: str, several: str) -> tuple[str, Path] | None:
    """The entry that the user chose by name; without a choice the only one; None where there are none.

    Raises UserError, beginning with `lacking`, when the choice is not there, and with `several` when there
    are several and none was chosen.
    """
    names = printable(", ".join(sorted(found)))
    if wanted and wanted not in found:
        raise UserError(f"{lacking} {printable(wanted)}", hint=f"there is: {names or 'none'}")
    if len(found) > 1 and not wanted:
        raise UserError(f"there are several {several}: {names}", hint="choose one with --machine")
    return (wanted, found[wanted]) if wanted else next(iter(found.items()), None)


def is_config(tree: str) -> Check:
    """Whether a file is a generated configuration of `kernel`, `uboot` or `busybox`."""
    return lambda path: bool(_config_version(tree, path))


def _config_version(tree: str, path: Path) -> str:
    found = HEADS[tree].search(head(path, 4096, follow=True).decode("utf-8", "replace"))
    return printable(found[1])[:60] if found else ""


def config(parts: Parts, tree: str, patterns: Iterable[str]) -> Path | None:
    """Searches for a configuration; returns its folder."""
    found = parts.want(f"{tree}-config", patterns, is_config(tree))
    if not found:
        return None
    parts.versions[tree] = _config_version(tree, found)
    return found.parent


def kernel_tree(parts: Parts, folder: Path | None, images: bool = True) -> None:
    """The results of a kernel build: symbols and, with `images`, image and device trees."""
    if not folder:
        parts.lack("kernel-elf", "beside the kernel's .config")
        parts.lack("kernel-symbols", "beside the kernel's .config")
        return
    at = prefix(parts.look, folder)
    parts.want("kernel-elf", [f"{at}vmlinux", f"{at}vmlinux.debug"])
    parts.want("kernel-symbols", [f"{at}System.map"])
    if images and "kernel-image" not in parts.paths:
        parts.want("kernel-image", [f"{at}arch/*/boot/{name}" for name in KERNEL_IMAGES])
    if images and "device-tree" not in parts.paths:
        trees = [f"{at}arch/*/boot/dts/*.dtb", f"{at}arch/*/boot/dts/*/*.dtb"]
        device_trees(parts, trees, parts.versions.get("device tree", ""))


def uboot_tree(parts: Parts, folder: Path | None) -> None:
    """The results of a U-Boot build."""
    if not folder:
        return
    at = prefix(parts.look, folder)
    parts.want("uboot-elf", [f"{at}u-boot"])
    names = ("u-boot-with-spl.bin", sunxi_boot_rom.IMAGE, "u-boot.itb", "u-boot.img", "u-boot.bin")
    if "uboot-image" not in parts.paths:
        parts.want("uboot-image", [f"{at}{name}" for name in names])
    if parts.look.all(f"{at}spl/u-boot-spl") or parts.look.all(f"{at}spl/u-boot-spl.bin"):
        parts.want("spl-elf", [f"{at}spl/u-boot-spl"])
        image = parts.first("uboot-image")
        if "spl-image" not in parts.paths and not (image and "with-spl" in image.name):
            parts.want("spl-image", [f"{at}SPL", f"{at}MLO", f"{at}spl/u-boot-spl.bin"])
    if "uboot-environment" not in parts.paths:
        parts.want("uboot-environment", [f"{at}u-boot-initial-env"])


def device_trees(parts: Parts, patterns: Iterable[str], wanted: str = "") -> None:
    """Searches for the device tree called `wanted`; if it is not found, takes the only one, if there is just
    one."""
    looked = list(patterns)
    there = (p for pattern in looked for p in parts.look.all(pattern))
    found = [p for p in there if head(p, 4, follow=True) == b"\xd0\x0d\xfe\xed"]
    named = [p for p in found if wanted and p.stem == Path(wanted).name]
    distinct = {p.resolve(): p for p in reversed(found)}
    if named or len(distinct) == 1:
        parts.put("device-tree", (named or found)[0])
        return
    where = ", ".join(looked)
    if found:
        where += f" has {len(distinct)} of them, and none is marked as this board's"
    parts.lack("device-tree", where)


def root_images(parts: Parts, stems: Iterable[str]) -> None:
    """Images of the root file system, by their paths without the suffix; all that exist."""
    looked = [f"{stem}.{ending}" for stem in stems for ending in ROOT_IMAGES]
    for path in (path for pattern in looked for path in parts.look.all(pattern)[:1]):
        parts.put("initramfs" if ".cpio" in path.name else "rootfs-image", path)
    parts.lack(
        "rootfs-image", ", ".join(dict.fromkeys(f"{stem}.{{{','.join(ROOT_IMAGES)}}}" for stem in stems))
    )


def boot_files(parts: Parts, folder: str, menus: Iterable[str] = MENUS) -> None:
    """A boot loader's scripts and menus, below a folder (empty, or ends in /)."""
    parts.want("boot-menu", [f"{folder}{name}" for name in menus])
    parts.want("uboot-script", [f"{folder}{name}" for name in ("boot.scr", "boot.scr.uimg", "boot.cmd")])
    names = ("u-boot-initial-env", "u-boot-initial-env-*", "uboot-env.bin", "uEnv.txt")
    parts.want("uboot-environment", [f"{folder}{name}" for name in names])


def symbol(config_text: str, name: str) -> str:
    """The value of a symbol in any Kconfig file (by its full name), without quotes; empty where it is not
    set."""
    found = re.search(rf"^{re.escape(name)}=(.*)$", config_text, re.MULTILINE)
    return found[1].strip().removeprefix('"').removesuffix('"') if found else ""


def prefix(look: Look, folder: Path) -> str:
    """The prefix of patterns for files in a folder."""
    relative = look.relative(folder)
    return "" if relative == "." else f"{plain(relative)}/"


def plain(name: str) -> str:
    """A pattern that matches only this name."""
    return re.sub(r"([*?[])", r"[\1]", name)
