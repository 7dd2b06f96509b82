# SPDX-License-Identifier: Apache-2.0
"""Hooks in a Linux kernel: initcalls, probes, processes, interrupts, reads, messages, delays.

The kernel is not changed: functions come from vmlinux, members of structures from the layout that the build
found. A function that a kernel lacks gives no hook, and its view says so.
"""

from __future__ import annotations

from bootscope.arch.model import ALWAYS, Architecture
from bootscope.emulator.probes import NOTHING, Hooks, argument, caller, when
from bootscope.emulator.subject import Layout
from bootscope.image.code import Code


class _Members:
    """Pointer chains through the kernel's structures, in the syntax of the watch file.

    They begin in an argument of the hooked function; arguments count from 0.
    """

    def __init__(self, layout: Layout, arch: Architecture) -> None:
        self._layout = layout
        self.arch, self._registers = arch, arch.registers

    @property
    def link(self) -> str:
        """The item for the function's return address."""
        return caller(self.arch)

    def argument(self, *numbers: int) -> str:
        """The items for arguments of the function."""
        return argument(self.arch, *numbers)

    def register(self, argument: int) -> str:
        """The register that holds an argument."""
        return self._registers.arguments[argument]

    def chain(self, number: int, offset: int) -> str:
        """The memory that an argument points to, at an offset."""
        return f"{self.register(number)}+{offset}"

    def at(self, start: int, *path: str) -> str | None:
        """The address of a member, following the pointers before it; None when the kernel lacks a member on
        the way."""
        if any(name not in self._layout for name in path):
            return None
        offsets = [self._layout[name] for name in path]
        return f"{self.register(start)}+" + ">".join(str(offset) for offset in offsets)

    def item(self, kind: str, start: int, *path: str, then: str = "") -> str:
        """`word CHAIN`, `int CHAIN` or `str CHAIN` for a member, or nothing when the kernel lacks it."""
        chain = self.at(start, *path)
        return f"{kind} {chain}{then}" if chain else ("" if kind == "str" else NOTHING)

    def path_of(self, start: int, *path: str, back: str = "") -> str:
        """`path CHAIN ...` from a member that points to a dentry (to its member `back`, if given)."""
        chain = self.at(start, *path)
        name, parent = self._layout.get("dentry.d_name.name"), self._layout.get("dentry.d_parent")
        if chain is None or name is None or parent is None or (back and back not in self._layout):
            return ""
        return f"path {chain}>{-self._layout[back] if back else 0} {name} {parent}"


_PAGE_TO_INODE = ("bio_vec.bv_page", "page.mapping", "address_space.host")


def add(hooks: Hooks, code: Code, layout: Layout) -> None:
    """Adds all hooks for this kernel."""
    members = _Members(layout, code.arch)
    _initcalls(hooks, code, members)
    _processes(hooks, code, members)
    _work(hooks, code, members)
    _storage(hooks, code, members)
    _messages(hooks, code, members)
    _delays(hooks, code, members)


def _initcalls(hooks: Hooks, code: Code, m: _Members) -> None:
    hooks.calls("initcall", code, code.function("do_one_initcall"))
    hooks.entry("module", code.function("do_init_module"), m.item("str", 0, "module.name"))
    name = m.item("str", 0, "device_driver.name", then=">0")
    hooks.entry("driver", code.function("driver_register"), name)
    probe = code.function("really_probe")
    hooks.span("probe", code, probe, m.item("str", 0, "device.kobj.name", then=">0"))
    hooks.entry("probe.driver", probe, m.item("str", 1, "device_driver.name", then=">0"))


def _processes(hooks: Hooks, code: Code, m: _Members) -> None:
    def number(argument: int, member: str) -> str:
        return m.item("int", argument, f"task_struct.{member}")

    entries = m.arch.kernel
    old, new = entries.switch_from, entries.switch_to
    comm, mm = m.item("str", new, "task_struct.comm"), m.item("word", new, "task_struct.mm")
    numbers = f"{number(new, 'pid')} {number(new, 'tgid')} {number(old, '__state')}"
    hooks.entry(
        "switch", code.function(entries.switch), f"{m.argument(old, new)} {numbers} {mm} {comm} stack"
    )
    made = f"{m.argument(0)} {number(0, 'pid')} {number(0, 'tgid')} {number(0, 'flags')}"
    comm = m.item("str", 0, "task_struct.comm")
    hooks.entry("fork", code.function("wake_up_new_task"), f"{made} {comm}")
    hooks.entry("exit", code.function("do_exit"), m.argument(0))
    hooks.entry("wake", code.function("try_to_wake_up"), f"{m.argument(0)} {number(0, '__state')} {m.link}")
    _executed(hooks, code, m)
    # A file mapped into a process: file, address, bytes, flags, offset in pages.
    mapped = f"{m.argument(0, 1, 2, 3, 4)} {m.path_of(0, 'file.f_path.dentry')}"
    hooks.entry("map", code.function("mmap_region"), mapped)


def _executed(hooks: Hooks, code: Code, m: _Members) -> None:
    """Executed programs: file and arguments, as the kernel or a program passes them. Later in the system call
    the kernel disables access to user memory, and the plugin cannot read it either."""
    entries = m.arch.kernel
    of_kernel = f"str {m.register(0)}", f"args {m.chain(1, 0)}"
    of_program = of_kernel
    if entries.saved_arguments:
        name_at, words_at, *_ = entries.saved_arguments
        of_program = f"str {m.chain(0, name_at)}>0", f"args {m.chain(0, words_at)}>0"
    only = f" if {entries.syscall_register} {entries.execve}" if entries.syscall_register else ""
    for function, (file, words), test in (
        (code.function("kernel_execve"), of_kernel, ""),
        (code.function(entries.syscall), of_program, only),
    ):
        hooks.entry("execve", function, f"{m.link} {words}{test}")
        hooks.entry("execve.file", function, f"{m.link} {file}{test}")


def _work(hooks: Hooks, code: Code, m: _Members) -> None:
    action = m.item("str", 0, "irq_desc.action", "irqaction.name", then=">0")
    irq = f"{m.item('int', 0, 'irq_desc.irq_data.irq')} {action}"
    hooks.span("irq", code, code.function("__handle_irq_event_percpu", "handle_irq_event_percpu"), irq)
    hooks.span("softirq", code, code.function("handle_softirqs", "__do_softirq"), NOTHING)
    work = m.item("word", 1, "work_struct.func")
    hooks.span("work", code, code.function("process_one_work"), work)


def _storage(hooks: Hooks, code: Code, m: _Members) -> None:
    sector = m.at(0, "bio.bi_iter.bi_sector")
    fields = f"{m.argument(0)} " + (f"word {sector}" if sector else NOTHING)
    for member in ("bi_iter.bi_size", "bi_opf"):
        fields += " " + m.item("int", 0, f"bio.{member}")
    fields += " " + m.item("word", 0, "bio.bi_io_vec", *_PAGE_TO_INODE, "inode.i_ino")
    file = m.path_of(0, "bio.bi_io_vec", *_PAGE_TO_INODE, "inode.i_dentry", back="dentry.d_u.d_alias")
    hooks.entry(
        "bio", code.function("blk_mq_submit_bio", "submit_bio_noacct", "submit_bio"), f"{fields} {file}"
    )
    _pages(hooks, code, m)
    hooks.entry("bio.end", code.function("bio_endio"), m.argument(0))


def _pages(hooks: Hooks, code: Code, m: _Members) -> None:
    """Pages of files that were needed: faulted in, mapped, or copied. Each is reported once."""
    fault = m.at(0, "vm_fault.vma", "vm_area_struct.vm_file", "file.f_inode", "inode.i_ino")
    page = m.item("word", 0, "vm_fault.pgoff")
    if fault:
        hooks.entry("page", code.function("filemap_fault"), f"word {fault} {page} unseen")
    for function, start in (("set_pte_range", 1), ("folio_mark_accessed", 0)):
        inode = m.at(start, "page.mapping", "address_space.host", "inode.i_ino")
        index = m.item("word", 2 if function == "set_pte_range" else 0, "page.index")
        if inode:
            hooks.entry("page", code.function(function), f"word {inode} {index} unseen")


def _messages(hooks: Hooks, code: Code, m: _Members) -> None:
    # The level is an argument of its own; if that is -1, it is in the text before the format.
    hooks.entry("printk", code.function("vprintk_store"), f"{m.argument(1)} {m.link} str {m.register(3)}")


def _delays(hooks: Hooks, code: Code, m: _Members) -> None:
    """Delays that spin. Those that sleep show up as task switches."""
    for name in m.arch.kernel.delays:
        hooks.span("delay", code, code.function(name), f"{m.argument(0)} {m.link}")
    # They measure how much work fits into a fixed time, so they take equally long on any CPU.
    for name in ("calibrate_delay", "raid6_select_algo", "hpet_alloc"):
        hooks.span("delay", code, code.function(name), f"{NOTHING} {m.link}")
    # The other kind of delay counts loops: it falls through into __loop_delay, which jumps to its own start
    # in every loop, so its start must not be hooked.
    outer, loop = code.function("__loop_const_udelay"), code.function("__loop_delay")
    if outer and loop:
        hooks.entry("delay", outer, f"{m.argument(0)} {m.link}")
        early = [end for end in code.exits(outer) if end.condition != ALWAYS]
        for end in (*early, *(end for end in code.exits(loop) if end.condition == ALWAYS)):
            hooks.add("delay.end", end.address, f"every {when(end.condition)}{m.argument(0)}")
