# SPDX-License-Identifier: Apache-2.0
"""The kernel's table of initcalls: which functions the kernel calls at which level."""

from __future__ import annotations

from collections.abc import Mapping

from bootscope.image.code import Code

_LEVELS = ("early", "pure", "core", "postcore", "arch", "subsys", "fs", "rootfs", "device", "late")
_STARTS = (
    "__initcall_start",
    "__initcall0_start",
    "__initcall1_start",
    "__initcall2_start",
    "__initcall3_start",
    "__initcall4_start",
    "__initcall5_start",
    "__initcallrootfs_start",
    "__initcall6_start",
    "__initcall7_start",
    "__initcall_end",
)


def levels(code: Code, address_of: Mapping[str, int]) -> dict[int, str]:
    """Address of an initcall -> its level, from the table that the kernel itself walks."""
    found: dict[int, str] = {}
    for level, begin, end in zip(_LEVELS, _STARTS, _STARTS[1:], strict=False):
        if begin in address_of and end in address_of:
            for function in _functions(code, address_of[begin], address_of[end]):
                found[code.arch.code_address(function)] = level
    return found


def _functions(code: Code, start: int, end: int) -> list[int]:
    if not code.arch.kernel.relative_initcalls:
        return code.words(start, end)
    data = code.read(start, end - start)
    places = range(0, len(data) - 3, 4)
    return [start + at + int.from_bytes(data[at : at + 4], "little", signed=True) for at in places]
