# SPDX-License-Identifier: Apache-2.0
"""Images that were built elsewhere, booted as they are: kernel, initramfs, folder of a root file system."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import debian_images, yocto_folder
from tests.command import Bootscope
from tests.unit import image_builders

pytestmark = [pytest.mark.boot, pytest.mark.long]


def recorded(bootscope: Bootscope, parts: debian_images.Parts, board: str, port: str, boots: int) -> Any:
    """What is told of a recording up to the login prompt."""
    files = (parts.kernel, parts.initrd, parts.root)
    words = f"console={port},115200"
    told = bootscope.json("record", *files, "--board", board, "--append", words, "-n", str(boots))
    assert told["until"] == "login"
    assert not told["advice"]
    assert all(boot["reached_ns"] for boot in told["boots"])
    return told


def functions(bootscope: Bootscope) -> set[str]:
    """The names in the view of functions."""
    tables = bootscope.json("show", "--view", "functions", "--top", "100000")["tables"]
    return {str(value) for table in tables for row in table["rows"] for value in row.values()}


def test_parts_of_debian_boot_to_their_login(tmp_path: Path) -> None:
    parts = debian_images.parts(tmp_path)
    bootscope = Bootscope(tmp_path / "store")
    told = recorded(bootscope, parts, "virt-arm64", "ttyAMA0", 1)
    assert any("root=/dev/mmcblk0" in line for line in told["taken"])
    names = functions(bootscope)
    assert any("start_kernel" in name for name in names)
    # The initramfs is packed by gzip.
    assert any("inflate" in name for name in names)


@pytest.mark.parametrize(
    ("kind", "board", "first"),
    [
        pytest.param("riscv64", "virt-riscv64", "opensbi", marks=pytest.mark.campaign),
        pytest.param("amd64", "q35", "firmware", marks=pytest.mark.campaign),
    ],
)
def test_other_boards_boot_images_behind_the_firmware_that_they_need(
    tmp_path: Path, kind: str, board: str, first: str
) -> None:
    known = debian_images.KINDS[kind]
    bootscope = Bootscope(tmp_path / "store")
    recorded(bootscope, debian_images.parts(tmp_path, known), board, known.port, 1)
    reached = bootscope.json("show")["milestones"]
    assert reached[first] < reached["kernel-entry"] < reached["init"] < reached["login"]
    assert any("start_kernel" in name for name in functions(bootscope))


def test_a_kernel_without_a_driver_for_the_card_gets_a_disk_of_virtios(
    tmp_path: Path,
) -> None:
    parts = debian_images.parts(tmp_path, modules=debian_images.VIRTIO)
    # What is written back at once are many requests made together, on which threads of the emulator work.
    with (parts.root / "etc/init.d/rcS").open("a") as script:
        script.write("mount -o remount,rw /\n")
        script.write("for n in $(seq 40); do mkdir /tmp/$n && echo $n > /tmp/$n/file; done\nsync\n")
    bootscope = Bootscope(tmp_path / "store")
    told = recorded(bootscope, parts, "virt-arm64", "ttyAMA0", 2)
    assert any("root=/dev/vda" in line for line in told["taken"])
    assert any("CONFIG_MMC_SDHCI_PCI" in line for line in told["notes"])
    assert bootscope.stream(told, 1) == bootscope.stream(told, 2)
    # What it read is known by the sectors and bytes of its requests.
    shown = bootscope.json("show", "--view", "storage", "--top", "1000")
    assert any("/bin/busybox" in str(row) for table in shown["tables"] for row in table["rows"])


def test_a_folder_laid_out_as_yocto_deploys_it(tmp_path: Path) -> None:
    parts = debian_images.parts(tmp_path, debian_images.KINDS["riscv64"])
    folder = yocto_folder.deploy(parts, tmp_path / "build")
    told = Bootscope(tmp_path / "store").json("record", folder, "--board", "virt-riscv64")
    assert told["until"] == "login"
    assert told["boots"][0]["reached_ns"]
    taken = " ".join(told["taken"])
    assert f"initramfs: {yocto_folder.IMAGE}-initramfs-qemuriscv64.cpio.gz" in taken
    assert f"from {yocto_folder.STEM}.qemuboot.conf" in taken
    assert f"card: {yocto_folder.STEM}.ext4: the whole image, as /dev/mmcblk0" in taken


@pytest.mark.campaign
def test_a_boot_loader_that_waits_for_a_network(tmp_path: Path) -> None:
    """The card's own script asks for one until it is there."""
    parts = debian_images.parts(tmp_path)
    boot = tmp_path / "boot"
    boot.mkdir()
    shutil.copy(parts.kernel, boot / "Image")
    words = tmp_path / "boot.cmd"
    words.write_text("until dhcp; do sleep 1; done\n")
    made: list[str | Path] = [
        "mkimage",
        "-A",
        "arm64",
        "-T",
        "script",
        "-C",
        "none",
        "-d",
        words,
        boot / "boot.scr",
    ]
    subprocess.run(made, check=True, capture_output=True)
    pieces = [
        (2048, image_builders.fat(tmp_path / "boot.part", boot, 64).read_bytes()),
        (133120, image_builders.ext4(tmp_path / "root.part", parts.root, 32).read_bytes()),
    ]
    card = image_builders.disk(tmp_path / "card.img", 98, debian_images.CARD, pieces)
    bootscope = Bootscope(tmp_path / "store")
    through = ("--board", "virt-arm64", "--through", "firmware", "--board-timeout", "2")
    told = bootscope.json("record", card, *through, status=3)
    (advice,) = told["advice"]
    assert advice.startswith("the boot loader waits for a network, and the board has none")
    assert "--through kernel" in advice
    # What was recorded is kept.
    assert told["boots"][0]["ended"] == "limit"
    assert bootscope.json("show")["phases"][-1]["name"] == "bootloader"
