# SPDX-License-Identifier: Apache-2.0
"""Files in images: file systems as their own tools make them, menus, and the boot loaders' texts."""

from __future__ import annotations

import gzip
from functools import partial
from pathlib import Path

import pytest

from bootscope.artefacts.tree import FILE, Entry
from bootscope.bootimage import menus, probe
from bootscope.bootimage.fat import Fat
from bootscope.bootimage.files import Files, Listed, OnDisk
from bootscope.bootimage.mounted import files_of
from bootscope.bootimage.understand import open_image
from bootscope.bootimage.volume import Volume, opened
from bootscope.core.errors import UserError
from bootscope.devices import boot_roms
from bootscope.loaders import in_images
from tests.unit.image_builders import VERSION, arm64_image, cpio, ext4, fat, root_folder, tool, uki

LONG = "a name that is longer than eight and three characters, with ümlauts.configuration"


def volume(path: Path) -> Volume:
    return opened(path, path.name)


def files(path: Path, work: Path) -> Files:
    whole = volume(path)
    system = probe.probe(whole)
    assert system
    found, why = files_of(whole, system, path.name, work)
    assert found, why
    return found


@pytest.mark.parametrize(("bits", "megabytes"), [(12, 2), (16, 20), (32, 40)])
def test_fat_of_every_width(bits: int, megabytes: int, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    (folder / "EFI/BOOT").mkdir(parents=True)
    content = {LONG: b"long" * 30_000, "EFI/BOOT/BOOTAA64.EFI": b"efi", "SHORT.TXT": b"x", "empty": b""}
    for name, data in content.items():
        (folder / name).write_bytes(data)
    for number in range(200):
        (folder / "EFI" / f"file number {number}").write_bytes(b"%d" % number)
    image = tmp_path / "fat"
    with image.open("wb") as made:
        made.truncate(megabytes << 20)
    tool("mkfs.vfat", "-F", bits, "-s", "1", image)
    tool("mcopy", "-s", "-i", image, *sorted(folder.iterdir()), "::/")
    found = Files(Fat(volume(image)))
    for name, data in content.items():
        assert found.read(f"/{name}", 1 << 20) == data, name
    assert found.read(f"/{LONG}", 10) == b"longlonglo"
    assert found.read("/efi/boot/bootaa64.efi", 10) == b"efi"
    assert len(found.folder("/EFI")) == 201
    assert [e.path for e in found.matching("/EFI/*/*.efi")] == ["/EFI/BOOT/BOOTAA64.EFI"]
    assert found.find("/gone") is None and found.folder("/gone") == {}


def test_a_fat_whose_chain_goes_in_a_circle_ends(tmp_path: Path) -> None:
    image = tmp_path / "fat"
    with image.open("wb") as made:
        made.truncate(20 << 20)
    tool("mkfs.vfat", "-F", "16", "-s", "1", "-R", "1", "-f", "1", image)
    (tmp_path / "f").write_bytes(b"x" * 2000)
    tool("mcopy", "-i", image, tmp_path / "f", "::/f")
    with image.open("r+b") as made:
        made.seek(512 + 2 * 2)
        made.write(b"\2\0")
    assert len(Files(Fat(volume(image))).read("/f", 1 << 20) or b"") == 2000
    image.write_bytes(image.read_bytes()[:11] + bytes(200) + image.read_bytes()[211:])
    with pytest.raises(UserError, match="contradicts itself"):
        Fat(volume(image))


@pytest.mark.parametrize("kind", ["ext4", "squashfs", "folder"])
def test_links_stay_in_the_image(kind: str, tmp_path: Path) -> None:
    path = folder = root_folder(tmp_path / "root")
    (folder / "etc/hostname").write_text("inside\n")
    if kind == "ext4":
        path = ext4(tmp_path / "image", folder, 8)
    elif kind == "squashfs":
        path = tmp_path / "image"
        tool("mksquashfs", folder, path, "-quiet", "-no-progress")
    found = Files(OnDisk(path)) if kind == "folder" else files(path, tmp_path)
    init = found.find("/sbin/init")
    assert init and init.path == "/bin/busybox" and init.read(4) == b"\x7fELF"
    # What leads above the root ends in the root, as it does where the image boots.
    assert found.text("/etc/out") == "inside\n"
    assert found.find("/etc/circle") is None
    assert found.find("/etc/hostname/x") is None


def test_a_folder_is_not_left_by_a_link_to_a_folder(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/key").write_text("x")
    (tmp_path / "root").mkdir()
    (tmp_path / "root/out").symlink_to(tmp_path / "secret")
    found = Files(OnDisk(tmp_path / "root"))
    assert found.read("/out/key", 10) is None
    assert OnDisk(tmp_path / "root").folder("/out") == {}


def test_a_file_system_in_the_middle_of_an_image(tmp_path: Path) -> None:
    ext4(tmp_path / "root", root_folder(tmp_path / "in"), 8)
    data = (tmp_path / "root").read_bytes()
    (tmp_path / "disk").write_bytes(bytes(3 << 20) + data)
    part = volume(tmp_path / "disk").part(3 << 20, len(data))
    system = probe.probe(part)
    assert system and (system.kind, system.label, system.size_bytes, system.notes) == (
        "ext4",
        "root",
        len(data),
        (),
    )
    found, why = files_of(part, system, "disk", tmp_path)
    assert found and found.find("/bin/busybox"), why


MADE = {
    "btrfs": (110, ("mkfs.btrfs", "-q", "-L", "name"), "name"),
    "f2fs": (64, ("mkfs.f2fs", "-q", "-l", "name"), "name"),
    "XFS": (300, ("mkfs.xfs", "-q", "-L", "name"), "name"),
    "swap": (2, ("mkswap", "-L", "name"), "name"),
    "ext2": (2, ("mkfs.ext2", "-q", "-L", "name"), "name"),
    "ext3": (4, ("mkfs.ext3", "-q", "-L", "name"), "name"),
}


@pytest.mark.parametrize("kind", MADE)
def test_file_systems_are_recognised(kind: str, tmp_path: Path) -> None:
    megabytes, command, label = MADE[kind]
    path = tmp_path / "image"
    with path.open("wb") as made:
        made.truncate(megabytes << 20)
    tool(*command, path)
    found = probe.probe(volume(path))
    assert found and (found.kind, found.label, found.notes) == (kind, label, ())
    assert len(found.identifier) == 36
    if found.size_bytes:
        half = volume(path).part(0, found.size_bytes // 2)
        cut = probe.probe(half)
        assert cut and "larger than what it lies in: truncated?" in cut.notes[-1]


def test_erofs_is_recognised_and_not_read(tmp_path: Path) -> None:
    tool("mkfs.erofs", tmp_path / "image", root_folder(tmp_path / "in"))
    found = probe.probe(volume(tmp_path / "image"))
    assert found and found.kind == "erofs"
    none, why = files_of(volume(tmp_path / "image"), found, "image", tmp_path)
    assert none is None and why == "erofs is recognised; its files are not read"


# ---- menus ----


def _head(data: bytes, most: int) -> bytes:
    return data[:most]


def menu(**texts: bytes) -> list[menus.MenuEntry]:
    entries = [
        Entry("/" + path.replace("__", "."), FILE, len(data), read=partial(_head, data))
        for path, data in ((path.replace("_S_", "/"), data) for path, data in texts.items())
    ]
    return menus.entries(Files(Listed("x", entries)))


GRUB = b"""set default=0
menuentry 'Debian' --class debian {
    linux /boot/vmlinuz-6 root=UUID=1 ro \\
      quiet
    initrd /boot/initrd-6 /boot/second
}
menuentry "Other" {
    linux /boot/old single
}
"""


def test_grub() -> None:
    first, second = menu(grub_S_grub__cfg=GRUB)
    assert (first.title, first.kernel, first.command_line) == (
        "Debian",
        "/boot/vmlinuz-6",
        "root=UUID=1 ro quiet",
    )
    assert first.initramfs == ("/boot/initrd-6", "/boot/second") and first.chosen
    assert (second.title, second.kernel, second.chosen) == ("Other", "/boot/old", False)


def test_boot_entries() -> None:
    one, two = menu(
        loader_S_loader__conf=b"timeout 3\ndefault b*\n",
        loader_S_entries_S_a__conf=b"title A\nlinux /a\noptions quiet\n",
        loader_S_entries_S_b__conf=b"title   B\nlinux /b\ninitrd /i1\ninitrd /i2\noptions 1\n#x\noptions 2\n",
    )
    assert (one.title, one.chosen) == ("A", False)
    assert (two.title, two.chosen, two.initramfs, two.command_line) == ("B", True, ("/i1", "/i2"), "1 2")


def test_a_boot_script(tmp_path: Path) -> None:
    (tmp_path / "in").write_text(
        "setenv bootargs console=ttyS0 quiet\nload mmc 0:1 0x42000000 zImage\n"
        "load mmc 0:1 0x43000000 board.dtb\nbootz 0x42000000 - 0x43000000\n"
    )
    tool("mkimage", "-A", "arm", "-T", "script", "-d", tmp_path / "in", tmp_path / "out")
    (one,) = menu(boot__scr=(tmp_path / "out").read_bytes())
    assert (one.kernel, one.device_tree, one.command_line) == ("zImage", "board.dtb", "console=ttyS0 quiet")


def test_a_raspberry_pi() -> None:
    files = {
        "config__txt": b"arm_64bit=1\n",
        "cmdline__txt": b"root=/dev/sda2\n",
        "start4__elf": b"",
        "kernel8__img": b"x",
    }
    (one,) = menu(**files)
    assert (one.kernel, one.command_line) == ("kernel8.img", "root=/dev/sda2")


def test_a_unified_kernel_image(tmp_path: Path) -> None:
    parts = {".osrel": b'PRETTY_NAME="A 3"\n', ".cmdline": b"root=LABEL=r quiet\0", ".linux": arm64_image(),
             ".initrd": gzip.compress(cpio({"init": b"#!/bin/sh\n"}))}  # fmt: skip
    (tmp_path / "a.efi").write_bytes(uki(parts))
    with open_image([str(tmp_path / "a.efi")]) as image:
        known = image.understood
    assert (known.kernels[0].version, known.kernels[0].place.path) == (VERSION, ":.linux")
    assert (known.command_line, known.entries[0].menu.title) == ("root=LABEL=r quiet", "A 3")
    assert known.initramfs[0].place.path == ":.initrd"


def test_an_efi_program_is_started_by_firmware(tmp_path: Path) -> None:
    (tmp_path / "in/EFI/BOOT").mkdir(parents=True)
    (tmp_path / "in/EFI/BOOT/BOOTAA64.EFI").write_bytes(uki({".text": b"x"}))
    with open_image([str(fat(tmp_path / "fat", tmp_path / "in", 2))]) as image:
        steps = [(step.what, step.sure) for step in image.understood.steps]
    assert steps == [("EFI firmware", True), ("EFI program for arm64", True)]


# ---- boot loaders ----


def test_the_versions_of_boot_loaders() -> None:
    data = (
        b"U-Boot SPL 2025.01-rc1 (Jan 01 2025)\0v2.12.1(release):v2.12\0OpenSBI v%d.%d\0U-Boot 2025.01 (x)\0"
        b"#### LoaderInfo: systemd-boot 257.1 ####\0barebox 2024.05.0 #1\0U-Boot 2025.01 again\0"
    )
    assert [(p.what, p.version) for p in in_images.named_in(data)] == [
        ("U-Boot SPL", "2025.01-rc1"),
        ("TF-A", "v2.12.1(release):v2.12"),
        ("OpenSBI", ""),
        ("U-Boot", "2025.01"),
        ("systemd-boot", "257.1"),
        ("barebox", "2024.05.0"),
    ]


@pytest.mark.parametrize(
    ("at", "data", "what"),
    [
        (0x2000, b"\0\0\0\xeaeGON.BT0", "an Allwinner SoC"),
        (0x8000, b"RKNS", "a Rockchip SoC (idbloader)"),
        (0x8400, b"\xd1\x00\x20\x41", "an i.MX SoC (image vector table)"),
        (0x8000, b"\x00\x00\x02\x87", "an i.MX 8 SoC (container)"),
        (0x4400, b"STM2", "an STM32MP SoC"),
    ],
)
def test_where_boot_roms_look(at: int, data: bytes, what: str) -> None:
    head = bytearray(boot_roms.ROM_BYTES)
    head[at : at + len(data)] = data
    assert boot_roms.first_stages(bytes(head)) == [(what, at)]
    assert boot_roms.first_stages(bytes(boot_roms.ROM_BYTES)) == boot_roms.first_stages(b"") == []


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    ext4(tmp_path / "root", root_folder(tmp_path / "in"), 8)
    folder = Path("/proc/self/fd")
    before = len(list(folder.iterdir()))
    with open_image([str(tmp_path / "root")]):
        pass
    assert len(list(folder.iterdir())) == before
