# SPDX-License-Identifier: Apache-2.0
"""The board vexpress-a9: what stores to its flash and loads from it mean, and what does not fit it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from bootscope.boards.machine import machine_arguments
from bootscope.boards.profile import Board, load_board
from bootscope.builder.plan import steps_of
from bootscope.builder.sources import Resolved
from bootscope.capture.stream import Decoder as StreamDecoder
from bootscope.capture.stream import Hook, Kind, Read, Record
from bootscope.core.errors import UserError
from bootscope.devices.cfi_nor import ERASE, PROGRAM, READ, CfiNor
from bootscope.devices.model import Decoder, DeviceEvent, Media, MemoryDecoder, StorageCommand
from bootscope.emulator.plugin_config import Watch, add_devices
from bootscope.system.load import LoadedSystem, load_system, system_dir
from bootscope.timeline.build import decode
from bootscope.timeline.costs import CostModel

WORD_NS, NEXT_NS = 100, 20
"""An access of its own, and one of a burst."""


def flash() -> CfiNor:
    found = load_board("vexpress-a9").devices["flash0"]
    assert isinstance(found, CfiNor)
    return found


def decoder() -> MemoryDecoder:
    found = flash().decoder("flash0", 0)
    assert isinstance(found, MemoryDecoder)
    return found


def store(decoder: Decoder, stores: Sequence[tuple[int, int]]) -> list[DeviceEvent]:
    """Feeds (byte offset, value) pairs; the index of an event is that of its pair."""
    found = (decoder.store(i, offset, value) for i, (offset, value) in enumerate(stores))
    return [event for event in found if event]


def board_with(card_class: str) -> Board:
    return msgspec.structs.replace(load_board("vexpress-a9"), card_class=card_class)


def cost_ns(board: Board, events: Sequence[DeviceEvent]) -> int:
    model = CostModel(board)
    return sum(model.add(event, 0) for event in events)


# ---- what is read ----


def test_a_read_is_as_many_accesses_as_there_were() -> None:
    """Bytes one by one move four each: the bus has no other width."""
    found = decoder().read(7, 0x800000, 4, 4)
    assert found == StorageCommand(7, "flash0", READ, 16384, 16, False)
    assert cost_ns(load_board("vexpress-a9"), [found]) == 4 * WORD_NS


def test_records_that_divide_a_read_do_not_change_what_it_costs() -> None:
    one, parts = decoder(), decoder()
    whole = [one.read(0, 0x100, 4096, 1024)]
    divided = [parts.read(i, 0x100 + at, 64, 16) for i, at in enumerate(range(0, 4096, 64))]
    for name in ("asynchronous", "synchronous"):
        assert cost_ns(board_with(name), whole) == cost_ns(board_with(name), divided)


def test_a_burst_pays_for_its_begin_and_a_read_elsewhere_begins_another_one() -> None:
    flash = decoder()
    reads = [flash.read(0, 0, 4096, 1024), flash.read(1, 4096, 4, 1), flash.read(2, 64, 4, 1)]
    board = board_with("synchronous")
    assert [cost_ns(board, [event]) for event in reads] == [
        WORD_NS + 1024 * NEXT_NS,
        NEXT_NS,
        WORD_NS + NEXT_NS,
    ]
    assert cost_ns(load_board("vexpress-a9"), reads) == 1026 * WORD_NS


def test_loads_of_a_recording_become_reads() -> None:
    """As the plugin writes them: type, size, distance in time, and four numbers."""
    payload = bytes([3, 0x80, 0x80, 0x04, 0x20, 0x08])
    stream = bytes([Kind.READ, len(payload), 0x14]) + payload
    (record,) = StreamDecoder().feed(stream)
    assert record == Read(10, 3, 0x10000, 32, 8)
    records: list[Record] = [Hook(5, 1, (), b""), record]
    assert list(decode(records, {3: decoder()})) == [StorageCommand(1, "flash0", READ, 128, 32, False)]
    # A device that is not read as memory knows nothing of it.
    assert not list(decode(records, {3: load_board("vexpress-a9").devices["uart0"].decoder("uart0", 0)}))


def test_a_recording_cut_inside_a_read_ends_before_it() -> None:
    stream = bytes([Kind.READ, 6, 0x14, 3, 0x80, 0x80])
    assert not list(StreamDecoder().feed(stream))


# ---- what is written ----


def test_linux_asks_what_it_is_and_nothing_is_written() -> None:
    stores = [(0, 0xF0F0F0F0), (0x154, 0x00980098), (0, 0x00FF00FF), (0, 0x00500050), (0, 0x00700070)]
    assert not store(decoder(), stores)


@pytest.mark.parametrize("command", [0x00400040, 0x00100010])
def test_one_word(command: int) -> None:
    found = store(decoder(), [(0x400, command), (0x400, 0x12345678), (0x400, 0x00FF00FF)])
    assert found == [StorageCommand(1, "flash0", PROGRAM, 2, 4, True)]
    assert cost_ns(load_board("vexpress-a9"), found) == 4 * 3_500


def test_a_buffer_with_data_that_look_like_commands() -> None:
    stores = [
        *[(0x40000, 0x00E800E8), (0x40000, 0x00020002)],
        *[(0x40400, 0x00E800E8), (0x40404, 0x00200020), (0x40408, 0x00D000D0), (0x40400, 0x00D000D0)],
        (0x40000, 0x00700070),
    ]
    assert store(decoder(), stores) == [StorageCommand(5, "flash0", PROGRAM, 0x40400 // 512, 12, True)]


def test_a_buffer_that_is_asked_for_twice_and_one_that_is_not_confirmed() -> None:
    asked = [(0, 0x00E800E8), (0, 0x00E800E8), (0, 0), (0, 1)]
    assert len(store(decoder(), [*asked, (0, 0x00D000D0)])) == 1
    assert not store(decoder(), [*asked, (0, 0x00FF00FF)])


def test_a_block_that_is_erased_and_one_that_is_not() -> None:
    found = store(decoder(), [(0x7FFFC, 0x00200020), (0x7FFFC, 0x00D000D0)])
    assert found == [StorageCommand(1, "flash0", ERASE, 512, 0x40000, True)]
    assert cost_ns(load_board("vexpress-a9"), found) == 1_000_000_000
    assert not store(decoder(), [(0, 0x00200020), (0, 0x00FF00FF), (0, 0x00D000D0)])


# ---- the machine ----


def test_what_qemu_and_the_plugin_are_told() -> None:
    board = load_board("vexpress-a9")
    words = machine_arguments(board, Media(Path("/a,b/sd.img"), kernel=Path("/k"), device_tree=Path("/t")))
    assert "if=pflash,unit=0,format=raw,file=/a,,b/sd.img,snapshot=on" in words
    assert words[words.index("-kernel") :][:2] == ["-kernel", "/k"]
    watch = Watch()
    add_devices(watch, board)
    assert watch.lines[-3:] == [
        *("io 2 0x40000000 0x4000000", "flash 2 4"),
        "flash-cache 32768 4 32 0xe0000000 vexpress.flash0",
    ]
    other = Watch()
    add_devices(other, load_board("zynq"))
    assert not [line for line in other.lines if line.startswith("flash ")]


# ---- what does not fit ----


def mine(tmp_path: Path, *changes: tuple[str, str], name: str = "stock-vexpress") -> LoadedSystem:
    """A system that is changed in some places."""
    text = (system_dir() / f"{name}.toml").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "stock").symlink_to(system_dir() / "stock")
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return load_system(str(path))


def unresolved(loaded: LoadedSystem) -> dict[str, Resolved]:
    return {name: Resolved("", name, "", s.version) for name, s in loaded.system.sources.items()}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            [("size_bytes = 67_108_864", "size_bytes = 134_217_728")],
            "card.size_bytes: the flash image has 134,217,728 bytes, more than the 67,108,864 of flash0",
        ),
        (
            [
                ("size_bytes = 67_108_864", "size_bytes = 33_554_432"),
                ("root_sectors = 114688", "root_sectors = 512"),
            ],
            "card.size_bytes: the flash image has 33,554,432 bytes, less than the 67,108,864 of flash0",
        ),
        (
            [("root_sector = 16384", "root_sector = 16640"), ("root_sectors = 114688", "root_sectors = 512")],
            "card.root_sector: 16640 sectors are no whole erase blocks: those of flash0 on vexpress-a9",
        ),
        (
            [('filesystem = "jffs2"', 'filesystem = "jffs2"\noptions = ["--eraseblock=65536"]')],
            "rootfs.options: '--eraseblock=65536': the erase blocks are those of flash0",
        ),
        (
            [('filesystem = "jffs2"', 'filesystem = "ext4"')],
            "rootfs.filesystem: ext4 is not for flash, which vexpress-a9 boots from",
        ),
        (
            [('filesystem = "jffs2"', 'filesystem = "ubifs"\nvolume = "ubi"')],
            "rootfs.volume: ubifs is in a volume of UBI already",
        ),
        (
            [('filesystem = "jffs2"', 'filesystem = "jffs2"\nvolume = "ubi"')],
            "rootfs.volume: jffs2 cannot be on UBI",
        ),
    ],
)
def test_what_does_not_fit_the_part_is_refused_before_anything_is_built(
    tmp_path: Path, changes: list[tuple[str, str]], said: str
) -> None:
    loaded = mine(tmp_path, *changes)
    with pytest.raises(UserError, match=re.escape(f"stock-vexpress: {said}")):
        steps_of(loaded, unresolved(loaded))


def test_a_file_system_for_flash_is_refused_on_a_card(tmp_path: Path) -> None:
    loaded = mine(tmp_path, ('filesystem = "ext4"', 'filesystem = "jffs2"'), name="stock-zynq")
    with pytest.raises(UserError, match="jffs2 is for flash, and zynq has a card"):
        steps_of(loaded, unresolved(loaded))


def test_a_volume_of_ubi_is_refused_on_a_card(tmp_path: Path) -> None:
    loaded = mine(
        tmp_path, ('filesystem = "ext4"', 'filesystem = "squashfs"\nvolume = "ubi"'), name="stock-zynq"
    )
    with pytest.raises(UserError, match=r"rootfs\.volume: UBI is for flash, and zynq has a card"):
        steps_of(loaded, unresolved(loaded))


def test_an_option_of_squashfs_is_none_of_erase_blocks(tmp_path: Path) -> None:
    options = 'filesystem = "squashfs"\noptions = ["-processors", "1"]'
    loaded = mine(tmp_path, ('filesystem = "jffs2"', options))
    assert steps_of(loaded, unresolved(loaded))


def test_without_the_programs_that_make_it_a_root_is_refused(tmp_path: Path) -> None:
    loaded = mine(tmp_path, ("[sources.mtd-utils]", "[sources.other]"))
    with pytest.raises(UserError, match=r"rootfs\.filesystem: jffs2 needs the source mtd-utils"):
        steps_of(loaded, unresolved(loaded))
