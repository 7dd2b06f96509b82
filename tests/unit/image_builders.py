# SPDX-License-Identifier: Apache-2.0
"""Small images as builds make them: kernels with a table of symbols, disks made by sfdisk, mkfs and mcopy."""

from __future__ import annotations

import gzip
import struct
import subprocess
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from bootscope.core.process import search_path
from bootscope.image.kallsyms import Symbol
from tests.unit.kallsyms_builder import table

BASE = 0xFFFF800080000000
VERSION = "6.12.9-test"
CONFIG = "#\n# Automatically generated file; DO NOT EDIT.\n# Linux/arm64 6.12.9 Kernel Configuration\n#\n" + (
    'CONFIG_SMP=y\nCONFIG_RANDOMIZE_BASE=y\nCONFIG_CMDLINE="console=ttyAMA0"\n'
)
BUILD_ID = bytes(range(20))
SYMBOLS = 300
TREE = """/dts-v1/;
/ { #address-cells = <2>; #size-cells = <1>; model = "Test board"; compatible = "test,board", "test,soc";
    memory@40000000 { device_type = "memory"; reg = <0 0x40000000 0x8000000>; };
    chosen { bootargs = "console=ttyS1"; }; };
"""
MENU = """default second
label first
  kernel /missing
label second
  menu label Product
  kernel /Image
  initrd /initrd
  fdt /board.dtb
  append console=ttyS0 root=/dev/vda2
"""


def tool(*command: str | int | Path, data: bytes = b"", cwd: Path | None = None) -> bytes:
    """Runs a tool that images are made with; its output."""
    env = {"PATH": search_path(), "MTOOLS_SKIP_CHECK": "1", "SOURCE_DATE_EPOCH": "0", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        list(map(str, command)), input=data, capture_output=True, cwd=cwd, env=env, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def note(build_id: bytes) -> bytes:
    """A note with a build id, and one that Linux writes beside it."""
    return (
        struct.pack("<III4s", 4, len(build_id), 3, b"GNU\0")
        + build_id
        + struct.pack("<II", 6, 0)
        + b"\0\0\0\0Linux\0"
    )


def vdso() -> bytes:
    """A program within a kernel, with a build id of its own."""
    head = bytearray(64 + 64)
    head[:6] = b"\x7fELF\x02\x01"
    struct.pack_into("<Q", head, 40, 64)
    struct.pack_into("<HH", head, 58, 64, 1)
    inner = note(b"\xee" * 20)
    struct.pack_into("<Q", head, 40, 64 + len(inner))
    return bytes(head[:64]) + inner + bytes(64)


def program(version: str = VERSION, modern: bool = True, config: str = CONFIG) -> bytes:
    """What a kernel holds behind its header: banner, symbols, configuration, notes."""
    names = [Symbol(BASE + 0x10000 + 32 * n, "tTdD"[n % 4], f"function_{n}_start") for n in range(SYMBOLS)]
    text = f"Linux version {version} (someone@somewhere) (gcc 14) #1 SMP\n\0".encode()
    kept = b"IKCFG_ST" + gzip.compress(config.encode(), mtime=0) + b"IKCFG_ED" if config else b""
    parts = text + kept + vdso() + note(BUILD_ID)
    return parts + bytes(-len(parts) % 8) + table(names, BASE, word=8, modern=modern)


def arm64_image(version: str = VERSION, modern: bool = True, config: str = CONFIG) -> bytes:
    """An uncompressed kernel for arm64."""
    head = bytearray(64)
    head[:2], head[0x38:0x3C] = b"MZ", b"ARM\x64"
    data = bytes(head) + bytes(64 << 10) + program(version, modern, config)
    return data + bytes(-len(data) % 4096)


def bzimage(inner: bytes) -> bytes:
    """A kernel for x86-64 that holds a packed one."""
    head = bytearray(1024)
    head[0x1F1], head[0x1FE:0x200], head[0x202:0x206] = 1, b"\x55\xaa", b"HdrS"
    struct.pack_into("<H", head, 0x236, 1)
    struct.pack_into("<II", head, 0x248, 16, len(inner) + 4)
    return bytes(head) + bytes(16) + inner + struct.pack("<I", 1 << 20)


def zboot(inner: bytes, machine: int = 0xAA64) -> bytes:
    """An EFI program that unpacks a kernel."""
    head = bytearray(512)
    head[:2], head[4:8], head[0x38:0x3C] = b"MZ", b"zimg", b"\xcd\x23\x82\x81"
    struct.pack_into("<II", head, 8, 512, len(inner))
    struct.pack_into("<I", head, 0x3C, 0x40)
    head[0x40:0x44] = b"PE\0\0"
    struct.pack_into("<HH", head, 0x44, machine, 0)
    return bytes(head) + inner


def cpio(
    files: Mapping[str, bytes], folders: Sequence[str] = (), links: Mapping[str, str] | None = None
) -> bytes:
    """An archive as the kernel takes it."""
    out = b""
    rows = [(name, 0o040755, b"") for name in folders]
    rows += [(name, 0o100755, data) for name, data in files.items()]
    rows += [(name, 0o120777, target.encode()) for name, target in (links or {}).items()]
    for name, mode, data in [*rows, ("TRAILER!!!", 0, b"")]:
        fields = (1, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        head = b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0"
        out += head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4)
    return out


def device_tree() -> bytes:
    """A device tree of a board."""
    return tool("dtc", "-q", "-O", "dtb", data=TREE.encode())


def root_folder(folder: Path) -> Path:
    """A small root file system with BusyBox, which is a program for arm64."""
    elf = (
        b"\x7fELF\x02\x01\x01".ljust(18, b"\0")
        + struct.pack("<H", 183)
        + b"BusyBox v1.37.0 (2025)"
        + bytes(64)
    )
    for name in ("bin", "sbin", "etc", "dev", f"lib/modules/{VERSION}", "boot"):
        (folder / name).mkdir(parents=True)
    (folder / "bin/busybox").write_bytes(elf)
    (folder / "bin/busybox").chmod(0o755)
    (folder / "sbin/init").symlink_to("../bin/busybox")
    (folder / "etc/os-release").write_text('NAME=x\nPRETTY_NAME="Product 1"\n')
    (folder / "etc/circle").symlink_to("circle")
    (folder / "etc/out").symlink_to("../../../../../../etc/hostname")
    return folder


def boot_folder(folder: Path) -> Path:
    """A boot partition's files: kernel, device tree, initramfs, menu."""
    (folder / "extlinux").mkdir(parents=True)
    (folder / "extlinux/extlinux.conf").write_text(MENU)
    (folder / "Image").write_bytes(arm64_image())
    (folder / "board.dtb").write_bytes(device_tree())
    (folder / "initrd").write_bytes(gzip.compress(cpio({"init": b"#!/bin/sh\n"}), mtime=0))
    return folder


def fat(path: Path, folder: Path, megabytes: int) -> Path:
    """A FAT with the files of a folder."""
    with path.open("wb") as made:
        made.truncate(megabytes << 20)
    tool("mkfs.vfat", "-n", "BOOT", path)
    tool("mcopy", "-s", "-i", path, *sorted(folder.iterdir()), "::/")
    return path


def ext4(path: Path, folder: Path, megabytes: int) -> Path:
    """An ext4 with the files of a folder."""
    with path.open("wb") as made:
        made.truncate(megabytes << 20)
    tool("mkfs.ext4", "-q", "-L", "root", "-d", folder, path)
    return path


def disk(path: Path, megabytes: int, script: str, parts: Sequence[tuple[int, bytes]]) -> Path:
    """A disk: a table that sfdisk makes of a script, and data by the sector where they begin."""
    with path.open("wb") as made:
        made.truncate(megabytes << 20)
    tool("sfdisk", "-q", path, data=script.encode())
    with path.open("r+b") as made:
        for sector, data in parts:
            made.seek(sector * 512)
            made.write(data)
    return path


CARD = "label: {label}\nstart=2048, size=16384, type={boot}\nstart=18432, size=16384, type={root}\n"
TYPES = {"gpt": ("U", "L"), "dos": ("c", "83")}


def card(folder: Path, label: str = "gpt") -> Path:
    """A card with a boot partition and a root file system, and a boot loader before them."""
    boot = fat(folder / "boot.part", boot_folder(folder / "boot"), 8)
    root = ext4(folder / "root.part", root_folder(folder / "root"), 8)
    first, second = TYPES[label]
    loader = b"U-Boot SPL 2025.01 (Jan 01 2026)\0".ljust(64, b"\0") + b"\0bootcmd=run it\0bootargs=quiet\0\0"
    parts = [
        (200, loader + b"U-Boot 2025.01 (Jan 01 2026)\0"),
        (2048, boot.read_bytes()),
        (18432, root.read_bytes()),
    ]
    return disk(folder / "card.img", 20, CARD.format(label=label, boot=first, root=second), parts)


def qcow2(data: bytes, cluster_bits: int = 16, packed: bool = True, **fields: int) -> bytes:
    """A disk as qcow2, version 3; `fields` of the header are put in as they are."""
    size, cluster = len(data), 1 << cluster_bits
    count = -(-size // cluster)
    tables = -(-count // (cluster // 8))
    first, at = cluster, cluster * (1 + tables)
    entries, body = [], bytearray()
    at += cluster
    for start in range(0, size, cluster):
        piece = data[start : start + cluster].ljust(cluster, b"\0")
        if not piece.strip(b"\0"):
            entries.append(0)
            continue
        place = at + len(body)
        if packed:
            tool_ = zlib.compressobj(9, zlib.DEFLATED, -12)
            small = tool_.compress(piece) + tool_.flush()
            sectors = (place % 512 + len(small) - 1) // 512
            entries.append(1 << 62 | sectors << (62 - (cluster_bits - 8)) | place)
            body += small
        else:
            entries.append(1 << 63 | place)
            body += piece
    rows = struct.pack(f">{count}Q", *entries).ljust(tables * cluster, b"\0")
    top = struct.pack(f">{tables}Q", *(1 << 63 | cluster * (2 + n) for n in range(tables))).ljust(
        cluster, b"\0"
    )
    told = {"version": 3, "backing": 0, "crypt": 0, **fields}
    head = struct.pack(">4sIQIIQIIQQ", b"QFI\xfb", told["version"], told["backing"], 0, cluster_bits, size,
                       told["crypt"], tables, first, 0)  # fmt: skip
    return head.ljust(cluster, b"\0") + top + rows + bytes(body)


def android_sparse(data: bytes, block: int = 4096) -> bytes:
    """A disk as Android's sparse image."""
    blocks = -(-len(data) // block)
    chunks = []
    for start in range(0, len(data), block):
        piece = data[start : start + block].ljust(block, b"\0")
        empty = not piece.strip(b"\0")
        body = b"" if empty else piece
        chunks.append(struct.pack("<HHII", 0xCAC3 if empty else 0xCAC1, 0, 1, 12 + len(body)) + body)
    head = struct.pack("<IHHHHIIII", 0xED26FF3A, 1, 0, 28, 12, block, blocks, len(chunks), 0)
    return head + b"".join(chunks)


def uki(sections: Mapping[str, bytes], machine: int = 0xAA64) -> bytes:
    """An EFI program with these sections."""
    at = 0x1000
    rows, body = b"", b""
    for name, data in sections.items():
        padded = data + bytes(-len(data) % 512)
        rows += struct.pack("<8sIIII16x", name.encode(), len(data), at, len(padded), at + len(body))
        body += padded
    head = b"MZ".ljust(0x3C, b"\0") + struct.pack("<I", 0x40) + b"PE\0\0"
    head += struct.pack("<HHIIIHH", machine, len(sections), 0, 0, 0, 0, 0)
    return (head + rows).ljust(at, b"\0") + body
