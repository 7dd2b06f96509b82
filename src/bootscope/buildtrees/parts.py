# SPDX-License-Identifier: Apache-2.0
"""What all build systems have in common: kernel, U-Boot and BusyBox trees, images, root file systems."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from bootscope.buildtrees.look import Check, Look, head, text
from bootscope.buildtrees.model import ROLES
from bootscope.core.errors import printable
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
"""Endings of images of root file systems, with those that say most of how it is stored first."""
MENUS = ("extlinux/extlinux.conf", "extlinux.conf", "grub.cfg", "cmdline.txt")

_KERNEL_HEAD = re.compile(r"^# Linux/\S+ (\S+) Kernel Configuration", re.MULTILINE)
_UBOOT_HEAD = re.compile(r"^# U-Boot (\S+) Configuration", re.MULTILINE)
_BUSYBOX_HEAD = re.compile(r"^# Busybox version: (\S+)", re.MULTILINE | re.IGNORECASE)
_HEADS = {"kernel": _KERNEL_HEAD, "uboot": _UBOOT_HEAD, "busybox": _BUSYBOX_HEAD}


class Parts:
    """Collects what is found: role -> paths, in the order in which they count; versions; what is missing."""

    def __init__(self, look: Look) -> None:
        self.look = look
        self.paths: dict[str, list[Path]] = {}
        self.missing: dict[str, str] = {}
        self.versions: dict[str, str] = {}
        self.machine = ""
        self.image = ""
        self.toolchain_prefix = ""
        self.command_lines: list[tuple[str, str]] = []
        """Command lines that the build system itself tells of, and where."""

    def want(self, role: str, patterns: Iterable[str], check: Check | None = None) -> Path | None:
        """Looks for the file of a role, pattern by pattern; notes where, when there is none."""
        looked = list(patterns)
        found = self.look.first(looked, check)
        if found:
            self.put(role, found)
        else:
            self.lack(role, ", ".join(looked))
        return found

    def put(self, role: str, path: Path) -> None:
        """Adds a file or folder. One that is there already is not added again."""
        kept = self.paths.setdefault(role, [])
        # A link beside what it leads to is no other file.
        if all(path.resolve() != other.resolve() for other in kept):
            kept.append(path)
        self.missing.pop(ROLES[role], None)

    def lack(self, role: str, where: str) -> None:
        """Notes that there is none of a role, and where it was looked for."""
        if role not in self.paths:
            before = self.missing.get(ROLES[role])
            self.missing[ROLES[role]] = f"{before}, {where}" if before else where

    def first(self, role: str) -> Path | None:
        """The file of a role; None where there is none."""
        return next(iter(self.paths.get(role, ())), None)


def is_config(tree: str) -> Check:
    """Whether a file is a generated configuration of `kernel`, `uboot` or `busybox`."""
    return lambda path: bool(_HEADS[tree].search(head(path, 4096).decode("utf-8", "replace")))


def config_version(tree: str, path: Path) -> str:
    """The version in the head of a configuration; empty where there is none."""
    found = _HEADS[tree].search(head(path, 4096).decode("utf-8", "replace"))
    return printable(found[1])[:60] if found else ""


def config(parts: Parts, tree: str, patterns: Iterable[str]) -> Path | None:
    """Looks for a configuration; returns the folder that it lies in."""
    found = parts.want(f"{tree}-config", patterns, is_config(tree))
    if not found:
        return None
    version = config_version(tree, found)
    if version:
        parts.versions[tree] = version
    return found.parent


def kernel_tree(parts: Parts, folder: Path | None, images: bool = True) -> None:
    """What a kernel was built into: symbols and, with `images`, image and device trees."""
    if not folder:
        parts.lack("kernel-elf", "beside the kernel's .config")
        parts.lack("kernel-symbols", "beside the kernel's .config")
        return
    at = _prefix(parts, folder)
    parts.want("kernel-elf", [f"{at}vmlinux", f"{at}vmlinux.debug"])
    parts.want("kernel-symbols", [f"{at}System.map"])
    if images and "kernel-image" not in parts.paths:
        parts.want("kernel-image", [f"{at}arch/*/boot/{name}" for name in KERNEL_IMAGES])
    if images and "device-tree" not in parts.paths:
        trees = [f"{at}arch/*/boot/dts/*.dtb", f"{at}arch/*/boot/dts/*/*.dtb"]
        device_trees(parts, trees, parts.versions.get("device tree", ""))


def uboot_tree(parts: Parts, folder: Path | None) -> None:
    """What U-Boot was built into."""
    if not folder:
        return
    at = _prefix(parts, folder)
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
    """Looks for the device tree called `wanted`; without such a name takes the one that there is."""
    looked = list(patterns)
    found = [p for pattern in looked for p in parts.look.all(pattern) if head(p, 4) == b"\xd0\x0d\xfe\xed"]
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
    """Images of the root file system, by their paths without the ending; all that there are."""
    looked = [f"{stem}.{ending}" for stem in stems for ending in ROOT_IMAGES]
    for pattern in looked:
        for path in parts.look.all(pattern)[:1]:
            role = "initramfs" if ".cpio" in path.name else "rootfs-image"
            parts.put(role, path)
    parts.lack(
        "rootfs-image", ", ".join(dict.fromkeys(f"{stem}.{{{','.join(ROOT_IMAGES)}}}" for stem in stems))
    )


def boot_files(parts: Parts, folder: str, menus: Iterable[str] = MENUS) -> None:
    """Scripts and menus by which a boot loader is told what to do, below a folder (empty, or ends in /)."""
    parts.want("boot-menu", [f"{folder}{name}" for name in menus])
    parts.want("uboot-script", [f"{folder}{name}" for name in ("boot.scr", "boot.scr.uimg", "boot.cmd")])
    names = ("u-boot-initial-env", "u-boot-initial-env-*", "uboot-env.bin", "uEnv.txt")
    parts.want("uboot-environment", [f"{folder}{name}" for name in names])


def symbol(config_text: str, name: str) -> str:
    """The value of a symbol of any Kconfig (its whole name), without quotes; empty where it is not set."""
    found = re.search(rf"^{re.escape(name)}=(.*)$", config_text, re.MULTILINE)
    return found[1].strip().removeprefix('"').removesuffix('"') if found else ""


def _prefix(parts: Parts, folder: Path) -> str:
    relative = parts.look.relative(folder)
    # Names of folders are no patterns.
    plain = re.sub(r"([*?[])", r"[\1]", relative)
    return "" if plain == "." else f"{plain}/"


def prefix_of(parts: Parts, folder: Path) -> str:
    """The beginning of patterns for what lies in a folder."""
    return _prefix(parts, folder)


def read_text(path: Path | None) -> str:
    """A text file; empty where there is none."""
    return text(path) if path else ""
