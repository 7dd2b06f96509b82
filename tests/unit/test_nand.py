# SPDX-License-Identifier: Apache-2.0
"""The raw NAND chip: its sizes, the code beside its pages, its array as a file, the steps that fill it."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import msgspec
import pytest

from bootscope.boards.machine import machine_arguments
from bootscope.boards.profile import load_board
from bootscope.builder.cache import Cache
from bootscope.builder.nand import array, hamming
from bootscope.builder.plan import outlook
from bootscope.builder.progress import Progress
from bootscope.builder.step import Context
from bootscope.builder.steps import kernel_tree, nand_flash, rootfs
from bootscope.builder.steps.device_tree import device_tree_step
from bootscope.core.errors import ToolError, UserError
from bootscope.core.settings import Sourced
from bootscope.devices.model import Media
from bootscope.system.changes import Change, apply
from bootscope.system.load import LoadedSystem, check_system, load_system
from bootscope.system.model import System
from bootscope.system.nand import Nand

from .test_zynq import CELLS, property_of, work

NS = Sourced(value=1, source="test")
SMALL = Nand(
    part="small", address=0x1000, identity="2cda801550", blocks=16, page_bytes=2048, spare_bytes=64,
    erase_bytes=4096, read_ns=NS, program_ns=NS, erase_ns=NS, cycle_ns=NS, partitions={"root": (1, 8)},
    bad_blocks=(2, 5),
)  # fmt: skip
PAGE = SMALL.raw_page_bytes


def changed(**settings: object) -> LoadedSystem:
    loaded = load_system("stock-nand")
    told = {f"nand.{name}": value for name, value in settings.items()}
    system = apply(loaded.system, {"it": Change(settings=told)})  # type: ignore[arg-type]
    return LoadedSystem(system, loaded.path)


# ---- the code ----


@pytest.mark.parametrize("byte", [0, 1, 2, 77, 128, 255])
@pytest.mark.parametrize("bit", range(8))
def test_the_code_tells_which_bit_was_flipped(byte: int, bit: int) -> None:
    data = random.Random(byte).randbytes(hamming.STEP_BYTES)
    read = bytearray(data)
    read[byte] ^= 1 << bit
    kept, now = hamming.code(data), hamming.code(bytes(read))
    high, low, columns = (one ^ other for one, other in zip(kept, now, strict=True))
    # The odd bits of what differs are the number of the byte, and of the bit in it.
    number = sum(((high << 8 | low) >> 2 * place + 1 & 1) << place for place in range(8))
    assert (number, sum((columns >> 2 * place + 3 & 1) << place for place in range(3))) == (byte, bit)
    assert sum(value.bit_count() for value in (high, low, columns)) == 11


def test_what_is_erased_has_an_erased_code() -> None:
    assert hamming.spare(b"\xff" * 2048, 64) == b"\xff" * 64


def test_the_code_lies_where_linux_has_it() -> None:
    spare = hamming.spare(bytes(2047) + b"\1", 64)
    assert spare[:40] == b"\xff" * 40
    assert spare[40:43] == b"\xff\xff\xff"
    assert spare[61:64] != b"\xff\xff\xff"
    assert len(hamming.spare(bytes(4096), 128)) == 128


# ---- the array ----


def segments(path: Path) -> list[tuple[int, bytes]]:
    """(physical address, bytes) of an ELF file's segments."""
    data = path.read_bytes()
    (at,), (count,) = struct.unpack_from("<I", data, 28), struct.unpack_from("<H", data, 44)
    found = []
    for number in range(count):
        _, offset, _, place, size, _, _, _ = struct.unpack_from("<8I", data, at + 32 * number)
        found.append((place, data[offset : offset + size]))
    return found


def test_a_chip_is_written_inverted_and_read_back(tmp_path: Path) -> None:
    blocks = {1: bytes(range(256)) * 8 + b"\xff" * 2048, 3: b"some"}
    rows = array.programmed(SMALL, blocks)
    assert sorted(rows) == [2, 4, 5, 6, 10, 11]
    array.write(SMALL, rows, tmp_path / "elf")
    memory = tmp_path / "memory"
    with memory.open("wb") as f:
        f.truncate(1 << 20)
        for place, data in segments(tmp_path / "elf"):
            f.seek(place)
            f.write(data)
    assert [place for place, _ in segments(tmp_path / "elf")] == [0x1000 + PAGE * row for row in (2, 4, 10)]
    assert array.read_memory(SMALL, memory, 0) == rows
    assert rows[6] == b"some".ljust(2048, b"\xff") + hamming.spare(b"some".ljust(2048, b"\xff"), 64)


def test_bad_blocks_are_marked_in_their_first_two_pages() -> None:
    rows = array.programmed(SMALL, {})
    assert sorted(rows) == [4, 5, 10, 11]
    assert all(row[2048] == 0 and row.count(0) == 1 for row in rows.values())


def test_a_bit_that_is_flipped() -> None:
    worn = msgspec.structs.replace(SMALL, flipped_bits=((1, 0, 9), (3, 1, 0)))
    rows, whole = array.programmed(worn, {1: b"some"}), array.programmed(SMALL, {1: b"some"})
    assert rows[2][:4] == b"sm"[:1] + bytes((b"o"[0] ^ 2,)) + b"me"
    assert rows[2][2048:] == whole[2][2048:]
    assert rows[7] == b"\xfe".ljust(PAGE, b"\xff")


# ---- the steps ----


def filled(tmp_path: Path, data: bytes) -> Path:
    """The content of SMALL as the step writes it, with `data` as the root."""
    loaded = changed()
    system = msgspec.structs.replace(loaded.system, nand=SMALL)
    for name in ("rootfs", "scratch", "out"):
        (tmp_path / name).mkdir()
    (tmp_path / "rootfs" / rootfs.IMAGE).write_bytes(data)
    places = ({"rootfs": tmp_path / "rootfs"}, tmp_path / "scratch", tmp_path / "out")
    first = nand_flash.steps(system, SMALL, load_board("cubieboard"))[0]
    first.work(Context(*places, Cache(tmp_path / "cache"), Progress(), 1, False))
    return tmp_path / "out" / nand_flash.IMAGE


def test_the_root_goes_round_bad_blocks_and_the_rest_is_known_to_be_erased(tmp_path: Path) -> None:
    chip = bytearray(b"\xff" * SMALL.array_bytes)
    for place, data in segments(filled(tmp_path, b"a" * 4096 + b"b" * 4096)):
        at = place - SMALL.address
        chip[at : at + len(data)] = bytes(255 - one for one in data)
    first = [bytes(chip[SMALL.raw_block_bytes * block :][:4]) for block in range(10)]
    bad = b"\xff" * 4
    assert first == [bad, b"aaaa", bad, b"bbbb", b"UBI#", bad, *[b"UBI#"] * 3, bad]
    assert chip[2 * SMALL.raw_block_bytes + 2048] == chip[5 * SMALL.raw_block_bytes + 2048] == 0


def test_a_root_that_does_not_fit_its_good_blocks(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="takes 7 erase blocks, the partition 'root' has 6 good"):
        filled(tmp_path, bytes(6 * 4096 + 1))


def test_the_steps_of_a_system_with_a_chip(tmp_path: Path) -> None:
    planned = {step.name: step for step in outlook(changed(), Cache(tmp_path)).planned()}
    assert planned["card"].needs == ("boot-card", "nand", "plugin")
    assert planned["kernel"].needs == ("unpack-linux-nand",)
    assert "rootfs" not in planned["boot-card"].needs
    without = {step.name: step for step in outlook(changed(boots_before=0), Cache(tmp_path)).planned()}
    assert without["card"].needs == ("boot-card", "nand")
    assert "plugin" not in without


def test_other_systems_have_the_kernel_tree_as_it_is() -> None:
    assert kernel_tree.source_of(load_system("stock").system) == "linux"
    assert kernel_tree.source_of(load_system("stock-nand").system) == "linux-nand"


def test_a_kernel_without_a_place_for_the_driver(tmp_path: Path) -> None:
    for name in ("linux/tree", "scratch", "out"):
        (tmp_path / name).mkdir(parents=True)
    places = ({"unpack-linux": tmp_path / "linux"}, tmp_path / "scratch", tmp_path / "out")
    step = kernel_tree.step(load_system("stock-nand").system)
    with pytest.raises(ToolError, match="no drivers/mtd/nand/raw/Kconfig"):
        step.work(Context(*places, Cache(tmp_path / "cache"), Progress(), 1, False))


def test_the_device_tree_has_controller_chip_and_partitions(tmp_path: Path) -> None:
    node, table = SMALL.chip_node, {f"{SMALL.chip_node} nand-on-flash-bbt": "true"}
    step = device_tree_step(None, (), table, SMALL)
    work(tmp_path, step, "kernel", "unchanged.dtb", f"/dts-v1/; / {{ {CELLS} chosen {{ }}; }};")
    assert property_of(tmp_path, f"{node}/partitions/partition@1000", "reg") == "1000 8000"
    assert property_of(tmp_path, node, "nand-on-flash-bbt") == ""
    size = SMALL.array_bytes
    assert property_of(tmp_path, SMALL.controller_node, "reg") == f"1000 {size:x}"
    assert property_of(tmp_path, "/reserved-memory/nand@1000", "reg") == f"1000 {size:x}"


def test_qemu_puts_the_content_into_memory() -> None:
    words = machine_arguments(load_board("cubieboard"), Media(Path("/c"), nand=Path("/a,b")))
    assert words[words.index("loader,file=/a,,b") - 1] == "-device"


# ---- what is refused ----


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"erase_bytes": 131071}, "nand.erase_bytes: expected a multiple of the page, 2,048 bytes"),
        ({"page_bytes": 512}, "nand.page_bytes"),
        ({"identity": "2cda"}, "nand.identity"),
        ({"bad_blocks": (2048,)}, "nand.bad_blocks: expected blocks of the chip, 0 to 2047"),
        ({"erase_bytes": 262144}, "nand.identity: .* fourth byte says .2048, 64, 131072"),
        ({"root": "system"}, "nand.root: expected a name under nand.partitions, got 'system'"),
        ({"partitions.root": (0, 2048)}, "blocks that end before 2044, got 2048"),
        ({"partitions.more": (9, 1)}, "nand.partitions.more"),
        ({"partitions.a-b": (9, 1)}, "nand.partitions.a-b"),
        ({"flipped_bits": ((0, 64, 0),)}, r"nand.flipped_bits: expected .*got \(0, 64, 0\)"),
        ({"boots_before": 9}, "nand.boots_before"),
    ],
)
def test_sizes_that_do_not_fit(settings: dict[str, object], told: str) -> None:
    with pytest.raises(UserError, match=told):
        check_system(changed(**settings).system, Path("it.toml"))


def refused(system: System) -> str:
    nand = system.nand
    assert isinstance(nand, Nand)
    with pytest.raises(UserError) as caught:
        nand_flash.check(system, nand, load_board("cubieboard"))
    return caught.value.message


def test_a_chip_that_is_larger_than_its_memory_and_one_in_the_frame_buffer() -> None:
    assert "0x60000000 to 0x81000000" in refused(changed(blocks=4096).system)
    assert "frame buffer" in refused(changed(address=0x50000000).system)


def test_a_root_that_needs_a_disk() -> None:
    system = changed().system
    other = msgspec.structs.replace(system.rootfs, filesystem="ext4")
    assert "ext4 cannot be in the NAND chip" in refused(msgspec.structs.replace(system, rootfs=other))
