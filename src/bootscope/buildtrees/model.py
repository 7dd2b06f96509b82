# SPDX-License-Identifier: Apache-2.0
"""An imported tree: the results of a foreign build system, and where they are in its folder."""

from __future__ import annotations

from bootscope.core.settings import Setting

SCHEMA = 1
KIND = "tree"
BUILDROOT, YOCTO, OPENWRT, BARE = "buildroot", "yocto", "openwrt", "bare"
MAKERS = {BUILDROOT: "Buildroot", YOCTO: "Yocto", OPENWRT: "OpenWrt", BARE: "kernel and U-Boot trees"}
"""The build systems that are recognised, with their names for people."""

ROLES = {
    "build-config": "configuration of the build system",
    "kernel-config": "kernel configuration",
    "uboot-config": "U-Boot configuration",
    "busybox-config": "BusyBox configuration",
    "kernel-image": "kernel image",
    "device-tree": "device tree",
    "kernel-elf": "kernel with symbols (vmlinux)",
    "kernel-symbols": "kernel symbols (System.map)",
    "uboot-elf": "U-Boot with symbols",
    "uboot-image": "U-Boot image",
    "spl-elf": "SPL with symbols",
    "spl-image": "SPL image",
    "uboot-environment": "U-Boot environment",
    "uboot-script": "U-Boot script",
    "boot-menu": "boot menu (extlinux.conf, grub.cfg, cmdline.txt)",
    "emulator": "how QEMU is started",
    "rootfs-image": "root file system, image",
    "rootfs-folder": "root file system, folder",
    "initramfs": "initramfs",
    "disk-image": "image of a whole disk",
    "packages": "list of packages",
    "variables": "variables of the build",
}
"""What is searched for, in words. Each occurs at most once, except device trees and images."""


class Artefact(Setting, frozen=True, omit_defaults=True):
    """A file or folder of a tree: its path from the tree's folder, size and hash (empty for a folder and for
    a file that is too large), and whether `audit` reads it."""

    role: str
    path: str
    size_bytes: int = 0
    sha256: str = ""
    told: str = ""
    audit: bool = False


class Trial(Setting, frozen=True, omit_defaults=True):
    """How changes of a tree are tried on its owner's board, as configured by the owner.

    `board`: as `--board` takes it. `deploy`: the command that deploys the images to the board. `works`: a
    command that ends with status 0 when the booted system works. `products`: patterns, from the tree's
    folder, of the files that are deployed to the board. `changes`: the folder that changes are written to,
    absolute. `kernel_recipe`, `uboot_recipe`, `series`: for Yocto, where the tree does not contain them.
    """

    board: str = ""
    deploy: tuple[str, ...] = ()
    works: tuple[str, ...] = ()
    products: tuple[str, ...] = ()
    changes: str = ""
    kernel_recipe: str = ""
    uboot_recipe: str = ""
    series: str = ""


class Tree(Setting, frozen=True):
    """A tree. `folder` is absolute; all other paths are relative to it.

    `machine`, `image`: the choice where the folder holds several. `command_line_from`: in words, where the
    kernel's command line was found. `build`: the command that builds it, word by word, as its owner gave it;
    with `shell`, this and the commands of `trial` are each one text for the shell. `missing`: what was not
    found -> where it was searched for. `versions`: component -> its version.
    """

    schema: int
    kind: str
    name: str
    made_by: str
    folder: str
    machine: str = ""
    image: str = ""
    command_line: str = ""
    command_line_from: str = ""
    toolchain_prefix: str = ""
    build: tuple[str, ...] = ()
    shell: bool = False
    trial: Trial = Trial()
    versions: dict[str, str] = {}
    artefacts: tuple[Artefact, ...] = ()
    missing: dict[str, str] = {}
    notes: tuple[str, ...] = ()

    def first(self, role: str) -> Artefact | None:
        """The first artefact of a role; None where there is none."""
        return next((a for a in self.artefacts if a.role == role), None)
