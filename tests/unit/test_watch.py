# SPDX-License-Identifier: Apache-2.0
"""The watch file of the stock system: what the plugin is told to look at, and when to stop."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from bootscope.boards.symbols import Symbols
from bootscope.boards.watch import Limits, Watch, default_until, watch
from bootscope.errors import UserError
from bootscope.system.load import load_system, milestones
from bootscope.system.model import Milestone, System

from .builders import board

KERNEL = {"kernel_execve": 0xC0101000, "__set_task_comm": 0xC0102000, "panic": 0xC0103000}
UBOOT = {"relocate_code": 0x4A001234}
STOCK = load_system("stock").system


def table(functions: dict[str, int]) -> Symbols:
    return Symbols((address, name) for name, address in functions.items())


def made(
    until: str = "app-ready",
    system: System = STOCK,
    kernel: dict[str, int] = KERNEL,
    frame: Path = Path("/store/frame.raw"),
    limits: Limits | None = None,
) -> Watch:
    tables = {"kernel": table(kernel), "u-boot": table(UBOOT)}
    return watch(board(), system, tables, until, frame, limits or Limits())


def of_kind(w: Watch, kind: str) -> list[str]:
    return [line for line in w.text().splitlines() if line.split()[0] == kind]


def without_display() -> System:
    fields = {name: getattr(STOCK, name) for name in STOCK.__struct_fields__}
    return System(**{**fields, "framebuffer": None})


def test_the_whole_file_for_the_stock_system() -> None:
    process, ready = b"testcard".hex(), b"testcard: ready".hex()
    panic = b"---[ end Kernel panic".hex()
    assert made(limits=Limits(1_000, 2_000, 3_000)).text().splitlines() == [
        "tick 2",
        "io 1 0x1c28000 0x400",
        "io 2 0x1c0f000 0x1000",
        "io 3 0x1c20800 0x400",
        "hook 1 0x60 once",
        "hook 2 0x4a000000 once",
        "hook 3 0x4a001234 once reg 0",
        "hook 4 0x42000000 once",
        "hook 5 0x40008000 once",
        "hook 6 0xc0101000 once str 0",
        "hook 7 0xc0102000 every reg 2 str 1",
        f"hook 8 0xc0102000 once str 1 is {process}",
        "hook 9 0xc0103000 once str 0",
        f"text 1 1 0 {ready}",
        f"text 2 1 0 {panic}",
        "code 0x0 0x40000000",
        "code 0x80000000 0xbf000000",
        "frame 1 0x5f000000 0x177000 4 /store/frame.raw",
        "idle 4 0xffffffff 0xe320f003",
        "idle 2 0xffff 0xbf30",
        "sample 3000",
        "limit 1000",
        "quiet 2000",
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
        ("app-ready", "stop text 1"),
    ],
)
def test_a_recording_stops_at_its_milestone_or_at_a_panic(until: str, stop: str) -> None:
    assert of_kind(made(until), "stop") == [stop, "stop text 2"]


def test_every_milestone_of_the_stock_system_can_be_stopped_at() -> None:
    for until in milestones(STOCK):
        assert len(of_kind(made(until), "stop")) == 2


def test_an_unknown_milestone_names_those_there_are() -> None:
    with pytest.raises(UserError, match="unknown milestone 'nonsense'") as caught:
        made("nonsense")
    assert caught.value.hint == f"there are: {', '.join(sorted(milestones(STOCK)))}"


def test_without_a_display_no_frame_is_watched_and_none_can_be_waited_for() -> None:
    w = made("app-ready", without_display())
    assert of_kind(w, "frame") == of_kind(w, "code") == []
    with pytest.raises(UserError, match="unknown milestone 'first-frame'"):
        made("first-frame", without_display())


def test_a_declared_milestone_that_is_called_first_frame_needs_no_display() -> None:
    """Its text is what to stop at: there is no frame 1 in this watch file."""
    fields = {name: getattr(without_display(), name) for name in STOCK.__struct_fields__}
    declared = {"first-frame": Milestone(console="picture shown")}
    w = made("first-frame", System(**{**fields, "milestones": declared}))
    assert of_kind(w, "stop") == ["stop text 1", "stop text 2"]


def test_a_symbol_that_is_not_there_has_no_hook_and_the_rest_keep_their_meaning() -> None:
    kernel = {name: address for name, address in KERNEL.items() if name != "kernel_execve"}
    w = made(kernel=kernel)
    assert "kernel.init" not in w.hooks.values()
    assert w.hooks[6] == "exec"
    assert "hook 6 0xc0102000 every reg 2 str 1" in w.lines


def test_a_milestone_whose_symbol_is_not_there_cannot_be_waited_for() -> None:
    with pytest.raises(UserError, match="milestone init cannot be seen"):
        made("init", kernel={"panic": 1})


def test_the_kernels_older_names_of_a_function_are_known() -> None:
    w = made("init", kernel={**KERNEL, "run_init_process": 0xC0100500})
    assert "hook 6 0xc0100500 once str 0" in w.lines


def test_a_process_name_is_cut_as_the_kernel_cuts_it() -> None:
    application = msgspec.structs.replace(STOCK.application, process="a-very-long-process-name")
    w = made(system=msgspec.structs.replace(STOCK, application=application))
    assert of_kind(w, "hook")[7].endswith(f" is {b'a-very-long-pro'.hex()}")


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
