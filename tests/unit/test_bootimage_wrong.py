# SPDX-License-Identifier: Apache-2.0
"""Images in which something is wrong: what is said of each, and what is refused."""

from __future__ import annotations

import gzip
import lzma
import os
import struct
from pathlib import Path

import pytest

from bootscope.artefacts.tree import FILE, Entry
from bootscope.bootimage import menus
from bootscope.bootimage.files import Files, Listed
from bootscope.bootimage.records import Understood
from bootscope.bootimage.understand import open_image
from bootscope.buildtrees import boot_words
from bootscope.core.errors import UserError
from tests.unit.image_builders import (
    CARD,
    arm64_image,
    card,
    cpio,
    disk,
    ext4,
    qcow2,
    root_folder,
)
from tests.unit.time_bound import within


def look(*paths: Path) -> Understood:
    with open_image([str(path) for path in paths]) as image:
        return image.understood


def test_a_kernel_for_another_cpu_than_the_root(tmp_path: Path) -> None:
    root = root_folder(tmp_path / "root")
    (root / "bin/busybox").write_bytes(
        b"\x7fELF\x01\x01\x01".ljust(18, b"\0") + struct.pack("<H", 8) + bytes(99)
    )
    (tmp_path / "Image").write_bytes(arm64_image())
    known = look(tmp_path / "Image", root)
    assert known.problems == (
        "the kernel is for arm64, the programs of the root file system for mips: they belong to different "
        "machines",
    )


def test_a_card_without_a_kernel_and_an_encrypted_root(tmp_path: Path) -> None:
    script = CARD.format(label="dos", boot="c", root="83")
    path = disk(tmp_path / "card.img", 20, script, [(18432, b"LUKS\xba\xbe\0\x02".ljust(4096, b"\0"))])
    known = look(path)
    assert [a.filesystem.kind if a.filesystem else "" for a in known.areas] == ["", "LUKS"]
    assert "it is encrypted: nothing of it can be read without its key" in known.problems[0]
    assert known.problems[1].startswith("no kernel was found; it may lie in LUKS, which is not read")


@pytest.mark.parametrize("blanks", ["\n" * 60_000, " " * 60_000])
def test_menus_of_blanks_take_no_time(blanks: str) -> None:
    def holding(text: str) -> Files:
        entry = Entry("/config.txt", FILE, len(text), read=lambda most: text.encode()[:most])
        return Files(Listed("fat", [Entry("/start.elf", FILE), entry]))

    with within(5):
        assert menus.entries(holding(blanks))[0].kernel == ""
        assert menus.entries(holding(f"{blanks}\n \tkernel=a\n"))[0].kernel == "a"
        for name, word in (("extlinux.conf", "append"), ("grub.cfg", "linux /a")):
            assert boot_words.in_menu(name, blanks) == ""
            assert boot_words.in_menu(name, f"{blanks}\n \t{word}  quiet ro\n") == "quiet ro"


def test_the_log_of_a_boot_is_no_boot_loader(tmp_path: Path) -> None:
    words = b"U-Boot SPL 2025.01 (Jan 01 2026 - 00:00:00 +0000)\n"
    (tmp_path / "console.log").write_bytes(words + b"DRAM: 1024 MiB\n")
    with pytest.raises(UserError, match=r"console\.log is not recognised") as caught:
        look(tmp_path / "console.log")
    assert "bootscope import" in (caught.value.hint or "")
    (tmp_path / "spl.bin").write_bytes(bytes(64) + words)
    assert [loader.program.what for loader in look(tmp_path / "spl.bin").loaders] == ["U-Boot SPL"]


def test_a_truncated_card(tmp_path: Path) -> None:
    made = card(tmp_path)
    path = tmp_path / "short.img"
    path.write_bytes(made.read_bytes()[: 12 << 20])
    known = look(path)
    assert any("ends" in text and "beyond the end of the image" in text for text in known.problems)
    path = tmp_path / "card.xz"
    path.write_bytes(lzma.compress(made.read_bytes(), preset=0)[:-2000])
    assert any(text.startswith("truncated: the xz data end too early") for text in look(path).problems)


def test_a_menu_that_names_a_missing_kernel(tmp_path: Path) -> None:
    folder = root_folder(tmp_path / "root")
    (folder / "boot/extlinux").mkdir()
    (folder / "boot/extlinux/extlinux.conf").write_text("label a\n  kernel /boot/gone\n")
    path = ext4(tmp_path / "root.ext4", folder, 8)
    assert "names /boot/gone, which was not found" in look(path).problems[0]


REFUSED = {
    "empty": (b"", "is empty"),
    "text": (b"hello\n" * 100, "is not recognised"),
    "bmap": (b'<?xml version="1.0" ?>\n<bmap version="2.0">', "is a block map"),
    "vmdk": (b"KDMV" + bytes(600), "is a VMware disk"),
    "zip": (b"PK\x03\x04" + bytes(600), "is a zip archive"),
    "lzo": (b"\x89LZO\0\r\n\x1a\n" + bytes(600), "is not recognised|is compressed with lzo"),
    "backed": (qcow2(bytes(1 << 16), backing=100), "it is a difference to another image"),
    "locked": (qcow2(bytes(1 << 16), crypt=2), "it is encrypted"),
    "newer": (qcow2(bytes(1 << 16), version=4), "version 4 is not known"),
    "packed text": (gzip.compress(b"hello\n" * 100), "not recognised after unpacking it"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_why(name: str, tmp_path: Path) -> None:
    data, why = REFUSED[name]
    path = tmp_path / "x"
    path.write_bytes(data)
    with pytest.raises(UserError, match=why):
        look(path)


def test_what_is_not_there_or_no_file(tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to("circle")
    os.mkfifo(tmp_path / "pipe")
    for name, why in (
        ("gone", "cannot read"),
        ("circle", "cannot read"),
        ("pipe", "neither a file nor a folder"),
    ):
        with pytest.raises(UserError, match=why):
            look(tmp_path / name)
    with pytest.raises(UserError, match="has no kernel, disk image or root file system"):
        look(tmp_path)


def test_a_bomb_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bootscope.bootimage.sparse_file.MOST_BYTES", 1 << 20)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(bytes(4 << 20)))
    with pytest.raises(UserError, match=r"unpacks to more than 1\.0 MB"):
        look(path)


def test_a_kernel_that_is_a_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bootscope.image.kernel_file.MOST_BYTES", 1 << 20)
    path = tmp_path / "Image.gz"
    path.write_bytes(gzip.compress(arm64_image()[:64] + bytes(4 << 20)))
    with pytest.raises(UserError, match=r"Image\.gz unpacks to more than 1 MB"):
        look(path)


def test_an_initramfs_of_several_archives(tmp_path: Path) -> None:
    early = cpio({"kernel/x86/microcode/GenuineIntel.bin": b"x" * 100})
    path = tmp_path / "initrd"
    path.write_bytes(early + bytes(512) + lzma.compress(cpio({"init": b"#!/bin/sh\n", "bin/sh": b"x"})))
    (one,) = look(path).initramfs
    assert [(p.compression, p.files, p.what) for p in one.parts] == [
        ("", 1, "CPU microcode"),
        ("xz", 2, "files"),
    ]
    path.write_bytes(cpio({"init": b"x"})[:-100])
    assert look(path).initramfs[0].notes == ("an archive in it is truncated or damaged; read up to there",)
