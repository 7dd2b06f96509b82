# SPDX-License-Identifier: Apache-2.0
"""`record FILE...` with what cannot boot: said before anything is built or booted."""

from __future__ import annotations

from pathlib import Path

import pytest

from bootscope.boards.profile import load_board
from bootscope.bootimage.understand import open_image
from bootscope.imageboot import given
from tests.command import Bootscope
from tests.unit.image_builders import arm64_image, bzimage, ext4, root_folder


@pytest.fixture
def bootscope(tmp_path: Path) -> Bootscope:
    return Bootscope(tmp_path / "store", tmp_path / "cache")


def refused(bootscope: Bootscope, *arguments: str | Path) -> str:
    """What it says of an image that it does not boot."""
    done = bootscope.run("record", *arguments)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert not list(bootscope.store.glob("runs/*"))
    return " ".join(done.stderr.split())


def test_a_kernel_of_another_architecture(bootscope: Bootscope, tmp_path: Path) -> None:
    path = tmp_path / "vmlinuz"
    path.write_bytes(bzimage(b"Linux version 6.1 (x) #1\n\0"))
    said = refused(bootscope, path, "--board", "virt-arm64")
    assert "the image is for x86-64, the board virt-arm64 for arm64" in said


def test_no_kernel(bootscope: Bootscope, tmp_path: Path) -> None:
    root = ext4(tmp_path / "root.ext4", root_folder(tmp_path / "root"), 8)
    said = refused(bootscope, root, "--board", "virt-arm64")
    assert "there is no kernel in it" in said
    assert "bootscope record IMAGE KERNEL" in said


def test_what_is_not_recognised(bootscope: Bootscope, tmp_path: Path) -> None:
    path = tmp_path / "noise.bin"
    path.write_bytes(b"nothing that anybody knows " * 1000)
    assert "noise.bin" in refused(bootscope, path, "--board", "virt-arm64")


def test_an_image_without_a_board(bootscope: Bootscope, tmp_path: Path) -> None:
    path = tmp_path / "Image"
    path.write_bytes(arm64_image())
    assert "--board virt-arm64" in refused(bootscope, path)


def test_firmware_needs_a_disk(bootscope: Bootscope, tmp_path: Path) -> None:
    path = tmp_path / "Image"
    path.write_bytes(arm64_image())
    said = refused(bootscope, path, "--board", "virt-arm64", "--through", "firmware")
    assert "has no partition table" in said
    assert "--through kernel" in said


def test_two_ends_contradict_each_other(bootscope: Bootscope, tmp_path: Path) -> None:
    path = tmp_path / "Image"
    path.write_bytes(arm64_image())
    said = refused(bootscope, path, "--board", "virt-arm64", "--until", "init", "--until-text", "ready")
    assert "--until and --until-text contradict each other" in said


def test_a_console_that_is_added_takes_the_place_of_the_images(tmp_path: Path) -> None:
    """Of two of a name, Linux takes the options of the first: a rate behind it would change nothing."""
    root = root_folder(tmp_path / "root")
    (root / "boot/extlinux").mkdir()
    (root / "boot/Image").write_bytes(arm64_image())
    menu = "label a\n  kernel /boot/Image\n  append console=tty0 console=ttyAMA0 root=/dev/vda quiet\n"
    (root / "boot/extlinux/extlinux.conf").write_text(menu)
    path, board = ext4(tmp_path / "root.ext4", root, 16), load_board("virt-arm64")
    for added, words in (
        ("", "console=tty0 console=ttyAMA0 root=/dev/vda quiet"),
        ("console=ttyAMA0,115200", "console=tty0 root=/dev/vda quiet console=ttyAMA0,115200"),
    ):
        with open_image([str(path)]) as image:
            assert given.of_image(image, board, added, tmp_path).command_line == words
