# SPDX-License-Identifier: Apache-2.0
"""Loose files of made-up systems."""

from __future__ import annotations

import os
import struct
import tarfile
import zlib
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

KERNEL_CONFIG = """#
# Automatically generated file; DO NOT EDIT.
# Linux/arm 6.12.1 Kernel Configuration
#
CONFIG_SMP=y
CONFIG_MODULES=y
CONFIG_PRINTK=y
CONFIG_PRINTK_TIME=y
CONFIG_KERNEL_GZIP=y
CONFIG_LOG_BUF_SHIFT=17
CONFIG_INITRAMFS_SOURCE=""
# CONFIG_BTRFS_FS is not set
"""
UBOOT_CONFIG = """#
# Automatically generated file; DO NOT EDIT.
# U-Boot 2025.01 Configuration
#
CONFIG_BOOTDELAY=2
CONFIG_BAUDRATE=115200
# CONFIG_SPL_OS_BOOT is not set
"""
BUSYBOX_CONFIG = """#
# Automatically generated make config: don't edit
# Busybox version: 1.37.0
#
CONFIG_HAVE_DOT_CONFIG=y
CONFIG_ASH=y
# CONFIG_FEATURE_PREFER_APPLETS is not set
"""
COMMAND_LINE = "console=ttyS0,115200 root=/dev/mmcblk0p2 rootwait rw\n"
PRINTENV = """arch=arm
baudrate=115200
bootcmd=run loadall; bootz ${kernel_addr_r} - ${fdt_addr_r}
bootdelay=3
fdt_addr_r=0x43000000
kernel_addr_r=0x42000000
loadall=load mmc 0:1 ${kernel_addr_r} zImage; load mmc 0:1 ${fdt_addr_r} board.dtb
stdin=serial

Environment size: 812/65532 bytes
"""
SCRIPT = """# what the board runs
setenv bootargs console=ttyS0,115200 root=/dev/mmcblk0p2 rootfstype=ext4
load mmc 0:1 0x42000000 zImage
load mmc 0:1 0x43000000 board.dtb
bootz 0x42000000 - 0x43000000
"""
EMULATOR = (
    "qemu-system-arm -M cubieboard -icount shift=1 \\\n  -drive file=sd.img,throttling.bps-total=10000000\n"
)
DMESG = "".join(
    f"[{ms / 1000:12.6f}] {text}\n"
    for ms, text in (
        (0, "Booting Linux on physical CPU 0x0"),
        (0, "Linux version 6.12.1 (a@b) (gcc) #1 SMP 2026-01-01"),
        (0, "Kernel command line: console=ttyS0,115200 root=/dev/mmcblk0p2 rw"),
        (1, "Calibrating delay loop... 996.14 BogoMIPS (lpj=4980736)"),
        (61, "CPU: Testing write buffer coherency: ok"),
        (70, "devtmpfs: initialized"),
        (900, "Run /sbin/init as init process"),
    )
)
CONSOLE = "".join(
    f"[{ms / 1000:.6f}] {text}\n"
    for ms, text in (
        (0, "U-Boot SPL 2025.01 (Jan 01 2026)"),
        (100, "U-Boot 2025.01 (Jan 01 2026)"),
        (200, "DRAM:  1 GiB"),
        (300, "Hit any key to stop autoboot:  2  1  0 "),
        (2300, "Starting kernel ..."),
        *((3000 + n * 10, f"[    0.{n:02}0000] line {n} of the kernel" + "x" * 40) for n in range(40)),
    )
)
INITTAB = "::sysinit:/etc/init.d/rcS\n"
RCS = '#!/bin/sh\nfor s in /etc/init.d/S*; do\n  "$s" start\ndone\n'
TREE: dict[str, str | bytes | None] = {
    "/bin/busybox": b"\x7fELF not really",
    "/dev": None,
    "/etc/inittab": INITTAB,
    "/etc/init.d/rcS": RCS,
    **{f"/etc/init.d/S{n}x": "#!/bin/sh\necho hi\n" for n in range(10, 17)},
    "/sbin/init": "-> /bin/busybox",
}
"""Path -> text, bytes, `-> target` or None for a folder."""


def made_tree(folder: Path, tree: Mapping[str, str | bytes | None] = TREE) -> Path:
    """A root file system as a folder; everything in it but links is a program."""
    for name, content in tree.items():
        path = folder / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            path.mkdir(exist_ok=True)
        elif isinstance(content, str) and content.startswith("-> "):
            path.symlink_to(content[3:])
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)
            path.chmod(0o755)
    return folder


def tar_of(folder: Path) -> bytes:
    """The folder as `tar -C folder .` packs it."""
    out = BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.add(folder, ".")
    return out.getvalue()


def cpio_entry(name: bytes, mode: int, data: bytes = b"") -> bytes:
    """A member of a cpio archive of the new form."""
    numbers = (1, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
    head = b"070701" + b"".join(b"%08x" % number for number in numbers) + name + b"\0"
    return head.ljust(-(-len(head) // 4) * 4, b"\0") + data.ljust(-(-len(data) // 4) * 4, b"\0")


def cpio_of(tree: Mapping[str, str | bytes | None] = TREE, *more: bytes) -> bytes:
    """An initramfs."""
    parts = list(more)
    for name, content in tree.items():
        data = b"" if content is None else content.encode() if isinstance(content, str) else content
        kind = 0o040755 if content is None else 0o120777 if data.startswith(b"-> ") else 0o100755
        parts.append(cpio_entry(name.lstrip("/").encode(), kind, data.removeprefix(b"-> ")))
    return b"".join([*parts, cpio_entry(b"TRAILER!!!", 0)]) + bytes(512)


def stored_environment(variables: Mapping[str, str], size: int = 4096, flag: bytes = b"") -> bytes:
    """An environment as U-Boot stores it; `flag` for one that is stored twice."""
    rows = b"".join(f"{name}={value}\0".encode() for name, value in variables.items())
    data = (rows + b"\0").ljust(size - 4 - len(flag), b"\0")
    return struct.pack("<I", zlib.crc32(data)) + flag + data


def uimage(payload: bytes, load: int = 0x40008000, kind: int = 2) -> bytes:
    """A file with the header of mkimage; its checksums are not made."""
    head = struct.pack(">IIIIIIIBBBB", 0x27051956, 0, 0, len(payload), load, load, 0, 5, 2, kind, 0)
    return head + b"name".ljust(32, b"\0") + payload


def boot_scr(text: str) -> bytes:
    """A script as mkimage wraps it."""
    data = text.encode()
    return uimage(struct.pack(">II", len(data), 0) + data, 0, 6)


def zimage(unpacked: int = 14_000_000, bss: int = 200_000, size: int = 5000, tree: bytes = b"") -> bytes:
    """A zImage without a kernel in it: its header and table, and a device tree behind it if given."""
    data = bytearray(size)
    struct.pack_into("<III", data, 0x24, 0x016F2818, 0, size)
    struct.pack_into("<II", data, 0x34, 0x45454545, 0x100)
    struct.pack_into("<IIII", data, 0x100, 6, 0x5A534C4B, size - 4, bss)
    struct.pack_into("<I", data, size - 4, unpacked)
    return bytes(data) + tree


def dtb(size: int = 200) -> bytes:
    """A device tree, by its head."""
    return struct.pack(">II", 0xD00DFEED, size).ljust(size, b"\0")


def elf(*, static: bool = True, sections: bool = True, mark: bytes = b"", wide: bool = False) -> bytes:
    """A program, by its heads."""
    data = bytearray(512)
    data[:7] = b"\x7fELF" + bytes([2 if wide else 1, 1, 1])
    struct.pack_into("<H", data, 16, 2)
    kinds = [1, 1 if static else 3]
    if wide:
        struct.pack_into("<QQ", data, 32, 64, 400 if sections else 0)
        struct.pack_into("<HHHH", data, 54, 56, len(kinds), 64, 3 if sections else 0)
    else:
        struct.pack_into("<II", data, 28, 64, 400 if sections else 0)
        struct.pack_into("<HHHH", data, 42, 32, len(kinds), 40, 3 if sections else 0)
    for n, kind in enumerate(kinds):
        struct.pack_into("<I", data, 64 + n * (56 if wide else 32), kind)
    return bytes(data) + mark


def pipe(path: Path) -> Path:
    """A named pipe that nobody writes to."""
    os.mkfifo(path)
    return path
