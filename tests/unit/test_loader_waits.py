# SPDX-License-Identifier: Apache-2.0
"""Signs of a first stage that takes longer than need be, told from a recording."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from bootscope.capture.record import Extent
from bootscope.capture.store import Store
from bootscope.devices.sd_card import BOOT_TABLES, ROOM_SECTORS
from bootscope.inventory.indicators import INDICATORS
from bootscope.inventory.recorded import Recorded
from bootscope.inventory.values import FOUND
from bootscope.loaders.uboot import UBOOT

from .lab_scenes import MS, known
from .reading_scenes import SECTOR, where
from .scenes import Story

MAP = b"4a002000 T mmc_go_idle\n4a003000 t twsi_i2c_init\n4a004000 T other\n"
IDLE, I2C, OTHER = 0x4A002010, 0x4A003010, 0x4A004010


def sign(store: Store, name: str, *waits: tuple[int, int], where: str = "uboot") -> str | None:
    """What a boot shows whose functions (a return address in them, ms) wait."""
    story = Story().hook("spl.start").work(2 * MS).hook("uboot.start").work(MS)
    if where != "uboot":
        story.hook("kernel.start").work(MS)
    for caller, ms in waits:
        story.enter("uboot.delay", 1000 * ms, caller).work(ms * MS).leave("uboot.delay").work(MS)
    return INDICATORS[name].evidence(known(store, story.sample().records, objects={UBOOT.main.symbols: MAP}))


@pytest.mark.parametrize(
    ("waits", "shown"),
    [
        ([(I2C, 20)], "twsi_i2c_init waits 20.0 ms"),
        # By a clock that is too slow, what is asked for takes longer.
        ([(I2C, 50)], "twsi_i2c_init waits 50.0 ms"),
        ([(I2C, 2)], ""),
        ([(I2C, 5)], ""),
        ([(OTHER, 20)], ""),
        ([], ""),
    ],
)
def test_the_wait_for_an_i2c_controller(store: Store, waits: list[tuple[int, int]], shown: str) -> None:
    assert sign(store, "loader-i2c-wait", *waits) == shown


@pytest.mark.parametrize(
    ("waits", "shown"),
    [
        ([(IDLE, 1), (IDLE, 2)], "mmc_go_idle waits 3.0 ms"),
        ([(IDLE, 3), (IDLE, 5)], "mmc_go_idle waits 8.0 ms"),
        ([(IDLE, 1), (IDLE, 1)], ""),
        ([(IDLE, 3), (IDLE, 3)], ""),
        ([(OTHER, 1), (OTHER, 2)], ""),
        ([], ""),
    ],
)
def test_the_waits_for_a_card(store: Store, waits: list[tuple[int, int]], shown: str) -> None:
    assert sign(store, "loader-card-wait", *waits) == shown


def test_what_waits_after_the_boot_loader_is_none_of_its(store: Store) -> None:
    assert sign(store, "loader-i2c-wait", (I2C, 20), where="kernel") == ""


def test_nothing_but_a_recording_tells(store: Store) -> None:
    seen = known(store, Story().hook("spl.start").work(MS).sample().records)
    assert INDICATORS["loader-i2c-wait"].otherwise(seen) is None
    assert INDICATORS["loader-card-wait"].otherwise(seen) is None


def test_what_the_spl_prints(store: Store, tmp_path: Path) -> None:
    def shown(at: Store, text: bytes) -> str | None:
        story = Story().hook("spl.start").typed(text, 100).work(MS).hook("uboot.start").work(MS)
        story.typed(b"U-Boot says a lot, more than the port can hold of it\r\n", 100).work(MS)
        return INDICATORS["first-stage-console"].evidence(known(at, story.sample().records))

    long = b"SPL says a lot, more than the port can hold of it\r\n"
    assert (shown(store, long) or "").startswith("1 lines, 50 B of console: ")
    assert shown(Store(tmp_path / "silent"), b"") == ""


def test_files_that_the_first_stage_looks_for(store: Store) -> None:
    def shown(what: str) -> str | None:
        story = Story().hook("spl.start").work(MS).read(SECTOR, 1024).work(MS).hook("kernel.start").work(MS)
        found = known(store, story.sample().records)
        return INDICATORS["bootloader-or-files"].evidence(where(found, {what: SECTOR}))

    assert (shown(BOOT_TABLES) or "").startswith("tables and folders of the boot partition are read for")
    assert shown("kernel") == ""


@pytest.mark.parametrize(("sectors", "read"), [(46, 64), (47, 64), (56, 64), (57, 80), (1, 16), (250, 256)])
def test_the_spl_is_to_read_what_the_device_tree_has(store: Store, sectors: int, read: int) -> None:
    found = known(store, Story().hook("spl.start").work(MS).sample().records)
    assert FOUND["argument_sectors"](with_extent(found, "device tree", sectors)) == str(read)
    assert FOUND["argument_sectors"](with_extent(found, "kernel", sectors)) == str(ROOM_SECTORS)


def with_extent(found: Recorded, name: str, sectors: int) -> Recorded:
    """The same boot, of a card that holds only this."""
    info = found.view.run.info
    system = msgspec.structs.replace(info.system, extents=(Extent(name=name, sector=4096, sectors=sectors),))
    run = replace(found.view.run, info=msgspec.structs.replace(info, system=system))
    return replace(found, view=replace(found.view, run=run))
