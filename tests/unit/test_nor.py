# SPDX-License-Identifier: Apache-2.0
"""The board vexpress-a9-uboot: U-Boot in flash, caches that are switched, a kernel that stays in flash."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from bootscope.boards.machine import machine_arguments
from bootscope.boards.profile import load_board
from bootscope.builder.plan import Built, steps_of
from bootscope.builder.sources import Resolved
from bootscope.core.errors import UserError
from bootscope.cores.profile import load_core
from bootscope.devices.cfi_nor import CfiNor
from bootscope.devices.model import Media, MemoryDecoder, StorageCommand
from bootscope.emulator import flash_probes, timing_pass
from bootscope.emulator.plugin_config import Watch, add_devices
from bootscope.emulator.probes import Hooks
from bootscope.emulator.subject import flat, watched
from bootscope.inventory.inventory import Inventory, Part
from bootscope.inventory.values import boot_value
from bootscope.loaders.nor import UBOOT_NOR
from bootscope.system.load import load_system
from bootscope.system.placeholders import boot_script

BOARD = load_board("vexpress-a9-uboot")
SYSTEM = load_system("stock-nor")
IN_FLASH, IN_MEMORY = 0x40100000, 0x62000000
COPIES = "cp.b 0x40100000 0x62000000 0x2a0000\n"


# ---- the machine ----


def test_the_cpu_begins_in_flash_and_the_emulator_hands_nothing_over() -> None:
    words = machine_arguments(BOARD, Media(Path("/flash.img"), kernel=Path("/k"), device_tree=Path("/t")))
    assert words[words.index("-device") + 1] == "loader,addr=0x40000000,cpu-num=0"
    assert "if=pflash,unit=0,format=raw,file=/flash.img,snapshot=on" in words
    assert "-kernel" not in words
    with_kernel = machine_arguments(load_board("vexpress-a9"), Media(Path("/flash.img"), kernel=Path("/k")))
    assert "-device" not in with_kernel


def test_its_phases_are_those_of_a_boot_loader_without_an_spl() -> None:
    assert UBOOT_NOR.phases[:5] == ("rom", "bootloader", "load", "decompress", "kernel")
    assert UBOOT_NOR.boot_images == ("u-boot.bin",)
    results = {name: Path(f"/{name}") for name in ("uboot", "kernel", "device-tree", "card")}
    assert Built("", {}, results, {}).media(SYSTEM.system, UBOOT_NOR).loader is None


def test_the_flash_is_made_of_boot_loader_and_script_where_there_is_one() -> None:
    unresolved = {name: Resolved("", name, "", s.version) for name, s in SYSTEM.system.sources.items()}
    *_, image = steps_of(SYSTEM, unresolved)
    assert "uboot" in image.needs
    assert "cp.b 0x40100000 0x62000000 {kernel_bytes}" in str(image.inputs["script"])
    other = load_system("stock-vexpress")
    *_, image = steps_of(other, unresolved | {"mtd-utils": Resolved("", "", "", "")})
    assert "uboot" not in image.needs
    assert "script" not in image.inputs


# ---- caches ----


def hooks() -> Hooks:
    made = Hooks()
    made.add("kernel.image", IN_FLASH, "once")
    made.add("kernel.start", 0x60008000, "once")
    return made


def windows(image_at: int | None) -> list[str]:
    return [line for line in flash_probes.lines(BOARD, hooks(), image_at) if line.startswith("flash-window")]


def test_nothing_of_flash_is_cached_for_data_before_the_kernel() -> None:
    """A boot loader that copies caches memory only, and what unpacks in memory reads no flash."""
    assert windows(IN_MEMORY) == [
        "flash-window 2 0x0 0xffffffffffffffff",
        "flash-window 1 0x62000000 0x62000000",
    ]
    assert windows(None) == ["flash-window 2 0x0 0xffffffffffffffff"]


def test_what_unpacks_a_kernel_in_flash_caches_two_mib_of_it() -> None:
    assert windows(IN_FLASH + 0x40) == [
        "flash-window 2 0x0 0xffffffffffffffff",
        "flash-window 1 0x40100000 0x40300000",
    ]


def test_caches_are_followed_for_boards_that_say_so() -> None:
    assert "control 0x1 0x5 0x1000 SCTLR_S SCTLR" in flash_probes.lines(BOARD, hooks(), None)
    watch = Watch()
    add_devices(watch, BOARD)
    assert watch.lines[-3:] == [
        "flash-cache 32768 4 32 0xe0000000 vexpress.flash0",
        "flash-switched",
        "flash-second 524288 8 0x1e00a100 0x1",
    ]
    assert flash_probes.lines(load_board("vexpress-a9"), hooks(), IN_MEMORY) == []


@pytest.mark.parametrize(("board", "told"), [("vexpress-a9", 1), ("vexpress-a9-uboot", 0)])
def test_a_counting_pass_tells_the_switches_where_nothing_else_does(board: str, told: int) -> None:
    lines = timing_pass.lines(load_board(board), load_core("cortex-a9"), Path("/counts"), [], [])
    assert sum(line.startswith("control ") for line in lines) == told


# ---- the chip ----


def test_what_is_read_behind_a_command_is_the_state_of_the_chip() -> None:
    """A phase begins with the first read of the kernel, not of what the chip is."""
    flash = BOARD.devices["flash0"]
    assert isinstance(flash, CfiNor)
    decoder = flash.decoder("flash0", 0)
    assert isinstance(decoder, MemoryDecoder)

    def sector(offset: int) -> int | None:
        found = decoder.read(0, offset, 4, 1)
        assert isinstance(found, StorageCommand)
        return found.sector

    assert sector(0x100000) == 2048
    for command in (0x00980098, 0x00900090, 0x00700070):
        decoder.store(0, 0, command)
        assert sector(0x100000) is None
        decoder.store(0, 0, 0x00FF00FF)
        assert sector(0x100000) == 2048
    decoder.store(0, 0x400, 0x00400040)
    decoder.store(0, 0x400, 0x00FF00FF)  # a word to be programmed that looks like a command
    assert sector(0) is None


# ---- a kernel that stays in flash ----


def known(script: str = "", **settings: str) -> Inventory:
    all_settings = {**flat(SYSTEM.system), **settings}
    if script:
        all_settings["uboot.script"] = script
    text = boot_script(all_settings["uboot.script"], all_settings)
    parts = frozenset({Part.SETTINGS, Part.COMMANDS})
    return Inventory(parts=parts, settings=all_settings, commands=text)


def test_a_script_that_copies_starts_the_kernel_where_it_lies() -> None:
    found = boot_value("script_without_copy", known())
    assert found == "setenv bootargs {command_line}\nbootz 0x40100000 - 0x407c0000\n"
    found = boot_value("script_that_runs_flash", known())
    assert found
    assert found.endswith("setenv verify no\nbootm 0x40100000 - 0x407c0000\n")
    assert boot_value("kernel_that_is_copied_from_flash", known()) == "0x40100000"
    assert boot_value("kernel_run_in_flash", known()) == "0x40100040"
    assert boot_value("behind_header_in_flash", known()) == str(0x40100040)
    assert boot_value("beginning_of_memory", known()) == "0x60000000"


@pytest.mark.parametrize(
    "script",
    [
        "bootz 0x40100000 - 0x407c0000",  # it does already
        "load mmc 0:1 0x62000000 zImage\nbootz 0x62000000 - 0x63000000",
        "cp.b 0x61000000 0x62000000 0x2a0000\nbootz 0x62000000 - 0x63000000",  # from memory
        COPIES + "bootz 0x63000000 - 0x407c0000",  # something else
        "cp.b 0x40100000\nbootz 0x62000000 - 0x407c0000",
    ],
)
def test_without_such_a_copy_there_is_nothing_to_leave_out(script: str) -> None:
    for name in ("script_without_copy", "kernel_in_flash", "memory_for_unpacking"):
        assert boot_value(name, known(script)) == ""


def test_a_copy_whose_line_is_not_found_is_not_left_out_by_half() -> None:
    script = (
        f"setenv from 0x40100000\n{COPIES.replace('0x40100000', '${from}')}bootz 0x62000000 - 0x407c0000\n"
    )
    assert boot_value("kernel_in_flash", known(script)) == str(IN_FLASH)
    assert boot_value("script_without_copy", known(script)) == ""


def test_other_copies_stay_what_they_are() -> None:
    script = f"cp.b 0x407c0000 0x68000000 0x8000\n{COPIES}bootz 0x62000000 - 0x68000000\n"
    found = boot_value("script_without_copy", known(script))
    assert found == "cp.b 0x407c0000 0x68000000 0x8000\nbootz 0x40100000 - 0x68000000\n"


def test_memory_for_unpacking_is_behind_the_unpacked_kernel() -> None:
    assert boot_value("memory_for_unpacking", known()) == "0x62000000"
    low = "cp.b 0x40100000 0x60800000 0x2a0000\nbootz 0x60800000 - 0x407c0000\n"
    assert boot_value("memory_for_unpacking", known(low)) == "0x62000000"
    high = "cp.b 0x40100000 0x70000000 0x2a0000\nbootz 0x70000000 - 0x407c0000\n"
    assert boot_value("memory_for_unpacking", known(high)) == "0x70000000"


def test_what_is_not_known_is_said() -> None:
    with pytest.raises(UserError, match="not known what the boot loader runs"):
        boot_value("kernel_in_flash", replace(known(), parts=frozenset()))
    with pytest.raises(UserError, match=r"the setting kernel\.memory_address is not known"):
        boot_value("kernel_in_flash", known(**{"kernel.memory_address": "?"}))


@pytest.mark.parametrize(
    ("image", "address", "unpacks", "starts"),
    [
        ("zImage", 0, IN_MEMORY, None),
        ("xipImage", IN_FLASH + 64, None, IN_FLASH + 64),
        ("Image", IN_MEMORY, None, None),
    ],
)
def test_where_a_kernel_begins(image: str, address: int, unpacks: int | None, starts: int | None) -> None:
    kernel = msgspec.structs.replace(SYSTEM.system.kernel, image=image, uimage_address=address)
    found = watched(msgspec.structs.replace(SYSTEM.system, kernel=kernel), BOARD)
    assert (found.image_at, found.starts_at) == (unpacks, starts)
