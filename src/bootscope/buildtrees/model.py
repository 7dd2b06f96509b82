# SPDX-License-Identifier: Apache-2.0
"""An imported tree: what a build system that is not ours made, and where in its folder it lies."""

from __future__ import annotations

from bootscope.core.settings import Setting

SCHEMA = 1
KIND = "tree"
BUILDROOT, YOCTO, OPENWRT, BARE = "buildroot", "yocto", "openwrt", "bare"
MAKERS = {BUILDROOT: "Buildroot", YOCTO: "Yocto", OPENWRT: "OpenWrt", BARE: "kernel and U-Boot trees"}
"""Build systems that are recognised, and their names in words."""

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
"""What is looked for, in words. Of each there is at most one, but for device trees and images."""


class Artefact(Setting, frozen=True, omit_defaults=True):
    """A file or folder of a tree: its path from the tree's folder, size and hash (empty for a folder and for
    what is too large), and whether `audit` reads it."""

    role: str
    path: str
    size_bytes: int = 0
    sha256: str = ""
    told: str = ""
    audit: bool = False


class Trial(Setting, frozen=True, omit_defaults=True):
    """How changes of a tree are tried on its owner's board, as the owner says.

    `board`: as `--board` takes it. `deploy`: the command that deploys the images to the board. `works`: one
    that ends with status 0 when the system that booted does what it must. `products`: patterns, from the
    tree's folder, of the files that are put onto the board. `changes`: the folder that changes are written
    to, absolute. `kernel_recipe`, `uboot_recipe`, `series`: of Yocto, where the tree does not tell them.
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
    """A tree. `folder` is absolute, all other paths start there.

    `machine`, `image`: what was chosen where the folder holds several. `command_line_from`: in words, where
    the kernel's command line was found. `build`: the command that builds it, word by word, as its owner gave
    it; with `shell`, this and the commands of `trial` are each one text for the shell. `missing`: what was
    not found -> where it was looked for. `versions`: what tells its version -> the version.
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
        """The artefact of that role that comes first; None where there is none."""
        return next((a for a in self.artefacts if a.role == role), None)
