# SPDX-License-Identifier: Apache-2.0
"""Images for 64-bit boards as others build them: Debian's kernel, its modules and BusyBox, put onto cards
by the tools that make real ones. Nothing is compiled."""

from __future__ import annotations

import gzip
import lzma
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from bootscope.builder.cache import Cache
from bootscope.builder.progress import Progress
from bootscope.builder.sources import Wanted, fetch_all
from bootscope.builder.steps.prebuilt import applets
from bootscope.core.paths import cache_dir
from bootscope.system.load import load_system
from bootscope.system.source import Package, Source
from tests.unit import image_builders

MODULES = (
    "cqhci",
    "sdhci",
    "sdhci-pci",
    "crc16",
    "mbcache",
    "jbd2",
    "crc32c_generic",
    "libcrc32c",
    "ext4",
    "squashfs",
)
VIRTIO = ("virtio", "virtio_ring", "virtio_mmio", "virtio_blk", *MODULES[3:])
"""Those of a kernel that is made for virtual machines alone."""
INIT = """#!/bin/sh
mkdir -p /dev /proc /sys /root
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
for name in {names}; do
	for module in $(find /lib/modules -name "$name.ko*"); do
		insmod "$module"
	done
done
for word in $(cat /proc/cmdline); do
	case "$word" in root=*) root="${{word#root=}}" ;; esac
done
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	[ -b "$root" ] || sleep 0.1
done
mount -o ro "$root" /root || exec sh
umount /proc /sys
mount --move /dev /root/dev
exec switch_root /root /sbin/init
"""
INITTAB = """::sysinit:/etc/init.d/rcS
{port}::respawn:/bin/getty -L {port} 115200 vt100
"""
RCS = """#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t cgroup2 none /sys/fs/cgroup && mkdir /sys/fs/cgroup/product.service
cat /etc/hostname
"""
MENU = """default product
label product
  menu label Product
  kernel /Image
  initrd /initrd
  append console=ttyAMA0,115200 root=/dev/mmcblk0p2
"""
GRUB = """set timeout=0
menuentry "Product" {
  linux /Image console=ttyAMA0,115200 root=/dev/mmcblk0p2
  initrd /initrd
}
"""
CARD = "label: gpt\nstart=2048, size=131072, type=U\nstart=133120, size=65536, type=L\n"


@dataclass(frozen=True)
class Kind:
    """What is particular to an architecture: the system whose packages are taken, the names of kernels,
    the serial port, what the kernel has as modules beside the others'."""

    system: str
    linux: str
    kernels: str
    port: str
    more: tuple[str, ...] = ()


ARM64 = Kind("debian-arm64", "linux-image", "boot/vmlinuz-*", "ttyAMA0")
KINDS = {
    "arm64": ARM64,
    "riscv64": Kind("debian-riscv64", "linux-image", "boot/vmlinux-*", "ttyS0", ("mmc_core", "mmc_block")),
    "amd64": Kind("debian-amd64", "linux", "boot/vmlinuz-*", "ttyS0", ("mmc_core", "mmc_block")),
}


@dataclass(frozen=True)
class Parts:
    """Files of one product: kernel, initramfs, the folder of the root file system."""

    kernel: Path
    initrd: Path
    root: Path
    packages: Path


def parts(folder: Path, kind: Kind = ARM64, modules: tuple[str, ...] = MODULES) -> Parts:
    """The parts of a product, from Debian's packages; `modules` are in its initramfs."""
    packages = _unpacked(folder / "packages", kind)
    (kernel,) = packages.glob(kind.kernels)
    (busybox,) = packages.glob("usr/bin/busybox")
    image = folder / "Image"
    shutil.copy(kernel, image)
    root = _root(folder / "root", busybox, kind.port)
    initrd = folder / "initrd"
    early = _early(busybox, packages, (*kind.more, *modules))
    initrd.write_bytes(gzip.compress(early, 6, mtime=0))
    return Parts(image, initrd, root, packages)


def installer(folder: Path) -> tuple[Path, Path]:
    """Kernel and initramfs of Debian's installer, as they are."""
    wanted = Package(suite="trixie", architecture="all", name="debian-installer-13-netboot-arm64")
    (found,) = fetched({"installer": Source(version="Debian 13", package=wanted)}, folder)
    subprocess.run(["dpkg-deb", "-x", found, folder / "installer"], check=True)
    (kernel,) = folder.glob("installer/**/text/**/arm64/linux")
    return kernel, kernel.with_name("initrd.gz")


def grub(folder: Path) -> Path:
    """Debian's GRUB as a program for EFI, which looks for its menu beside it."""
    wanted = Package(suite="trixie", architecture="arm64", name="grub-efi-arm64-signed")
    (found,) = fetched({"grub": Source(version="Debian 13", package=wanted)}, folder)
    subprocess.run(["dpkg-deb", "-x", found, folder / "grub"], check=True)
    (program,) = folder.glob("grub/**/grubaa64.efi.signed")
    return program


def _unpacked(folder: Path, kind: Kind) -> Path:
    """What Debian's packages of kernel and BusyBox hold."""
    sources = load_system(kind.system).system.sources
    for path in fetched({name: sources[name] for name in (kind.linux, "busybox")}, folder):
        subprocess.run(["dpkg-deb", "-x", path, folder], check=True)
    return folder


def fetched(sources: dict[str, Source], folder: Path) -> list[str]:
    """The paths of packages, from the cache or the mirror."""
    wanted = [Wanted(name, source, folder) for name, source in sources.items()]
    return [found.path for found in fetch_all(wanted, Cache(cache_dir()), Progress()).values()]


def _applets(busybox: Path) -> list[str]:
    return [name for name in applets(busybox.read_bytes()) if name != "busybox"]


def _early(busybox: Path, packages: Path, modules: tuple[str, ...]) -> bytes:
    """The archive of an initramfs that loads drivers and goes over to the root file system."""
    files = {"init": INIT.format(names=" ".join(modules)).encode(), "bin/busybox": busybox.read_bytes()}
    for name in modules:
        for path in packages.glob(f"**/kernel/**/{name}.ko*"):
            inner = str(path).rpartition("/modules/")[2]
            data = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
            files[f"lib/modules/{inner}".removesuffix(".xz")] = data
    folders = sorted({str(above) for name in files for above in Path(name).parents if str(above) != "."})
    links = {f"bin/{applet}": "busybox" for applet in _applets(busybox)}
    return image_builders.cpio(files, folders=folders, links=links)


def _root(folder: Path, busybox: Path, port: str) -> Path:
    for name in ("bin", "sbin", "etc/init.d", "dev", "proc", "sys", "root", "tmp", "lib"):
        (folder / name).mkdir(parents=True)
    shutil.copy(busybox, folder / "bin/busybox")
    (folder / "bin/busybox").chmod(0o755)
    for applet in _applets(busybox):
        (folder / "bin" / applet).symlink_to("busybox")
    (folder / "sbin/init").symlink_to("../bin/busybox")
    for name, text in {
        "inittab": INITTAB.format(port=port),
        "hostname": "product\n",
        "passwd": "root::0:0::/root:/bin/sh\n",
    }.items():
        (folder / "etc" / name).write_text(text)
    (folder / "etc/os-release").write_text('NAME=Product\nPRETTY_NAME="Product 1"\n')
    start = folder / "etc/init.d/rcS"
    start.write_text(RCS)
    start.chmod(0o755)
    return folder


def card(found: Parts, folder: Path, *, efi: Path | None = None) -> Path:
    """A card of 98 MiB, which no card has: a partition with kernel, initramfs and menu, or with GRUB as a
    program `efi`, and an ext4."""
    boot = folder / "boot"
    boot.mkdir()
    shutil.copy(found.kernel, boot / "Image")
    shutil.copy(found.initrd, boot / "initrd")
    if efi:
        (boot / "EFI/BOOT").mkdir(parents=True)
        (boot / "EFI/debian").mkdir(parents=True)
        shutil.copy(efi, boot / "EFI/BOOT/BOOTAA64.EFI")
        for name in ("EFI/BOOT", "EFI/debian"):
            (boot / name / "grub.cfg").write_text(GRUB)
    else:
        (boot / "extlinux").mkdir()
        (boot / "extlinux/extlinux.conf").write_text(MENU)
    first = image_builders.fat(folder / "boot.part", boot, 64)
    second = image_builders.ext4(folder / "root.part", found.root, 32)
    pieces = [(2048, first.read_bytes()), (133120, second.read_bytes())]
    return image_builders.disk(folder / "card.img", 98, CARD, pieces)
