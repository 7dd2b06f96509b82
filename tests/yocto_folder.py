# SPDX-License-Identifier: Apache-2.0
"""A deploy folder laid out and named as Yocto does for its machine qemuriscv64, with Debian's files in it.

Nothing of it was built by Yocto. Names: OpenEmbedded-Core, meta/conf/machine/include/riscv/qemuriscv.inc and
the classes kernel, image and qemuboot.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from bootscope.system.source import Package, Source
from tests.debian_images import Parts, fetched
from tests.unit import image_builders

MACHINE, IMAGE, DATE = "qemuriscv64", "core-image-minimal", "20260101120000"
STEM, DATED = f"{IMAGE}-{MACHINE}.rootfs", f"{IMAGE}-{MACHINE}.rootfs-{DATE}"
QEMUBOOT = f"""[config_bsp]
image_link_name = {STEM}
image_name = {DATED}
kernel_imagetype = Image
machine = {MACHINE}
qb_default_bios = fw_jump.elf
qb_default_fstype = ext4
qb_kernel_cmdline_append = console=ttyS0,115200
qb_system_name = qemu-system-riscv64
"""
_OPENSBI, _UBOOT = "usr/lib/riscv64-linux-gnu/opensbi/generic", "usr/lib/u-boot/qemu-riscv64_smode"


def deploy(parts: Parts, folder: Path) -> Path:
    """A build folder with tmp/deploy/images/qemuriscv64; what :func:`debian_images.parts` made goes in."""
    here = folder / "tmp/deploy/images" / MACHINE
    here.mkdir(parents=True)
    (folder / "conf").mkdir()
    (folder / "conf/local.conf").write_text(f'MACHINE = "{MACHINE}"\n')
    (folder / "conf/bblayers.conf").write_text("")
    kernel = f"Image--6.12-r0-{MACHINE}-{DATE}.bin"
    shutil.copy(parts.kernel, here / kernel)
    shutil.copy(parts.initrd, here / f"{IMAGE}-initramfs-{MACHINE}.cpio.gz")
    image_builders.ext4(here / f"{DATED}.ext4", parts.root, 32)
    variables = {
        "MACHINE": MACHINE,
        "DISTRO": "poky",
        "DISTRO_VERSION": "5.0",
        "KERNEL_IMAGETYPE": "Image",
        "INITRAMFS_IMAGE": f"{IMAGE}-initramfs",
    }
    for ending, text in (
        ("testdata.json", json.dumps(variables)),
        ("qemuboot.conf", QEMUBOOT),
        ("manifest", "busybox riscv64 1.37\n"),
    ):
        (here / f"{DATED}.{ending}").write_text(text)
        (here / f"{STEM}.{ending}").symlink_to(f"{DATED}.{ending}")
    for link in ("Image", f"Image-{MACHINE}.bin"):
        (here / link).symlink_to(kernel)
    (here / f"{STEM}.ext4").symlink_to(f"{DATED}.ext4")
    _firmware(here, folder / "packages")
    return here


def _firmware(here: Path, packages: Path) -> None:
    """OpenSBI and U-Boot under the names that their recipes deploy."""
    wanted = {
        name: Source(version="Debian 13", package=Package(suite="trixie", architecture="all", name=name))
        for name in ("opensbi", "u-boot-qemu")
    }
    for path in fetched(wanted, packages.parent):
        subprocess.run(["dpkg-deb", "-x", path, packages], check=True)
    for ending in ("elf", "bin"):
        shutil.copy(packages / f"{_OPENSBI}/fw_jump.{ending}", here / f"fw_jump.{ending}")
    shutil.copy(packages / f"{_UBOOT}/u-boot.bin", here / f"u-boot-{MACHINE}.bin")
    (here / "u-boot.bin").symlink_to(f"u-boot-{MACHINE}.bin")
