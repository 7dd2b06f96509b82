# SPDX-License-Identifier: Apache-2.0
"""Pitfalls that a recording shows; and what the reference system is not warned of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bootscope.analysis.views import view
from bootscope.audit.findings import audit, groups
from bootscope.audit.pitfalls.find import FoundPitfalls, find_pitfalls
from bootscope.capture.store import Store
from bootscope.image.uboot_env import default_environment
from bootscope.inventory.inventory import Image, Part
from bootscope.inventory.recorded import Recorded, facts, images

from ..fixtures.stock_boot import unpack
from .builders import KERNEL_SECTOR
from .known_builders import seen
from .lab_scenes import CONFIGS, MS, known, stock
from .scenes import Story

RECORDED = {
    "savings-overlap",
    "hidden-per-byte-stage",
    "kernel-size-affects-bootloader",
    "falcon-slow-spl-driver",
}
"""Pitfalls that only a recording shows."""

FALCON = {**CONFIGS, "uboot": {"SPL_OS_BOOT": "y", "SPL_MAX_SIZE": "0x5fa0"}}


def looked(facts: Recorded) -> FoundPitfalls:
    return find_pitfalls(facts, audit(facts).findings)


def spl_boot(work_ns: int) -> Story:
    """An SPL that loads the kernel by itself, in two reads with work between them."""
    story = Story().hook("spl.start").work(2 * MS).typed(b"U-Boot SPL\r\n", 100)
    story.read(KERNEL_SECTOR, 25_000).work(work_ns).read(KERNEL_SECTOR + 50, 25_000)
    story.hook("kernel.image").work(8 * MS).hook("kernel.start").work(30 * MS)
    return story.hook("kernel.init", text=b"/init").work(5 * MS).hook("application.start").work(MS).sample()


def load_boot(work_ns: int) -> Story:
    """A U-Boot that works after it has loaded the kernel."""
    story = Story().hook("spl.start").work(2 * MS).hook("uboot.start").typed(b"U-Boot 2025.01\r\n", 100)
    story.read(KERNEL_SECTOR, 50_000).work(work_ns).hook("kernel.image").work(8 * MS).hook("kernel.start")
    return story.work(30 * MS).hook("kernel.init", text=b"/init").work(MS).hook("application.start").sample()


def test_predictions_that_are_the_same_time_twice(store: Store) -> None:
    some = known(store)
    found = audit(some).findings
    init = [f for f in found if f.technique.phase == "init"]
    alone = [f for f in found if f.technique.id == "uboot-bootdelay"]
    assert "savings-overlap" not in seen(find_pitfalls(some, alone))
    doubled = [replace(f, saving_ns=40 * MS) for f in init]
    assert len(groups(doubled)) > 1
    of_falcon = [f for f in found if f.technique.id.startswith("falcon-")]
    rivals = [replace(f, saving_ns=50 * MS) for f in of_falcon]
    assert len(rivals) > 1 and "savings-overlap" not in seen(find_pitfalls(some, rivals))
    told = seen(find_pitfalls(some, doubled))["savings-overlap"].evidence
    assert "of init and application, 53.0 ms in all" in told
    few = [replace(f, saving_ns=MS) for f in init]
    assert "savings-overlap" not in seen(find_pitfalls(some, few))


@pytest.mark.parametrize(("work_ns", "warned"), [(200 * MS, True), (MS, False)])
def test_a_second_pass_over_the_kernel(store: Store, work_ns: int, warned: bool) -> None:
    found = looked(known(store, load_boot(work_ns).records))
    assert ("hidden-per-byte-stage" in seen(found)) == warned
    assert "hidden-per-byte-stage" not in found.undecided


@pytest.mark.parametrize(("work_ns", "warned"), [(300 * MS, True), (MS, False)])
def test_an_spl_that_reads_slowly(store: Store, work_ns: int, warned: bool) -> None:
    found = looked(known(store, spl_boot(work_ns).records, configs=FALCON))
    assert ("falcon-slow-spl-driver" in seen(found)) == warned
    assert "falcon-slow-spl-driver" not in found.undecided


def test_what_a_megabyte_of_kernel_costs(store: Store) -> None:
    told = seen(looked(known(store)))["kernel-size-affects-bootloader"]
    assert told.evidence.startswith("each MB of the kernel's file takes ")
    none = looked(known(store, [r for r in load_boot(MS).records if not hasattr(r, "device")]))
    assert "kernel-size-affects-bootloader" not in seen(none)


def test_a_kernel_that_speaks_late(store: Store) -> None:
    story = Story().hook("spl.start").work(MS).hook("uboot.start").work(MS)
    story.hook("kernel.image").work(MS).hook("kernel.start").work(900 * MS)
    story.typed(b"[    0.000000] Booting Linux on physical CPU 0x0\r\n", 100).hook(
        "kernel.init", text=b"/init"
    )
    late = known(store, story.hook("application.start").work(MS).sample().records)
    assert "would begin 90" in seen(looked(late))["printk-burst"].evidence
    assert "printk-burst" not in seen(looked(known(store)))


def test_u_boot_s_own_figure_against_the_recorded_time(store: Store) -> None:
    def said(ms: int) -> FoundPitfalls:
        story = Story().hook("spl.start").work(MS).hook("uboot.start").typed(b"reading\r\n", 100)
        story.work(900 * MS).typed(f"5546752 bytes read in {ms} ms (1 MiB/s)\r\n".encode(), 100)
        story.hook("kernel.image").work(MS).hook("kernel.start").hook("kernel.init", text=b"/init")
        return looked(known(store, story.hook("application.start").work(MS).sample().records))

    assert "read 5.5 MB in 70.0 ms" in seen(said(70))["unit-typo"].evidence
    assert "unit-typo" not in seen(said(890))


# ---- the reference system ----


def test_the_reference_system_is_warned_of_what_is_so_and_of_nothing_else(store: Store) -> None:
    configs = {
        "kernel": {
            "SMP": "y", "MACH_SUN4I": "y", "MACH_SUN7I": "y", "ARM_APPENDED_DTB": "y", "LOG_BUF_SHIFT": "17",
            "PRINTK_TIME": "y", "KALLSYMS": "y", "PROC_FS": "y", "INITRAMFS_SOURCE": '""', "KERNEL_GZIP": "y",
        },
        "uboot": {"BOOTDELAY": "2", "SPL_SIZE_LIMIT": "0x0", "BAUDRATE": "115200"},
        "busybox": {},
    }  # fmt: skip
    found = looked(known(store, configs=configs))
    assert {w.ident for w in found.warnings} == {
        "savings-overlap", "bootdelay", "lpj-missing",
        "appended-dtb-leftover", "defconfig-not-minimal", "rootfstype-missing",
    }  # fmt: skip
    hidden = {w.ident for w in found.warnings if w.technique}
    assert hidden == {"bootdelay", "lpj-missing", "rootfstype-missing"}


def test_the_system_s_own_scripts_and_addresses_are_known(store: Store) -> None:
    some = known(store)
    assert some.loader.bootargs == stock().system.kernel.command_line
    assert [load.file for load in some.loader.loads] == ["zImage", "board.dtb"]
    assert some.loader.loads[0].address == stock().system.kernel.load_address
    assert some.loader.called("bootz", "bootm", "booti") == [["bootz", "0x42000000", "-", "0x43000000"]]


def test_a_recording_of_the_first_days_is_looked_at(store: Store) -> None:
    found = looked(facts(store, view(store, store.load(unpack(store)))))
    assert not {w.ident for w in found.warnings if w.pitfall.kind == "kernel"} - {
        "lpj-missing",
        "rootfstype-missing",
    }
    assert found.undecided["double-compression"] == Part.KERNEL


def test_the_environment_is_found_in_the_program() -> None:
    program = b"\x7fELF\0help text\0a=b\0x\0\0bootcmd=run a\0bootdelay=2\0a=bootz\0\0more\0"
    assert default_environment(program) == {"bootcmd": "run a", "bootdelay": "2", "a": "bootz"}
    assert default_environment(b"\x7fELF bootcmd= is not here") == {}
    assert default_environment(b"") == {}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, {"zImage": Image("zImage", 5, 0x2000)}),
        ({"kernel.image": "Image"}, {"Image": Image("Image", 9, 0x2000)}),
        ({"kernel.append_device_tree": "True"}, {"zImage": Image("zImage", 5, 0x2000, appended=True)}),
        (
            {"kernel.uimage_address": "1073774592"},
            {"uImage": Image("uImage", 5, 0x2000, 0x40008000, "zImage")},
        ),
        ({"kernel.image": "none of these"}, {}),
    ],
)
def test_the_images_of_a_build(settings: dict[str, str], expected: dict[str, Image]) -> None:
    sizes = {"kernel/zImage": 5, "kernel/Image": 9, "device-tree/board.dtb": 3}
    symbols = "c0008000 T _text\nc0009000 T _etext\nc000a000 B _end\n"
    assert images(settings, sizes, symbols) == {**expected, "dtb": Image("dtb", 3)}
