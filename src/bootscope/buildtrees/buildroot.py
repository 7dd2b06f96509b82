# SPDX-License-Identifier: Apache-2.0
"""Buildroot's results: its .config, images, and the trees that it built."""

from __future__ import annotations

import re
from pathlib import Path

from bootscope.artefacts.folder import head
from bootscope.buildtrees import parts as common
from bootscope.buildtrees.look import text
from bootscope.buildtrees.parts import Parts, symbol
from bootscope.devices import sunxi_boot_rom

LOOKED_FOR = ".config with BR2_ symbols, here or above folders called output or images"
_BELOW = ("output", "images")
_HEAD = re.compile(r"^# Buildroot (\S+) Configuration", re.MULTILINE)


def root_of(folder: Path) -> Path | None:
    """The folder to search, given a user's folder: the one with Buildroot's .config; None for other
    folders."""
    candidates = [folder]
    while candidates[-1].name in _BELOW:
        candidates.append(candidates[-1].parent)
    return next((candidate for candidate in candidates if _is_configured(candidate)), None)


def _is_configured(folder: Path) -> bool:
    config = folder / ".config"
    return config.is_file() and b"\nBR2_HAVE_DOT_CONFIG=y" in head(config, 8192, follow=True)


def collect(parts: Parts) -> None:
    """Searches for everything."""
    look = parts.look
    config = parts.want("build-config", [".config"])
    told = text(config) if config else ""
    version = _HEAD.search(told[:4096])
    if version:
        # In a clone of its repository without tags, this is a dash and a commit.
        parts.versions["buildroot"] = version[1].removeprefix("-")
    # When built in its source tree, Buildroot keeps .config beside the folder of all other results.
    at = "output/" if (look.root / "output").is_dir() and not (look.root / "images").is_dir() else ""
    images = f"{at}images/"
    parts.want("kernel-image", [f"{images}{name}" for name in common.KERNEL_IMAGES])
    wanted = symbol(told, "BR2_LINUX_KERNEL_INTREE_DTS_NAME").split()
    parts.versions |= {"device tree": Path(wanted[0]).name} if wanted else {}
    common.device_trees(parts, [f"{images}*.dtb", f"{images}*/*.dtb"], wanted[0] if wanted else "")
    names = (sunxi_boot_rom.IMAGE, "u-boot-with-spl.bin", "u-boot.itb", "u-boot.img", "u-boot*.bin")
    uboot = symbol(told, "BR2_TARGET_UBOOT") == "y"
    if uboot:
        parts.want("uboot-image", [f"{images}{name}" for name in names])
    common.root_images(parts, [f"{images}rootfs"])
    _disk(parts, images)
    menus = (*common.MENUS, "rpi-firmware/cmdline.txt", "efi-part/EFI/BOOT/grub.cfg")
    inside = [f"{at}target/boot/{name}" for name in ("extlinux/extlinux.conf", "grub/grub.cfg")]
    common.boot_files(parts, images, [*menus])
    if not parts.first("boot-menu"):
        parts.want("boot-menu", inside)
    if symbol(told, "BR2_DEFCONFIG").rpartition("/")[2].startswith("qemu_") or look.all(
        f"{images}start-qemu.sh"
    ):
        parts.want("emulator", [f"{images}start-qemu.sh"])
    common.kernel_tree(
        parts, _built(parts, "kernel", f"{at}build/linux-", symbol(told, "BR2_LINUX_KERNEL_VERSION"))
    )
    if uboot:
        version_told = symbol(told, "BR2_TARGET_UBOOT_VERSION")
        common.uboot_tree(parts, _built(parts, "uboot", f"{at}build/uboot-", version_told))
    if symbol(told, "BR2_PACKAGE_BUSYBOX") == "y":
        _built(parts, "busybox", f"{at}build/busybox-", "")
    _rootfs_folder(parts, f"{at}target")
    _toolchain(parts, f"{at}host/bin/")
    if not look.all(f"{at}build", folder=True) or "kernel-config" not in parts.paths:
        look.note("configured, but apparently no kernel has been built here")
    parts.take("packages", [f"{at}build/packages-file-list.txt"])


def _built(parts: Parts, tree: str, start: str, version: str) -> Path | None:
    exact = [f"{start}{version}/.config"] if re.fullmatch(r"[\w.+-]+", version) else []
    return common.config(parts, tree, [*exact, f"{start}*/.config"])


def _disk(parts: Parts, images: str) -> None:
    found = parts.look.first([f"{images}sdcard.img", f"{images}disk.img", f"{images}*.img"])
    if found and found.name not in ("u-boot.img",):
        parts.put("disk-image", found)


def _rootfs_folder(parts: Parts, name: str) -> None:
    found = parts.look.all(name, folder=True) if parts.look.all(f"{name}/*", folder=True) else []
    parts.put_or_lack("rootfs-folder", next(iter(found), None), name)


def _toolchain(parts: Parts, at: str) -> None:
    found = [p for p in parts.look.all(f"{at}*-gcc") if not p.name.startswith("toolchain")]
    # One compiler has several names; Buildroot itself uses the longest.
    full = sorted(found, key=lambda p: ("-buildroot-" not in p.name, -len(p.name), p.name))
    if full:
        parts.toolchain_prefix = parts.look.relative(full[0]).removesuffix("gcc")
