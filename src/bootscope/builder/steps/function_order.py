# SPDX-License-Identifier: Apache-2.0
"""Links the functions of a kernel in an order that the system gives (`kernel.function_order`).

Each function gets its own section, by a compiler option. The kernel's linker script is edited to include a
list of some of these sections before all others; the list is beside the kernel that is built, so that
another order only links the same objects again. Functions that are not in the list stay where they were.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from bootscope.builder.steps.edits import Edit, edited
from bootscope.core.errors import UserError, printable
from bootscope.system.model import Kernel

SETTING = "kernel.function_order"
LIST = "function-order.lds"
OPTION = "CFLAGS_KERNEL=-ffunction-sections"
"""For make: options for what is built into the kernel, not for modules."""
_NAME = re.compile(r"[A-Za-z_][\w.]*", re.ASCII)
_SCRIPT = "include/asm-generic/vmlinux.lds.h"
_HOT = "\t\t*(.text.hot .text.hot.*)\t\t\t\t\\\n"
_MAIN = "\t\t*(TEXT_MAIN .text.fixup)\t\t\t\t\\\n"
# The compiler's names for unlikely code match those of functions: its pattern must come first of the two.
_EDITS = (
    Edit(_SCRIPT, _HOT, f"\t\tINCLUDE {LIST}\t\t\t\t\\\n{_HOT}"),
    Edit(
        _SCRIPT,
        _MAIN,
        "\t\t*(.text.unlikely .text.unlikely.* .text.unknown .text.unknown.*)\t\\\n"
        "\t\t*(.text .text.[0-9a-zA-Z_]*)\t\t\t\t\\\n",
    ),
)
INPUTS = msgspec.to_builtins(_EDITS)
"""What the edited sources depend on, which does not include the order."""


def names(kernel: Kernel) -> tuple[str, ...]:
    """The functions in order, each once; none where a system gives no order.

    Raises UserError for an invalid name of a function.
    """
    if not isinstance(kernel.function_order, str):
        return ()
    found = tuple(dict.fromkeys(kernel.function_order.split()))
    for name in found:
        if not _NAME.fullmatch(name):
            raise UserError(f"{SETTING}: '{printable(name)}' is not the name of a function")
    return found


def files(tree: Path, there: Mapping[str, str]) -> dict[str, str]:
    """The changed sources; see :func:`bootscope.builder.steps.edits.edited`."""
    return edited(tree, there, _EDITS, SETTING)


def prepare(build: Path, order: tuple[str, ...]) -> None:
    """Puts the list where the link finds it. A kernel that was linked with another list is linked again."""
    text = "".join(f"*(.text.{name})\n" for name in order)
    path = build / LIST
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
        (build / "vmlinux").unlink(missing_ok=True)
