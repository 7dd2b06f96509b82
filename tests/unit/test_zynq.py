# SPDX-License-Identifier: Apache-2.0
"""The board zynq: what stores of a boot of stock-zynq mean, where its boot loader lies, its device tree."""

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
from bootscope.builder.step import Context, Step
from bootscope.builder.steps import falcon
from bootscope.builder.steps.device_tree import device_tree_step
from bootscope.core.errors import UserError
from bootscope.devices.cadence_uart import CadenceUart
from bootscope.devices.model import ConsoleByte, Decoder, DeviceEvent, Media, StorageCommand
from bootscope.devices.on_chip_memory import OnChipMemory
from bootscope.devices.sdhci import Sdhci
from bootscope.emulator.plugin_config import Limits, watch
from bootscope.emulator.subject import Programs, watched
from bootscope.loaders.zynq import UBOOT_FILES
from bootscope.system.framebuffer import FrameBuffer
from bootscope.system.load import load_system, system_dir
from bootscope.techniques.model import technique

from .elf import Fn, arm, code

CONTROL, MODE, GENERATOR, FIFO, DIVIDER = 0x00, 0x04, 0x18, 0x30, 0x34
AT_115200_NS = 86_805
NEAREST_NS = 10 * 62 * 7 * 1_000_000_000 // 50_000_000


def port() -> CadenceUart:
    found = load_board("zynq").devices["uart1"]
    assert isinstance(found, CadenceUart)
    return found


def store(decoder: Decoder, stores: Sequence[tuple[int, int]]) -> list[DeviceEvent]:
    """Feeds (byte offset, value) pairs; the index of an event is that of its pair."""
    found = (decoder.store(i, offset, value) for i, (offset, value) in enumerate(stores))
    return [event for event in found if event]


def test_until_a_rate_is_set_the_profiles_counts() -> None:
    assert store(port().decoder("uart1", 0), [(FIFO, 0x55)]) == [ConsoleByte(0, "uart1", 0x55, AT_115200_NS)]


def test_the_spl_sets_the_rate_and_sends() -> None:
    stores = [(CONTROL, 0x17), (MODE, 0x20), (DIVIDER, 4), (GENERATOR, 0x57), (FIFO, 0x0D)]
    assert store(port().decoder("uart1", 0), stores) == [ConsoleByte(4, "uart1", 0x0D, 87_000)]


def test_linux_says_where_a_console_message_begins_and_ends_and_neither_is_sent() -> None:
    stores = [(0x0C, 0), (CONTROL, 0x14), (FIFO, 0x5B), (0x08, 0)]
    assert len(store(port().decoder("uart1", 0), stores)) == 1


def test_the_spl_reads_the_cards_registers_and_then_its_first_sector() -> None:
    """Byte by byte: it uses no DMA. The card's functions are data, and no place on it."""
    stores = [
        *[(0x04, 0x7040), (0x06, 1), (0x0C, 0x12), (0x08, 0x80FFFFF1), (0x0E, 0x063A), (0x30, 1)],
        *[(0x08, 0x200), (0x0E, 0x101A), (0x30, 1), (0x2E, 0x0E)],
        *[(0x04, 0x7200), (0x06, 1), (0x0C, 0x12), (0x08, 0), (0x0E, 0x113A), (0x30, 1), (0x30, 0x30)],
    ]
    assert store(load_board("zynq").storage_device.decoder("sd0", 1 << 27), stores) == [
        StorageCommand(4, "sd0", 6, None, 64, False),
        StorageCommand(14, "sd0", 17, 0, 512, False),
    ]


def test_a_port_that_divides_by_eight_first_is_eight_times_as_slow() -> None:
    stores = [(GENERATOR, 62), (DIVIDER, 6), (FIFO, 1), (MODE, 0x21), (FIFO, 2)]
    found = store(port().decoder("uart1", 0), stores)
    times = [event.byte_ns for event in found if isinstance(event, ConsoleByte)]
    assert times == [NEAREST_NS, 10 * 8 * 62 * 7 * 1_000_000_000 // 50_000_000]


@pytest.mark.parametrize(("mode", "sent"), [(0x020, 1), (0x120, 1), (0x220, 0)])
def test_a_byte_in_local_loopback_is_not_on_the_line(mode: int, sent: int) -> None:
    assert len(store(port().decoder("uart1", 0), [(MODE, mode), (FIFO, 0x41)])) == sent


@pytest.mark.parametrize("stores", [[(GENERATOR, 0), (DIVIDER, 6)], [(GENERATOR, 62), (DIVIDER, 3)]])
def test_divisors_that_do_not_count_leave_the_rate_as_it_is(stores: list[tuple[int, int]]) -> None:
    found = store(port().decoder("uart1", 0), [*stores, (FIFO, 0x41)])
    assert found == [ConsoleByte(2, "uart1", 0x41, AT_115200_NS)]


def test_the_nearest_rate_that_the_port_can_make() -> None:
    byte_ns, real = port().at_rate(115_200)
    assert abs(real - 115_200) < 115_200 // 1000
    assert byte_ns == pytest.approx(10 * 1e9 / real, rel=1e-4)
    twice = port().with_rates(lambda s: msgspec.structs.replace(s, value=s.value * 2))
    assert (twice.clock_hz.value, twice.at_rate(230_400)[0]) == (100_000_000, byte_ns // 2)


def test_what_qemu_is_told_of_the_board() -> None:
    board = load_board("zynq")
    words = machine_arguments(board, Media(Path("/a,b/sd.img"), loader=Path("/c,d/spl.bin")))
    # The console is the second port.
    assert words[words.index("-serial") :][:4] == ["-serial", "null", "-serial", "null"]
    assert "if=sd,index=0,format=raw,file=/a,,b/sd.img,snapshot=on" in words
    assert "loader,file=/c,,d/spl.bin,addr=0x0,cpu-num=0,force-raw=on" in words
    memory = OnChipMemory(base=0, size=1)
    assert memory.firmware_arguments(Media(Path("sd.img"))) == ()
    assert isinstance(board.storage_device, Sdhci)


def mine(tmp_path: Path, name: str, old: str, new: str) -> str:
    """A system that is changed in one place."""
    text = (system_dir() / f"{name}.toml").read_text()
    assert old in text
    (tmp_path / "stock").symlink_to(system_dir() / "stock")
    path = tmp_path / "mine.toml"
    path.write_text(text.replace(old, new))
    return str(path)


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("stock-zynq", "loader_sector = 0", "loader_sector = 16", "expected 0: zynq looks for files"),
        ("stock", "loader_sector = 16", "loader_sector = 0", "expected 1 or more: the chip of cubieboard"),
    ],
)
def test_a_boot_loader_where_the_board_does_not_look_is_refused(
    tmp_path: Path, name: str, old: str, new: str, said: str
) -> None:
    loaded = load_system(mine(tmp_path, name, old, new))
    with pytest.raises(UserError, match=re.escape(f"card.loader_sector: {said}")):
        steps_of(loaded, {source: Resolved("", "00", "", "") for source in loaded.system.sources})


def test_the_spl_is_in_memory_and_both_programs_are_files_of_the_card() -> None:
    loaded = load_system("stock-zynq")
    results = {
        step.name: Path(f"/{step.name}")
        for step in steps_of(loaded, dict.fromkeys(loaded.system.sources, Resolved("", "00", "", "")))
    }
    media = Built("", {}, results, {}).media(loaded.system, UBOOT_FILES)
    assert (media.card, media.loader) == (Path("/card/sd.img"), Path("/uboot/u-boot-spl.bin"))
    assert UBOOT_FILES.boot_images == ("spl/u-boot-spl.bin", "spl/boot.bin", "u-boot.img")
    assert UBOOT_FILES.phases[:4] == ("rom", "spl", "bootloader", "load")


def kernel_start(size: int) -> str:
    """The hook at the kernel's first instruction, with an SPL of so many bytes from address 0 on."""
    machine, system = load_board("zynq"), load_system("stock-zynq").system
    spl = code(Fn("board_init_f", arm(*[0] * (size // 4))), base=0)
    uboot = code(Fn("relocate_code", arm(0xE12FFF1E)), base=0x4000000)
    kernel = code(Fn("kernel_execve", arm(0xE12FFF1E)), base=0xC0008000)
    programs = Programs({"spl": spl, "uboot": uboot}, kernel, {})
    made = watch(machine, watched(system, machine), programs, "init", Path("/frame.raw"), Limits())
    (number,) = made.numbers("kernel.start")
    (line,) = [line for line in made.text().splitlines() if line.startswith(f"hook {number} ")]
    return line.partition(f"hook {number} ")[2]


def test_the_kernel_is_told_from_the_spl_that_ran_in_its_place() -> None:
    """What unpacked it jumps to it by r4; without anything there before, its address is enough."""
    assert kernel_start(0x10000) == "0x8000 once if r4 0x8000"
    assert kernel_start(0x8000) == "0x8000 once"


SCREEN = FrameBuffer(
    address=0x1F000000, width=800, height=480, stride_bytes=3200, format="a8r8g8b8", reserved_bytes=0x200000
)
CELLS = "#address-cells = <1>; #size-cells = <1>;"
NODES = f"{CELLS} ranges;"


def work(tmp_path: Path, step: Step, before: str, file: str, text: str) -> None:
    """Lets a step work on a device tree, which is a file of the step before it."""
    for name in (before, "scratch", "out"):
        (tmp_path / name).mkdir()
    blob = tmp_path / before / file
    subprocess.run(["dtc", "-q", "-O", "dtb", "-o", blob, "-"], input=text, text=True, check=True)
    places = ({before: tmp_path / before}, tmp_path / "scratch", tmp_path / "out")
    step.work(Context(*places, Cache(tmp_path / "cache"), Progress(), 1, False))


def with_screen(tmp_path: Path, chosen: str, rest: str = "") -> bytes:
    """The device tree of a board, its blob, after the step that adds the frame buffer."""
    text = f"/dts-v1/; / {{ {CELLS} chosen {{ {chosen} }}; {rest} }};"
    work(tmp_path, device_tree_step(SCREEN), "kernel", "unchanged.dtb", text)
    return (tmp_path / "out/board.dtb").read_bytes()


def property_of(tmp_path: Path, node: str, name: str) -> str:
    blob = tmp_path / "out/board.dtb"
    return subprocess.run(
        ["fdtget", "-t", "x", blob, node, name], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_a_tree_without_places_for_a_frame_buffer_gets_them(tmp_path: Path) -> None:
    """Linux does not look into such nodes unless they say how their children's addresses are written."""
    with_screen(tmp_path, 'bootargs = "";')
    for node in ("/chosen", "/reserved-memory"):
        assert [
            property_of(tmp_path, node, name) for name in ("#address-cells", "#size-cells", "ranges")
        ] == ["1", "1", ""]
        assert property_of(tmp_path, f"{node}/framebuffer@1f000000", "reg").startswith("1f000000 ")


def test_a_tree_that_has_them_is_added_to_only(tmp_path: Path) -> None:
    there = with_screen(tmp_path, NODES, f"reserved-memory {{ {NODES} }};")
    assert there.count(b"#address-cells\0") == 1
    assert there.count(b"framebuffer@1f000000") == 2


def test_falcon_mode_sets_the_memory_that_the_tree_has_already(tmp_path: Path) -> None:
    memory = 'memory@0 { device_type = "memory"; reg = <0 0x1000>; };'
    step = falcon.step(load_system("stock-zynq").system)
    text = f"/dts-v1/; / {{ {CELLS} chosen {{ }}; {memory} }};"
    work(tmp_path, step, "device-tree", "board.dtb", text)
    made = (tmp_path / "out/falcon.dtb").rename(tmp_path / "out/board.dtb")
    assert made.read_bytes().count(b"memory@") == 1
    assert property_of(tmp_path, "/memory@0", "reg") == "0 40000000"


def test_an_spl_without_a_serial_line_loads_no_fpga() -> None:
    """It would not link: the loader asks whether a key was pressed."""
    change = technique("falcon-fat").recipes["files"].change
    assert change.uboot["SPL_SERIAL"] is False
    assert change.uboot["SPL_FPGA"] is False
