# SPDX-License-Identifier: Apache-2.0
"""A kernel that is loaded where it unpacks to, and where else it and a boot loader's script can go."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bootscope.capture import objects
from bootscope.capture.store import Store
from bootscope.core.errors import UserError
from bootscope.emulator.subject import flat
from bootscope.inventory.indicators import INDICATORS
from bootscope.inventory.values import FOUND
from bootscope.system.load import load_system

from .known_builders import inventory_of
from .lab_scenes import MS, known
from .scenes import Story

MEMORY = 0x40000000
MAP = b"c0008000 T _text\nc0100000 T start_kernel\nc0f08000 B _end\n"
"""A kernel of 15 MiB, which are 15.7 MB."""


@pytest.mark.parametrize(
    ("load", "symbols", "shown"),
    [
        (0x40800000, MAP, "loaded 8.4 MB into memory, 15.8 MB of which it unpacks to"),
        (0x40F07FFF, MAP, "loaded 15.8 MB into memory, 15.8 MB of which it unpacks to"),
        (0x40F08000, MAP, ""),
        (0x42000000, MAP, ""),
        (0x40800000, b"c0008000 T _text\n", None),
        (None, MAP, None),
    ],
)
def test_a_kernel_in_its_own_way(store: Store, load: int | None, symbols: bytes, shown: str | None) -> None:
    story = Story().hook("spl.start").work(2 * MS).hook("uboot.start").work(MS).hook("kernel.start").work(MS)
    boot = known(store, story.sample().records, objects={objects.KERNEL_SYMBOLS: symbols})
    settings = {"kernel.memory_address": str(MEMORY), "kernel.load_address": str(load or "")}
    found = INDICATORS["kernel-in-the-way"].evidence(replace(boot, settings=settings))
    assert found == shown


@pytest.mark.parametrize(
    ("kernel", "device_tree", "initramfs", "script"),
    [
        (0x42000000, 0x43000000, None, 0x43100000),
        # Behind the device tree comes the kernel, and behind that the initramfs.
        (0x2000000, 0x1F00000, None, 0x3000000),
        (0x2000000, 0x1F00000, 0x3000000, 0x7000000),
        (0x42000000, 0x43000000, 0x43100000, 0x47100000),
    ],
)
def test_a_boot_script_lies_where_nothing_else_is_loaded(
    kernel: int, device_tree: int, initramfs: int | None, script: int
) -> None:
    settings = {"kernel.load_address": str(kernel), "kernel.device_tree_address": str(device_tree)}
    if initramfs is not None:
        settings["kernel.initramfs_address"] = str(initramfs)
    assert FOUND["boot_script_address"](inventory_of(built=settings)) == hex(script)


def test_a_place_for_a_boot_script_needs_the_other_addresses() -> None:
    with pytest.raises(UserError, match=r"kernel\.device_tree_address is not known"):
        FOUND["boot_script_address"](inventory_of(built={}))


@pytest.mark.parametrize(("name", "place"), [("stock", 0x44000000), ("stock-zynq", 0x4000000)])
def test_an_initramfs_goes_to_the_boards_own_memory(name: str, place: int) -> None:
    """What a system has by default is in the reference board's."""
    settings = flat(load_system(name).system)
    assert FOUND["initramfs_place"](inventory_of(built=settings)) == str(place)
    other = {**settings, "kernel.initramfs_address": str(int(settings["kernel.memory_address"]) + (48 << 20))}
    assert FOUND["initramfs_place"](inventory_of(built=other)) == other["kernel.initramfs_address"]
