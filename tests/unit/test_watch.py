# SPDX-License-Identifier: Apache-2.0
"""The watch file of the stock system: what the plugin is told to look at, and when to stop."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from bootscope.core.errors import UserError
from bootscope.emulator.plugin_config import Limits, Watch, default_until, watch
from bootscope.emulator.subject import Programs, watched
from bootscope.image.code import Code
from bootscope.system.framebuffer import FrameBuffer
from bootscope.system.load import load_system, milestones
from bootscope.system.model import Milestone, System
from bootscope.system.splash import Splash

from .builders import board
from .elf import Fn, arm, code, thumb

KERNEL_BASE, UBOOT_BASE, SPL_BASE = 0xC0100000, 0x4A001000, 0x100
KERNEL = ("kernel_execve", "__set_task_comm", "panic")
STOCK = load_system("stock").system
BX_LR = 0xE12FFF1E


def function(name: str) -> Fn:
    """A function of 16 bytes that returns at its end."""
    return Fn(name, arm(0, 0, 0, BX_LR))


def kernel_of(*names: str) -> Code:
    return code(*(function(name) for name in names), base=KERNEL_BASE)


def made(
    until: str = "app-ready",
    system: System = STOCK,
    kernel: Code | None = None,
    frame: Path = Path("/store/frame.raw"),
    limits: Limits | None = None,
    layout: dict[str, int] | None = None,
) -> Watch:
    uboot = code(Fn("relocate_code", thumb(0x4770, 0x4770), thumb=True), base=UBOOT_BASE)
    spl = code(function("_main"), base=SPL_BASE)
    programs = Programs({"spl": spl, "uboot": uboot}, kernel or kernel_of(*KERNEL), layout or {})
    return watch(board(), watched(system, board()), programs, until, frame, limits or Limits())


def of_kind(w: Watch, kind: str) -> list[str]:
    return [line for line in w.text().splitlines() if line.split()[0] == kind]


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


# ---- the kernel's own hooks ----

FULL = (
    "do_one_initcall", "do_init_module", "driver_register", "really_probe", "__switch_to", "wake_up_new_task",
    "do_exit", "try_to_wake_up", "vector_swi", "mmap_region", "__handle_irq_event_percpu", "handle_softirqs",
    "process_one_work", "blk_mq_submit_bio", "bio_endio", "vprintk_store", "__timer_delay",
)  # fmt: skip
LAYOUT = {
    "task_struct.comm": 1520, "task_struct.pid": 1248, "task_struct.tgid": 1252, "task_struct.flags": 520,
    "task_struct.__state": 504, "task_struct.mm": 1160, "device.kobj.name": 0, "device_driver.name": 0,
    "module.name": 12, "bio.bi_iter.bi_sector": 24, "bio.bi_iter.bi_size": 32, "bio.bi_opf": 8,
    "bio.bi_io_vec": 64, "bio_vec.bv_page": 0, "page.mapping": 12, "address_space.host": 0,
    "inode.i_ino": 36, "inode.i_dentry": 192, "dentry.d_u.d_alias": 124, "dentry.d_name.name": 32,
    "dentry.d_parent": 16, "file.f_path.dentry": 44, "irq_desc.action": 64, "irq_desc.irq_data.irq": 28,
    "irqaction.name": 44, "work_struct.func": 12,
}  # fmt: skip


def hooks_of(w: Watch) -> dict[str, list[str]]:
    """Name -> what its hooks take, without numbers and addresses."""
    found: dict[str, list[str]] = {}
    for line in of_kind(w, "hook"):
        number, _, how = line.removeprefix("hook ").split(" ", 2)
        found.setdefault(w.hooks.names[int(number)], []).append(how)
    return found


def test_the_members_of_the_kernels_structures_are_found_by_its_layout() -> None:
    found = hooks_of(made(kernel=kernel_of(*KERNEL, *FULL), layout=LAYOUT))
    assert found["switch"] == [
        "every reg r0 reg r2 int r2+1248 int r2+1252 int r0+504 word r2+1160 str r2+1520 stack"
    ]
    assert found["fork"] == ["every reg r0 int r0+1248 int r0+1252 int r0+520 str r0+1520"]
    assert found["wake"] == ["every reg r0 int r0+504 reg lr"]
    assert found["execve"] == ["every reg lr args r1+0", "every reg lr args r1+0 if r7 11"]
    assert found["map"] == ["every reg r0 reg r1 reg r2 reg r3 word sp+0 path r0+44>0 32 16"]
    assert found["bio"] == [
        "every reg r0 word r0+24 int r0+32 int r0+8 word r0+64>0>12>0>36 path r0+64>0>12>0>192>-124 32 16"
    ]
    assert found["irq"] == ["every int r0+28 str r0+64>44>0"]
    assert found["probe"] == ["every str r0+0>0"]
    assert found["probe.driver"] == ["every str r1+0>0"]
    assert found["printk"] == ["every reg r1 reg lr str r3"]
    assert found["probe.end"] == ["every reg r0"]


def test_what_begins_has_an_end() -> None:
    names = set(made(kernel=kernel_of(*KERNEL, *FULL), layout=LAYOUT).hooks.names.values())
    assert {name.removesuffix(".end") for name in names if name.endswith(".end")} <= names
    assert {"irq.end", "softirq.end", "work.end", "probe.end", "delay.end"} <= names


@pytest.mark.parametrize("missing", sorted(LAYOUT))
def test_a_kernel_without_a_member_keeps_the_number_of_values(missing: str) -> None:
    """What reads the recording takes values by their place."""

    def count(how: str) -> int:
        return sum(word in ("none", "reg", "word", "int") for word in how.split())

    whole = hooks_of(made(kernel=kernel_of(*KERNEL, *FULL), layout=LAYOUT))
    layout = {name: offset for name, offset in LAYOUT.items() if name != missing}
    less = hooks_of(made(kernel=kernel_of(*KERNEL, *FULL), layout=layout))
    assert less.keys() == whole.keys()
    for name, lines in whole.items():
        assert [count(line) for line in less[name]] == [count(line) for line in lines]
        assert not any("None" in line for line in less[name])


def test_the_loaders_steps_move_with_u_boot() -> None:
    steps = Fn("initcall_run_list", thumb(0x4798, 0x4770), thumb=True)  # blx r3; bx lr
    names = ("udelay", "device_probe", "cmd_process")
    others = [Fn(name, thumb(0xBF00, 0x4770), thumb=True) for name in names]
    relocate = Fn("relocate_code", thumb(0x4770, 0x4770), thumb=True)
    uboot = code(relocate, steps, *others, base=UBOOT_BASE)
    programs = Programs(
        {"spl": code(function("udelay"), base=SPL_BASE), "uboot": uboot}, kernel_of(*KERNEL), {}
    )
    found = hooks_of(watch(board(), watched(STOCK, board()), programs, "init", Path("/f"), Limits()))
    assert found["spl.delay"] == ["every reg r0 reg lr"]
    assert found["uboot.delay"] == ["every reg r0 reg lr moves"]
    assert found["uboot.initcall"] == ["every reg r3 moves"]
    assert found["uboot.initcall.end"] == ["every reg r0 moves"]
    assert found["uboot.probe"] == ["every str r0+4>0 moves"]
    assert found["uboot.command"] == ["every reg r1 args r2+0 moves"]


@pytest.mark.parametrize("name", ["calibrate_delay", "raid6_select_algo"])
def test_what_works_until_the_clock_says_stop_waits_for_the_clock(name: str) -> None:
    found = hooks_of(made(kernel=kernel_of(*KERNEL, name)))
    assert found["delay"] == ["every none reg lr"]
    assert found["delay.end"] == ["every reg r0"]


def test_the_loop_of_a_delay_is_not_hooked_where_it_jumps_to() -> None:
    """__loop_const_udelay falls into __loop_delay, which jumps to its own start for every loop."""
    outer = Fn("__loop_const_udelay", arm(0, 0x012FFF1E))  # bxeq lr
    loop = Fn("__loop_delay", arm(0xE2500001, 0x8AFFFFFD, BX_LR))  # subs; bhi __loop_delay; bx lr
    w = made(kernel=code(function("panic"), outer, loop, base=KERNEL_BASE))
    lines = [line for line in of_kind(w, "hook") if "delay" in w.hooks.names[int(line.split()[1])]]
    assert [line.split(" ", 2)[2] for line in lines] == [
        "0xc0100010 every reg r0 reg lr", "0xc0100014 every when 0 reg r0", "0xc0100020 every reg r0",
    ]  # fmt: skip


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


BL = 0xEB000000


def naming(*, inlined: bool) -> Code:
    """A kernel in which executing a program calls the naming of the task, or has it in itself."""
    call = BL | ((0x10 - 0x8) >> 2)  # from the first instruction of begin_new_exec to the function behind it
    first = 0 if inlined else call
    return code(
        Fn("begin_new_exec", arm(first, 0, 0, BX_LR)),
        *(function(name) for name in ("__set_task_comm", "flush_signal_handlers", "kernel_execve", "panic")),
        base=KERNEL_BASE,
    )


@pytest.mark.parametrize("inlined", [False, True])
def test_programs_are_seen_where_the_compiler_left_no_call_to_name_them(inlined: bool) -> None:
    w = made(kernel=naming(inlined=inlined), layout={"task_struct.comm": 752})
    hooks = [line.split(maxsplit=3)[2:] for line in of_kind(w, "hook")]
    flush = f"{KERNEL_BASE + 0x20:#x}"
    told = [how for address, how in hooks if address == flush]
    process = b"testcard".hex()
    every, once = "every if r1 0 reg r0 reg r0 str r0+752", f"once if r1 0 str r0+752 is {process}"
    assert told == ([every, once] if inlined else [])
    # The first one is the one whose task the counting of code follows.
    first = w.numbers("application.start")[0]
    assert (of_kind(w, "hook")[first - 1].split()[2] == flush) == inlined
