# SPDX-License-Identifier: Apache-2.0
"""What is watched in a Linux kernel: initcalls, probes, processes, interrupts, reads, messages, delays.

Nothing in the kernel takes part: functions come from vmlinux, members of structures from the layout
that the build found. A function that a kernel does not have gives no hook, and its view says so.

In 32-bit ARM code the first four arguments of a function are in r0 to r3.
"""

from __future__ import annotations

from collections.abc import Mapping

from bootscope.emulator.probes import Hooks
from bootscope.image.code import ALWAYS, Code

# The number of a system call is in r7.
_SYSCALL_REGISTER, _EXECVE = 7, 11

Layout = Mapping[str, int]


class _Members:
    """Chains through the kernel's structures, as the watch file writes them."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    def at(self, register: int, *path: str) -> str | None:
        """The address of a member, following the pointers before it; None when the kernel lacks one."""
        if any(name not in self._layout for name in path):
            return None
        offsets = [self._layout[name] for name in path]
        return f"{register}+" + ">".join(str(offset) for offset in offsets)

    def item(self, kind: str, register: int, *path: str, then: str = "") -> str:
        """`word CHAIN` or `str CHAIN` for a member, or nothing when the kernel lacks it."""
        chain = self.at(register, *path)
        return f"{kind} {chain}{then}" if chain else ("reg 31" if kind == "word" else "")

    def path_of(self, register: int, *path: str, back: str = "") -> str:
        """`path CHAIN ...` from a member that points to a dentry (to its member `back`, if given)."""
        chain = self.at(register, *path)
        name, parent = self._layout.get("dentry.d_name.name"), self._layout.get("dentry.d_parent")
        if chain is None or name is None or parent is None or (back and back not in self._layout):
            return ""
        return f"path {chain}>{-self._layout[back] if back else 0} {name} {parent}"


_PAGE_TO_INODE = ("bio_vec.bv_page", "page.mapping", "address_space.host")


def add(hooks: Hooks, code: Code, layout: Layout) -> None:
    """Adds all hooks for this kernel."""
    members = _Members(layout)
    _initcalls(hooks, code, members)
    _processes(hooks, code, members)
    _work(hooks, code, members)
    _storage(hooks, code, members)
    _messages(hooks, code)
    _delays(hooks, code)


def _initcalls(hooks: Hooks, code: Code, m: _Members) -> None:
    hooks.calls("initcall", code, code.function("do_one_initcall"))
    hooks.entry("module", code.function("do_init_module"), m.item("str", 0, "module.name"))
    name = m.item("str", 0, "device_driver.name", then=">0")
    hooks.entry("driver", code.function("driver_register"), name)
    probe = code.function("really_probe")
    hooks.span("probe", code, probe, m.item("str", 0, "device.kobj.name", then=">0"))
    hooks.entry("probe.driver", probe, m.item("str", 1, "device_driver.name", then=">0"))


def _processes(hooks: Hooks, code: Code, m: _Members) -> None:
    def word(register: int, member: str) -> str:
        return m.item("word", register, f"task_struct.{member}")

    comm = m.item("str", 2, "task_struct.comm")
    numbers = f"reg 0 reg 2 {word(2, 'pid')} {word(2, 'tgid')} {word(0, '__state')} {word(2, 'mm')}"
    hooks.entry("switch", code.function("__switch_to"), f"{numbers} {comm} stack")
    new = f"reg 0 {word(0, 'pid')} {word(0, 'tgid')} {word(0, 'flags')}"
    comm = m.item("str", 0, "task_struct.comm")
    hooks.entry("fork", code.function("wake_up_new_task"), f"{new} {comm}")
    hooks.entry("exit", code.function("do_exit"), "reg 0")
    hooks.entry("wake", code.function("try_to_wake_up"), f"reg 0 {word(0, '__state')} reg 14")
    # Later in the system call the kernel has closed user memory to itself, and so to us.
    for function, only in (
        (code.function("kernel_execve"), ""),
        (code.function("vector_swi"), f" if {_SYSCALL_REGISTER} {_EXECVE}"),
    ):
        hooks.entry("execve", function, f"reg 14 args 1+0{only}")
        hooks.entry("execve.file", function, f"reg 14 str 0{only}")
    # A file mapped into a process: file, address, bytes, flags; the offset in pages is on the stack.
    mapped = f"reg 0 reg 1 reg 2 reg 3 word 13+0 {m.path_of(0, 'file.f_path.dentry')}"
    hooks.entry("map", code.function("mmap_region"), mapped)


def _work(hooks: Hooks, code: Code, m: _Members) -> None:
    action = m.item("str", 0, "irq_desc.action", "irqaction.name", then=">0")
    irq = f"{m.item('word', 0, 'irq_desc.irq_data.irq')} {action}"
    hooks.span("irq", code, code.function("__handle_irq_event_percpu", "handle_irq_event_percpu"), irq)
    hooks.span("softirq", code, code.function("handle_softirqs", "__do_softirq"), "reg 31")
    work = m.item("word", 1, "work_struct.func")
    hooks.span("work", code, code.function("process_one_work"), work)


def _storage(hooks: Hooks, code: Code, m: _Members) -> None:
    sector = m.at(0, "bio.bi_iter.bi_sector")
    fields = f"reg 0 word {sector}" if sector else "reg 0 reg 31"
    for member in ("bi_iter.bi_size", "bi_opf"):
        fields += " " + m.item("word", 0, f"bio.{member}")
    fields += " " + m.item("word", 0, "bio.bi_io_vec", *_PAGE_TO_INODE, "inode.i_ino")
    file = m.path_of(0, "bio.bi_io_vec", *_PAGE_TO_INODE, "inode.i_dentry", back="dentry.d_u.d_alias")
    hooks.entry(
        "bio", code.function("blk_mq_submit_bio", "submit_bio_noacct", "submit_bio"), f"{fields} {file}"
    )
    _pages(hooks, code, m)
    hooks.entry("bio.end", code.function("bio_endio"), "reg 0")


def _pages(hooks: Hooks, code: Code, m: _Members) -> None:
    """Pages of files that somebody wanted: faulted on, mapped, or copied. Each is reported once."""
    fault = m.at(0, "vm_fault.vma", "vm_area_struct.vm_file", "file.f_inode", "inode.i_ino")
    page = m.item("word", 0, "vm_fault.pgoff")
    if fault:
        hooks.entry("page", code.function("filemap_fault"), f"word {fault} {page} unseen")
    for function, register in (("set_pte_range", 1), ("folio_mark_accessed", 0)):
        inode = m.at(register, "page.mapping", "address_space.host", "inode.i_ino")
        index = m.item("word", 2 if function == "set_pte_range" else 0, "page.index")
        if inode:
            hooks.entry("page", code.function(function), f"word {inode} {index} unseen")


def _messages(hooks: Hooks, code: Code) -> None:
    # Its level is its own argument, or -1 and then the text before the format says it.
    hooks.entry("printk", code.function("vprintk_store"), "reg 1 reg 14 str 3")


def _delays(hooks: Hooks, code: Code) -> None:
    """Delays that spin. Those that sleep are seen as switches."""
    hooks.span("delay", code, code.function("__timer_delay"), "reg 0 reg 14")
    hooks.span("delay", code, code.function("calibrate_delay"), "reg 31 reg 14")
    # The other kind counts loops: it falls through into __loop_delay, which jumps to its own start for
    # every loop and so must not be hooked there.
    outer, loop = code.function("__loop_const_udelay"), code.function("__loop_delay")
    if outer and loop:
        hooks.entry("delay", outer, "reg 0 reg 14")
        early = [end for end in code.exits(outer) if end.condition != ALWAYS]
        for end in (*early, *(end for end in code.exits(loop) if end.condition == ALWAYS)):
            when = "" if end.condition == ALWAYS else f"when {end.condition} "
            hooks.add("delay.end", end.address, f"every {when}reg 0")
