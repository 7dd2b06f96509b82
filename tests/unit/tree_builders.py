# SPDX-License-Identifier: Apache-2.0
"""Folders of builds, laid out by hand as Buildroot, Yocto, OpenWrt and plain make leave them.

Names and places are those of Buildroot 2026.08, OpenEmbedded of August 2026 and OpenWrt 24.10; the files in
them are the made-up ones of artefact_builders.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from . import artefact_builders as made

BR2_CONFIG = """#
# Automatically generated file; DO NOT EDIT.
# Buildroot 2026.08 Configuration
#
BR2_HAVE_DOT_CONFIG=y
BR2_LINUX_KERNEL=y
BR2_LINUX_KERNEL_VERSION="6.12.1"
BR2_LINUX_KERNEL_INTREE_DTS_NAME="allwinner/board"
BR2_LINUX_KERNEL_CONFIG_FRAGMENT_FILES=""
BR2_TARGET_UBOOT=y
BR2_TARGET_UBOOT_VERSION="2025.01"
BR2_PACKAGE_BUSYBOX=y
BR2_ROOTFS_OVERLAY="board/mine/overlay"
"""
EXTLINUX = """label linux
  kernel /boot/zImage
  append console=ttyS0,115200 root=/dev/mmcblk0p1 rootwait
"""
COMPILED_IN = b"\x7fELF" + b"\0bootcmd=run x\0bootdelay=2\0bootargs=console=ttyS0 root=/dev/ram0\0\0"
QEMUBOOT = "[config_bsp]\nmachine = qemuarm\nqb_kernel_cmdline_append = vmalloc=256 console=ttyAMA0 %s\n"

TMP_WORK = "tmp/work"


def put(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Files by path; a text that begins with `-> ` is a link."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str) and content.startswith("-> "):
            path.symlink_to(content[3:])
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def kernel(at: str) -> dict[str, str | bytes]:
    """A kernel's folder, built."""
    return {
        f"{at}.config": made.KERNEL_CONFIG,
        f"{at}vmlinux": b"\x7fELF",
        f"{at}System.map": "c0008000 T _text\n",
    }


def buildroot(folder: Path) -> Path:
    """An output folder of Buildroot (O=)."""
    made.made_tree(folder / "target")
    return put(
        folder,
        {
            ".config": BR2_CONFIG,
            "Makefile": "# by Buildroot\n",
            "images/zImage": made.zimage(),
            "images/board.dtb": made.dtb(),
            "images/other.dtb": made.dtb(300),
            "images/rootfs.cpio": made.cpio_of(),
            "images/u-boot.bin": b"code",
            **kernel("build/linux-6.12.1/"),
            "build/linux-headers-6.12.1/.config": "# no configuration of a kernel\n",
            "build/uboot-2025.01/.config": made.UBOOT_CONFIG,
            "build/uboot-2025.01/u-boot": COMPILED_IN,
            "build/busybox-1.37.0/.config": made.BUSYBOX_CONFIG,
            "host/bin/arm-buildroot-linux-gnueabihf-gcc": "#!/bin/sh\n",
            "host/bin/arm-linux-gcc": "-> arm-buildroot-linux-gnueabihf-gcc",
            "target/boot/extlinux/extlinux.conf": EXTLINUX,
        },
    )


def yocto(folder: Path, machine: str = "qemuarm", image: str = "core-image-minimal") -> Path:
    """A build folder of Yocto with its deploy folder, where links lead to dated files."""
    deploy = f"tmp/deploy/images/{machine}/"
    stem, dated = f"{image}-{machine}.rootfs", f"{image}-{machine}.rootfs-20260101120000"
    variables = {
        "MACHINE": machine,
        "DISTRO": "poky",
        "DISTRO_VERSION": "5.0.1",
        "KERNEL_IMAGETYPE": "zImage",
        "LAYERSERIES_CORENAMES": "nanbield scarthgap",
        "LAYERSERIES_COMPAT_core": "scarthgap",
        "PREFERRED_PROVIDER_virtual/kernel": "linux-mine",
        "TARGET_PREFIX": "arm-poky-linux-gnueabi-",
    }
    work = f"{TMP_WORK}/{machine.replace('-', '_')}-poky-linux/linux-yocto/6.6/"
    return put(
        folder,
        {
            "conf/local.conf": f'MACHINE = "{machine}"\n',
            "conf/bblayers.conf": "",
            f"{deploy}{dated}.testdata.json": json.dumps(variables),
            f"{deploy}{stem}.testdata.json": f"-> {dated}.testdata.json",
            f"{deploy}{dated}.qemuboot.conf": QEMUBOOT % "swiotlb=0",
            f"{deploy}{stem}.qemuboot.conf": f"-> {dated}.qemuboot.conf",
            f"{deploy}{dated}.manifest": "busybox armv7 1.36\n",
            f"{deploy}{stem}.manifest": f"-> {dated}.manifest",
            f"{deploy}{dated}.cpio.gz": made.cpio_of(),
            f"{deploy}{stem}.cpio.gz": f"-> {dated}.cpio.gz",
            f"{deploy}zImage--6.6-r0-{machine}-20260101.bin": made.zimage(),
            f"{deploy}zImage": f"-> zImage--6.6-r0-{machine}-20260101.bin",
            **kernel(f"{work}linux-{machine}-standard-build/"),
            f"{TMP_WORK}/cortexa15-poky/busybox/1.36/busybox-1.36/.config": made.BUSYBOX_CONFIG,
        },
    )


def openwrt(folder: Path) -> Path:
    """The top folder of OpenWrt, with a target built."""
    at = "bin/targets/armsr/armv7/"
    stem = "openwrt-24.10-armsr-armv7-generic"
    profiles = {
        "target": "armsr/armv7",
        "version_number": "24.10.0",
        "version_code": "r1-abc",
        "profiles": {
            "generic": {
                "images": [
                    {"name": f"{stem}-squashfs-combined.img.gz", "type": "combined"},
                    {"name": f"{stem}-kernel.bin", "type": "kernel"},
                    {"name": "../../../../secret", "type": "rootfs"},
                ]
            }
        },
    }
    made.made_tree(folder / "build_dir/target-arm/root-armsr")
    return put(
        folder,
        {
            "feeds.conf.default": "",
            ".config": "# OpenWrt Configuration\nCONFIG_TARGET_armsr=y\n",
            "secret": "x",
            f"{at}profiles.json": json.dumps(profiles),
            f"{at}{stem}.manifest": "busybox - 1.36\n",
            f"{at}{stem}-squashfs-combined.img.gz": b"\x1f\x8b",
            f"{at}{stem}-kernel.bin": made.zimage(),
            **kernel("build_dir/target-arm/linux-armsr_armv7/linux-6.6.1/"),
            "build_dir/target-arm/busybox-default/busybox-1.36.1/.config": made.BUSYBOX_CONFIG,
            "staging_dir/toolchain-arm/bin/arm-openwrt-linux-muslgnueabi-gcc": "#!/bin/sh\n",
        },
    )


def bare(folder: Path) -> Path:
    """A kernel's and a U-Boot's folder beside each other."""
    return put(
        folder,
        {
            **kernel("linux/"),
            "linux/arch/arm/boot/zImage": made.zimage(),
            "linux/arch/arm/boot/dts/board.dtb": made.dtb(),
            "u-boot/.config": made.UBOOT_CONFIG,
            "u-boot/u-boot": COMPILED_IN,
            "u-boot/u-boot.bin": b"code",
            "u-boot/spl/u-boot-spl": b"\x7fELF",
            "u-boot/spl/u-boot-spl.bin": b"spl",
        },
    )


def newer(path: Path) -> None:
    """Makes a file a day newer than it is."""
    about = path.stat()
    os.utime(path, (about.st_atime + 86400, about.st_mtime + 86400))
