# SPDX-License-Identifier: Apache-2.0
"""Images with something wrong, recorded: what was seen is told with what to do, and the recording is kept.

All is Debian's: kernels, BusyBox, GRUB. Each boot is one, and as short as what it is to show allows.
"""

from __future__ import annotations

import gzip
import lzma
import re
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest

from tests import debian_images
from tests.command import Bootscope
from tests.debian_images import Parts
from tests.unit import image_builders

pytestmark = [pytest.mark.boot, pytest.mark.long]
BOARD = ("--board", "virt-arm64")
CONSOLE = "console=ttyAMA0,115200"
SECTOR = 512
ROOT_AT, ROOT_SECTORS = 133120, 65536
CARD = "label: dos\nstart=2048, size=131072, type=c\nstart=133120, size=65536, type=83\n"
LUKS = b"LUKS\xba\xbe\x00\x01" + b"".join(
    text.ljust(32, b"\0") for text in (b"aes", b"xts-plain64", b"sha256")
)
"""How a volume of LUKS, version 1, begins: its magic number, cipher, mode and hash."""


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    return debian_images.parts(tmp_path_factory.mktemp("parts"))


@pytest.fixture(scope="module")
def boot(parts: Parts, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A partition with kernel, initramfs and menu."""
    folder = tmp_path_factory.mktemp("boot")
    (folder / "files/extlinux").mkdir(parents=True)
    shutil.copy(parts.kernel, folder / "files/Image")
    shutil.copy(parts.initrd, folder / "files/initrd")
    (folder / "files/extlinux/extlinux.conf").write_text(debian_images.MENU)
    return image_builders.fat(folder / "boot.part", folder / "files", 64).read_bytes()


@pytest.fixture(scope="module")
def root(parts: Parts, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("root")
    return image_builders.ext4(folder / "root.part", parts.root, 32).read_bytes()


def refused(bootscope: Bootscope, *arguments: str | Path) -> str:
    """What is said of an image that does not boot; nothing is recorded then."""
    done = bootscope.run("record", *arguments)
    assert done.returncode == 2, done.stderr
    assert not list(bootscope.store.glob("runs/*"))
    return " ".join(done.stderr.split())


def kept(bootscope: Bootscope, told: dict[str, Any], phase: str) -> None:
    """What was recorded can be looked at, up to a phase."""
    assert bootscope.stream(told)
    assert bootscope.json("show")["phases"][-1]["name"] == phase
    assert bootscope.run("show", "--view", "console").returncode == 0


def test_a_kernel_for_another_architecture(bootscope: Bootscope, tmp_path: Path) -> None:
    other = debian_images.parts(tmp_path, debian_images.KINDS["riscv64"])
    said = refused(bootscope, other.kernel, other.initrd, *BOARD)
    assert "the image is for riscv64, the board virt-arm64 for arm64" in said
    assert "--board virt-riscv64" in said


def test_a_card_without_a_kernel(bootscope: Bootscope, root: bytes, tmp_path: Path) -> None:
    card = image_builders.disk(tmp_path / "card.img", 98, CARD, [(ROOT_AT, root)])
    said = refused(bootscope, card, *BOARD)
    assert "there is no kernel in it" in said
    assert "bootscope record IMAGE KERNEL" in said


def test_a_card_that_is_larger_than_cards_are(
    bootscope: Bootscope, boot: bytes, root: bytes, tmp_path: Path
) -> None:
    card = image_builders.disk(tmp_path / "card.img", 98, CARD, [(2048, boot), (ROOT_AT, root)])
    with card.open("r+b") as opened:
        opened.truncate(3 << 40)  # all of it a hole
    said = refused(bootscope, card, *BOARD)
    assert "the image has 3298.5 GB, and no card is larger than 2199.0 GB" in said
    assert "truncate the image after its last partition" in said


def test_a_table_of_partitions_that_lies(
    bootscope: Bootscope, boot: bytes, root: bytes, tmp_path: Path
) -> None:
    card = image_builders.disk(tmp_path / "card.img", 98, CARD, [(2048, boot), (ROOT_AT, root)])
    with card.open("r+b") as opened:
        opened.seek(446 + 16 + 12)  # how many sectors the second partition has
        assert opened.read(4) == struct.pack("<I", ROOT_SECTORS)
        opened.seek(-4, 1)
        opened.write(struct.pack("<I", 100 * ROOT_SECTORS))
    told = bootscope.json("record", card, *BOARD, "--until-text", "Run /init")
    assert any(
        "beyond the end of the image" in line and "is the image whole?" in line for line in told["notes"]
    )
    kept(bootscope, told, "init")


def test_an_encrypted_root(bootscope: Bootscope, boot: bytes, tmp_path: Path) -> None:
    card = image_builders.disk(
        tmp_path / "card.img", 98, CARD, [(2048, boot), (ROOT_AT, LUKS.ljust(1 << 20))]
    )
    told = bootscope.json("record", card, *BOARD)
    (note,) = (line for line in told["notes"] if "encrypted" in line)
    assert "give the root file system as the build made it, too" in note
    # The initramfs is not encrypted.
    assert told["until"] == "init"
    kept(bootscope, told, "init")


@pytest.mark.campaign
def test_a_kernel_that_is_compressed_twice(bootscope: Bootscope, parts: Parts, tmp_path: Path) -> None:
    image = tmp_path / "Image.gz.xz"
    image.write_bytes(lzma.compress(gzip.compress(parts.kernel.read_bytes(), 1), preset=0))
    told = bootscope.json("record", image, *BOARD, "--append", CONSOLE, "--until-text", "Linux version")
    assert any("xz, gzip: unpacked before the boot" in line for line in told["taken"])
    assert told["boots"][0]["reached_ns"]


def test_a_kernel_without_symbols(bootscope: Bootscope, parts: Parts, tmp_path: Path) -> None:
    data = bytearray(parts.kernel.read_bytes())
    # Of the table that all names are put together from; in other tables, all of ASCII goes on behind them.
    digits = b"".join(b"%d\0" % number for number in range(10))
    (found,) = re.finditer(digits + rb"(?!:\0;\0)", data)
    data[found.start() : found.end()] = bytes(len(digits))
    image = tmp_path / "Image"
    image.write_bytes(data)
    told = bootscope.json(
        "record", image, parts.initrd, *BOARD, "--append", CONSOLE, "--until-text", "Run /init as init"
    )
    (note,) = (line for line in told["notes"] if line.startswith("no symbols of the kernel"))
    assert "name its System.map or vmlinux, too" in note
    kept(bootscope, told, "kernel")


def test_a_kernel_that_panics_before_its_console(bootscope: Bootscope, parts: Parts) -> None:
    words = f"{CONSOLE} mem=40M"
    told = bootscope.json("record", parts.kernel, parts.initrd, *BOARD, "--append", words, status=3)
    assert told["boots"][0]["ended"] == "panic"
    (advice,) = told["advice"]
    assert advice.startswith("the kernel panicked before its console said anything: “")
    assert "--append earlycon" in advice
    # It is not waited for words that never come.
    shown = bootscope.json("show")
    assert shown["total_ns"] < 3_000_000_000
    kept(bootscope, told, "kernel")


@pytest.mark.campaign
def test_a_kernel_with_kaslr(bootscope: Bootscope, tmp_path: Path) -> None:
    """Behind a boot loader whose menu lets the kernel move itself."""
    card = Path(bootscope.json("build", "debian-amd64")["card"])
    data, fixed = card.read_bytes(), b"console=ttyS0,115200 nokaslr"
    assert data.count(fixed) == 1
    moving = tmp_path / "card.img"
    moving.write_bytes(data.replace(fixed, fixed.replace(b"nokaslr", b"       ")))
    told = bootscope.json(
        "record", moving, "--board", "q35", "--through", "firmware", "--until-text", "Run /init as init"
    )
    (advice,) = told["advice"]
    assert "none of its functions was seen" in advice and "(KASLR)" in advice
    assert "put nokaslr into the boot loader's menu" in advice
    assert told["boots"][0]["reached_ns"]
