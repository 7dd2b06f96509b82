# SPDX-License-Identifier: Apache-2.0
"""The board imx8mp-evk: what stores of a boot of debian-imx8mp mean, and a boot without a boot loader."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from bootscope.boards.machine import machine_arguments
from bootscope.boards.profile import load_board
from bootscope.builder.cache import Cache
from bootscope.builder.plan import Built, steps_of
from bootscope.builder.progress import Progress
from bootscope.builder.sources import Resolved
from bootscope.builder.step import Context
from bootscope.builder.steps.device_tree import device_tree_step
from bootscope.changes.impossible import impossible
from bootscope.core.errors import UserError
from bootscope.devices.imx_uart import ImxUart
from bootscope.devices.model import ConsoleByte, Decoder, DeviceEvent, StorageCommand
from bootscope.inventory.inventory import Inventory, Part
from bootscope.loaders.direct import DIRECT
from bootscope.system.changes import Change
from bootscope.system.framebuffer import FrameBuffer
from bootscope.system.load import load_system, system_dir

DATA, FIFO, NUMERATOR, DENOMINATOR, TEST = 0x40, 0x90, 0xA4, 0xA8, 0xB4
AT_115200_NS = 86_805
RATE = [(FIFO, 8192), (FIFO, 8960), (NUMERATOR, 335), (DENOMINATOR, 624)]
"""As Linux sets 115,200 baud: the clock divided by 7, and multiplied with 336/625."""


def port() -> ImxUart:
    found = load_board("imx8mp-evk").devices["uart2"]
    assert isinstance(found, ImxUart)
    return found


def store(decoder: Decoder, stores: Sequence[tuple[int, int]]) -> list[DeviceEvent]:
    """Feeds (byte offset, value) pairs; the index of an event is that of its pair."""
    found = (decoder.store(i, offset, value) for i, (offset, value) in enumerate(stores))
    return [event for event in found if event]


def byte_times(stores: Sequence[tuple[int, int]]) -> list[int]:
    events = store(port().decoder("uart2", 0), stores)
    return [event.byte_ns for event in events if isinstance(event, ConsoleByte)]


def test_linux_sets_the_rate_and_sends() -> None:
    stores = [(0x80, 1), (0x84, 16421), *RATE, (0xB0, 3428), (DATA, 0x5B)]
    assert store(port().decoder("uart2", 0), stores) == [ConsoleByte(7, "uart2", 0x5B, AT_115200_NS)]


def test_until_a_rate_is_set_the_profiles_counts() -> None:
    assert byte_times([(DATA, 0x55)]) == [AT_115200_NS]


@pytest.mark.parametrize(("field", "divided_by"), [(0, 6), (4, 2), (5, 1), (6, 7)])
def test_the_clock_is_divided_as_the_manual_says(field: int, divided_by: int) -> None:
    stores = [(FIFO, field << 7), (NUMERATOR, 15), (DENOMINATOR, 1249), (DATA, 1)]
    # 16/1250 of the clock, 16 times a bit: 10 bits are 12,500 cycles of the divided clock.
    assert byte_times(stores) == [12_500 * divided_by * 1_000_000_000 // 24_000_000]


def test_a_byte_that_is_looped_back_is_not_on_the_line() -> None:
    assert byte_times([(TEST, 0x1060), (DATA, 1), (TEST, 0x60), (DATA, 2)]) == [AT_115200_NS]


def test_the_nearest_rate_that_the_port_can_make() -> None:
    assert port().at_rate(115_200) == (AT_115200_NS, 115_200)
    twice = port().with_rates(lambda s: msgspec.structs.replace(s, value=s.value * 2))
    assert (twice.clock_hz.value, twice.at_rate(230_400)[1]) == (48_000_000, 230_400)
    assert port().linux_name == "ttymxc1"


def test_what_a_command_does_is_told_before_it_and_stays() -> None:
    """Linux reads the card's first sectors, ends that, and asks for the card's state."""
    stores = [
        *[(0x04, 0x200), (0x04, 0x87200), (0x08, 0), (0x48, 0x33), (0x0C, 0x123A0000), (0x30, 3)],
        *[(0x08, 0), (0x48, 0), (0x28, 0x22), (0x0C, 0xCDA0000), (0x30, 1)],
        *[(0x08, 0xF6EB0000), (0x0C, 0xD1A0000)],
    ]
    assert store(load_board("imx8mp-evk").storage_device.decoder("usdhc2", 1 << 27), stores) == [
        StorageCommand(4, "usdhc2", 18, 0, 4096, False)
    ]


def test_a_command_that_writes_one_block() -> None:
    stores = [(0x04, 0x87200), (0x08, 0x4100200), (0x48, 0x1), (0x0C, 0x183A0000)]
    assert store(load_board("imx8mp-evk").storage_device.decoder("usdhc2", 1 << 27), stores) == [
        StorageCommand(3, "usdhc2", 24, 0x4100200 // 512, 512, True)
    ]


def unresolved(name: str) -> dict[str, Resolved]:
    return dict.fromkeys(load_system(name).system.sources, Resolved("", "00", "", ""))


def test_the_emulator_is_given_kernel_initramfs_and_device_tree() -> None:
    loaded, board = load_system("debian-imx8mp"), load_board("imx8mp-evk")
    steps = [step.name for step in steps_of(loaded, unresolved("debian-imx8mp"))]
    assert not {"uboot", "firmware"} & set(steps)
    media = Built("", {}, {name: Path(f"/{name}") for name in steps}, {}).media(loaded.system, DIRECT)
    words = machine_arguments(board, media)
    for option, value in (
        ("-kernel", "/kernel/Image"),
        ("-initrd", "/initramfs/initrd"),
        ("-dtb", "/device-tree/board.dtb"),
        ("-append", loaded.system.kernel.command_line),
        ("-smp", "1"),
    ):
        assert words[words.index(option) + 1] == value
    assert words[words.index("-serial") :][:4] == ["-serial", "null", "-serial", "null"]
    assert "if=sd,bus=1,format=raw,file=/card/sd.img,snapshot=on" in words
    assert board.boot_loader.phases == ("rom", "kernel", "init", "application")


def test_another_command_line_is_another_build() -> None:
    """It is on no card, and yet a part of what boots."""
    loaded = load_system("debian-imx8mp")
    kernel = msgspec.structs.replace(loaded.system.kernel, command_line="quiet")
    other = msgspec.structs.replace(loaded.system, kernel=kernel)
    cards = [
        next(step for step in steps_of(one, unresolved("debian-imx8mp")) if step.name == "card").inputs
        for one in (loaded, type(loaded)(other, loaded.path))
    ]
    assert cards[0] != cards[1]


def mine(tmp_path: Path, name: str, *changes: tuple[str, str]) -> str:
    """A system that is changed in some places."""
    text = (system_dir() / f"{name}.toml").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    for folder in ("stock", "debian"):
        (tmp_path / folder).symlink_to(system_dir() / folder)
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("name", "board", "said"),
    [
        ("debian-imx8mp", ("imx8mp-evk", "virt-arm64"), "has no boot loader, and virt-arm64 needs"),
        ("debian-arm64", ("virt-arm64", "imx8mp-evk"), "has a boot loader, and the emulator itself starts"),
    ],
)
def test_a_board_that_boots_in_another_way_is_refused(
    tmp_path: Path, name: str, board: tuple[str, str], said: str
) -> None:
    old, new = (f'board = "{one}"' for one in board)
    loaded = load_system(mine(tmp_path, name, (old, new)))
    with pytest.raises(UserError, match=re.escape(said)):
        steps_of(loaded, unresolved(name))


@pytest.mark.parametrize(
    "changed",
    [
        ("loader_sector = 0", "loader_sector = 16"),
        ("[kernel]\n", '[uboot]\nscript = "boot"\n\n[kernel]\n'),
    ],
)
def test_what_is_set_up_for_a_boot_loader_needs_one(tmp_path: Path, changed: tuple[str, str]) -> None:
    with pytest.raises(UserError, match=r"uboot\.source: expected a name under \[sources\]"):
        load_system(mine(tmp_path, "debian-imx8mp", changed))


@pytest.mark.parametrize(
    "change",
    [
        Change(uboot={"BOOTDELAY": 0}),
        Change(settings={"uboot.falcon": True, "card.raw_sector": 4096}),
        Change(settings={"kernel.packed": "lz4"}),
    ],
)
def test_what_is_a_boot_loaders_cannot_be_tried(change: Change) -> None:
    def reasons(source: str) -> list[str]:
        settings = {"uboot.source": source}
        return list(impossible(change, Inventory(parts=frozenset({Part.SETTINGS}), settings=settings)))

    assert reasons("") == ["it has no boot loader: the emulator starts the kernel"]
    assert not reasons("uboot")


def test_addresses_in_a_device_tree_have_as_many_words_as_it_says(tmp_path: Path) -> None:
    for name in ("kernel", "scratch", "out"):
        (tmp_path / name).mkdir()
    cells = "#address-cells = <2>; #size-cells = <2>;"
    reserved = f"reserved-memory {{ {cells} ranges; }};"
    text = f'/dts-v1/; / {{ {cells} chosen {{ bootargs = ""; }}; {reserved} }};'
    blob = tmp_path / "kernel/unchanged.dtb"
    subprocess.run(["dtc", "-q", "-O", "dtb", "-o", blob, "-"], input=text, text=True, check=True)
    context = Context(
        {"kernel": tmp_path / "kernel"},
        *(tmp_path / "scratch", tmp_path / "out", Cache(tmp_path / "cache"), Progress(), 1, False),
    )
    address = 0x1_5F00_0000
    screen = FrameBuffer(
        address=address, width=800, height=480, stride_bytes=3200, format="a8r8g8b8", reserved_bytes=0x200000
    )
    device_tree_step(screen).work(context)
    for node, size in (("/chosen", "177000"), ("/reserved-memory", "200000")):
        place = f"{node}/framebuffer@{address:x}"
        found = ["fdtget", "-t", "x", str(tmp_path / "out/board.dtb"), place, "reg"]
        done = subprocess.run(found, capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["1", "5f000000", "0", size]
