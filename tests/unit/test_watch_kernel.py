# SPDX-License-Identifier: Apache-2.0
"""The watch file's hooks in the kernel and in the boot loader: what they are told to take down."""

from __future__ import annotations

from pathlib import Path

import pytest

from bootscope.emulator.plugin_config import Limits, watch
from bootscope.emulator.subject import Programs, watched
from bootscope.image.code import Code

from .builders import board
from .elf import Fn, arm, code, thumb
from .watch_files import (
    BX_LR,
    KERNEL,
    KERNEL_BASE,
    SPL_BASE,
    STOCK,
    UBOOT_BASE,
    function,
    hooks_of,
    kernel_of,
    made,
    of_kind,
)

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


@pytest.mark.parametrize("name", ["calibrate_delay", "raid6_select_algo", "hpet_alloc"])
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
