# SPDX-License-Identifier: Apache-2.0
"""System calls of all processes (`record --syscalls`): each call and return, and the files that they look up.

Covers all processes from init on and stops none of them: the kernel's functions that carry out the calls are
watched. Unlike strace, arguments stay numbers, and signals are not recorded.
"""

from __future__ import annotations

from collections.abc import Iterator

from bootscope.arch.model import Architecture
from bootscope.capture.record import SYSCALL, SYSCALL_FILE
from bootscope.core.errors import UserError
from bootscope.emulator.probes import NOTHING, Hooks, stack_pointer
from bootscope.image.code import Code, Function

_LOOKS_UP = (("do_filp_open",), ("filename_lookup",), ("__filename_parentat", "filename_parentat"))
"""Functions that take the name of a file: to open, of any other use, and to create, remove or rename (by its
names in different versions). The name is in the kernel's memory by then: struct filename begins with a
pointer to it. Linux 3.10 to 6: fs/namei.c, include/linux/fs.h."""
_ARGUMENTS = 4
_NOT_THERE = "ni_syscall"
_OLD_TIMES = "_time32"
"""The kernel's suffix for system calls with 32-bit times."""


def add(hooks: Hooks, kernel: Code) -> list[str]:
    """Adds the hooks, and returns lines for the plugin. Raises UserError where the kernel's symbols have no
    system calls."""
    first, arch = len(hooks.names) + 1, kernel.arch
    found = list(functions(kernel))
    if not found:
        raise UserError("--syscalls: the functions of system calls are not known: this kernel has no symbols")
    taken = f"{stack_pointer(arch)} {_arguments(arch)}"
    for name, function in found:
        hooks.call(f"{SYSCALL}{name}", kernel, function, taken)
    name_at = arch.registers.arguments[1]
    for names in _LOOKS_UP:
        hooks.entry(SYSCALL_FILE, kernel.function(*names), f"{NOTHING} str {name_at}+0>0")
    return [f"routine {first} {len(hooks.names)}"]


def functions(kernel: Code) -> Iterator[tuple[str, Function]]:
    """(system call, the kernel's function for it), one for each address."""
    beginning, *others = kernel.arch.kernel.syscall_functions or ("",)
    seen: set[int] = set()
    for function in kernel.functions if beginning else ():
        if function.name.startswith(beginning):
            name = function.name.removeprefix(beginning)
        elif function.name in others:
            name = function.name.removeprefix("sys_")
        else:
            continue
        name = name.removesuffix(_OLD_TIMES)
        if name != _NOT_THERE and "." not in name and function.address not in seen:
            seen.add(function.address)
            yield name, function


def _arguments(arch: Architecture) -> str:
    """The items for the caller's arguments; where the kernel saves them, its first argument points to the
    saved registers."""
    first, *_ = registers = arch.registers.arguments
    if saved := arch.kernel.saved_arguments:
        return " ".join(f"word {first}+{at}" for at in saved[:_ARGUMENTS])
    return " ".join(f"reg {register}" for register in registers[:_ARGUMENTS])
