# SPDX-License-Identifier: Apache-2.0
"""The watch file of the stock system: what the plugin is told to look at, and when to stop."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from bootscope.core.errors import UserError
from bootscope.emulator.plugin_config import Limits, default_until
from bootscope.system.framebuffer import FrameBuffer
from bootscope.system.load import milestones
from bootscope.system.model import Milestone, System
from bootscope.system.splash import Splash

from .builders import board
from .elf import code
from .watch_files import (
    KERNEL,
    KERNEL_BASE,
    STOCK,
    kernel_of,
    made,
    of_kind,
)


def without_display() -> System:
    fields = {name: getattr(STOCK, name) for name in STOCK.__struct_fields__}
    return System(**{**fields, "framebuffer": None})


def test_the_whole_file_for_the_stock_system() -> None:
    process, ready = b"testcard".hex(), b"testcard: ready".hex()
    panic = b"---[ end Kernel panic".hex()
    assert made(limits=Limits(1_000, 2_000, 3_000, 4_000, 512)).text().splitlines() == [
        "tick 2",
        "word 4 1",
        "register pc pc",
        "register stack sp",
        "register link lr",
        "register flags cpsr",
        "condition 0 0x40000000 0x40000000",
        "condition 1 0x40000000 0x0",
        "condition 2 0x20000000 0x20000000",
        "condition 3 0x20000000 0x0",
        "condition 4 0x80000000 0x80000000",
        "condition 5 0x80000000 0x0",
        "condition 6 0x10000000 0x10000000",
        "condition 7 0x10000000 0x0",
        "condition 8 0x60000000 0x20000000",
        "condition 9 0x20000000 0x0 0x40000000 0x40000000",
        "condition 10 0x90000000 0x0 0x90000000 0x90000000",
        "condition 11 0x90000000 0x80000000 0x90000000 0x10000000",
        "condition 12 0xd0000000 0x0 0xd0000000 0x90000000",
        "condition 13 0x40000000 0x40000000 0x90000000 0x80000000 0x90000000 0x10000000",
        "io 1 0x1c28000 0x400",
        "io 2 0x1c0f000 0x1000",
        "io 3 0x1c20800 0x400",
        "move 3 0x4a000000",
        f"text 1 1 0 {ready}",
        f"text 2 1 0 {panic}",
        "code 0x0 0x40000000",
        "code 0x80000000 0xbf000000",
        "frame 1 0x5f000000 0x177000 4 /store/frame.raw",
        "light 1 0x5f000000 0x177000 4 0xffffff",
        "idle 4 0xffffffff 0xe320f003",
        "idle 2 0xffff 0xbf30",
        "sample 3000",
        "limit 1000",
        "quiet 2000 9 2000",
        "stack 4000 512",
        "call 4 0xf000000 0xb000000",
        "call 4 0xffffff0 0x12fff30",
        "call 4 0xc000f800 0xc000f000",
        "call 2 0xff87 0x4780",
        "return 0x100 0x110",
        "return 0xc0100000 0xc0100030",
        "return 0x4a000000 0x4a400000",
        "return 0x7c000000 0x80000000",
        "hook 1 0x60 once",
        "hook 2 0x4a000000 once",
        "hook 3 0x4a001000 once reg r0",
        "hook 4 0x42000000 once",
        "hook 5 0x40100000 once",
        "hook 6 0xc0100000 once str r0",
        "hook 7 0xc0100010 every reg r2 reg r0 str r1",
        f"hook 8 0xc0100010 once str r1 is {process}",
        "hook 9 0xc0100020 once str r0",
        "hook 10 0xc0100000 every reg lr args r1+0",
        "hook 11 0xc0100000 every reg lr str r0",
        "routine 10 11",
        "stop text 1",
        "stop text 2",
    ]


def test_the_names_say_what_the_numbers_stand_for() -> None:
    names = made().names()
    assert names.devices == {1: "uart0", 2: "mmc0", 3: "pio"}
    assert names.texts == {1: "milestone app-ready", 2: "panic"}
    assert names.hooks == {
        1: "spl.start", 2: "uboot.start", 3: "uboot.relocate", 4: "kernel.image", 5: "kernel.start",
        6: "kernel.init", 7: "exec", 8: "application.start", 9: "kernel.panic",
        10: "execve", 11: "execve.file",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("until", "stop"),
    [
        ("spl", "stop hook 1"),
        ("bootloader", "stop hook 2"),
        ("kernel-entry", "stop hook 5"),
        ("init", "stop hook 6"),
        ("application", "stop hook 8"),
        ("first-frame", "stop frame 1"),
        ("first-light", "stop light 1"),
        ("app-ready", "stop text 1"),
    ],
)
def test_a_recording_stops_at_its_milestone_or_at_a_panic(until: str, stop: str) -> None:
    assert of_kind(made(until), "stop") == [stop, "stop text 2"]


def test_a_boot_whose_power_is_cut_goes_past_its_milestone() -> None:
    cut = made("init", limits=Limits(limit_ns=5_000_000_000, cut=True))
    assert of_kind(cut, "stop") == ["stop text 2"]
    assert of_kind(cut, "limit") == ["limit 5000000000"]


def test_every_milestone_of_the_stock_system_can_be_stopped_at() -> None:
    for until in milestones(STOCK, board().boot_loader):
        assert len(of_kind(made(until), "stop")) == 2


def test_an_unknown_milestone_names_those_there_are() -> None:
    with pytest.raises(UserError, match="unknown milestone 'nonsense'") as caught:
        made("nonsense")
    assert caught.value.hint == f"there are: {', '.join(sorted(milestones(STOCK, board().boot_loader)))}"


def test_without_a_display_no_frame_is_watched_and_none_can_be_waited_for() -> None:
    w = made("app-ready", without_display())
    assert of_kind(w, "frame") == of_kind(w, "light") == of_kind(w, "code") == []
    for name in ("first-frame", "first-light"):
        with pytest.raises(UserError, match=f"unknown milestone '{name}'"):
            made(name, without_display())


def test_a_pixel_counts_by_the_bits_that_are_its_colour() -> None:
    fields = {name: getattr(STOCK, name) for name in STOCK.__struct_fields__}
    screen = FrameBuffer(0x1000, 480, 240, 960, "r5g6b5", 0x40000)
    w = made(system=System(**{**fields, "framebuffer": screen}))
    assert of_kind(w, "light") == ["light 1 0x1000 0x38400 2 0xffff"]
    assert of_kind(made(limits=Limits(light=False)), "light") == []


def test_what_a_splash_draws_is_no_frame_of_the_application() -> None:
    fields = {name: getattr(STOCK, name) for name in STOCK.__struct_fields__}
    w = made(system=System(**{**fields, "splash": Splash("ppm", "/logo.ppm")}))
    begins = of_kind(w, "begins")
    assert begins == [f"begins {number}" for number in w.numbers("application.start")]
    # The plugin must know a hook before a line that names it.
    lines = w.text().splitlines()
    assert lines.index(begins[0]) > max(lines.index(hook) for hook in of_kind(w, "hook"))
    assert of_kind(made(), "begins") == []


def test_a_declared_milestone_that_is_called_first_frame_needs_no_display() -> None:
    """Its text is what to stop at: there is no frame 1 in this watch file."""
    fields = {name: getattr(without_display(), name) for name in STOCK.__struct_fields__}
    declared = {"first-frame": Milestone(console="picture shown")}
    w = made("first-frame", System(**{**fields, "milestones": declared}))
    assert of_kind(w, "stop") == ["stop text 1", "stop text 2"]


def test_a_symbol_that_is_not_there_has_no_hook_and_the_rest_keep_their_meaning() -> None:
    w = made(kernel=kernel_of("__set_task_comm", "panic"))
    assert "kernel.init" not in w.hooks.names.values()
    assert w.hooks.names[6] == "exec"
    assert "hook 6 0xc0100000 every reg r2 reg r0 str r1" in of_kind(w, "hook")


def test_a_milestone_whose_symbol_is_not_there_cannot_be_waited_for() -> None:
    with pytest.raises(UserError, match="milestone init cannot be observed"):
        made("init", kernel=kernel_of("panic"))


def test_the_kernels_older_names_of_a_function_are_known() -> None:
    w = made("init", kernel=kernel_of("run_init_process", *KERNEL))
    assert "hook 6 0xc0100000 once str r0" in of_kind(w, "hook")


def test_a_long_process_name_is_known_whole_and_as_the_kernel_cuts_it() -> None:
    """The kernel is told the whole name when the program starts; what it keeps has 15 bytes."""
    application = msgspec.structs.replace(STOCK.application, process="a-very-long-process-name")
    w = made("application", msgspec.structs.replace(STOCK, application=application))
    starts = [number for number, name in w.hooks.names.items() if name == "application.start"]
    lines = [line for line in of_kind(w, "hook") if int(line.split()[1]) in starts]
    assert [line.rpartition(" ")[2] for line in lines] == [
        b"a-very-long-process-name".hex(), b"a-very-long-pro".hex(),
    ]  # fmt: skip
    assert of_kind(w, "stop") == [*(f"stop hook {number}" for number in starts), "stop text 2"]


def test_a_program_without_symbols_has_no_place_to_return_to() -> None:
    """A range without bytes would be refused by the plugin."""
    w = made(kernel=code(base=KERNEL_BASE))
    assert of_kind(w, "return") == [
        "return 0x100 0x110", "return 0x4a000000 0x4a400000", "return 0x7c000000 0x80000000",
    ]  # fmt: skip
    assert "exec" not in w.hooks.names.values()


@pytest.mark.parametrize("folder", ["my store", "a#b", "tab\there", "line\nfeed"])
def test_a_path_that_the_plugin_cannot_read_is_refused(folder: str) -> None:
    with pytest.raises(UserError, match="cannot write to a path") as caught:
        made(frame=Path("/", folder, "frame.raw"))
    assert "BOOTSCOPE_STORE" in (caught.value.hint or "")


def test_no_text_of_a_system_can_add_a_line() -> None:
    hostile = {"x": Milestone(console="a\nstop hook 1\n# b")}
    w = made("x", msgspec.structs.replace(STOCK, milestones=hostile))
    assert of_kind(w, "stop") == ["stop text 1", "stop text 2"]


def test_the_default_milestone_is_the_best_that_the_system_has() -> None:
    assert default_until(STOCK) == "first-frame"
    assert default_until(without_display()) == "app-ready"
    fields = {name: getattr(without_display(), name) for name in STOCK.__struct_fields__}
    assert default_until(System(**{**fields, "milestones": {}})) == "application"
