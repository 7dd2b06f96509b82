# SPDX-License-Identifier: Apache-2.0
"""Names for the addresses in a kernel trace, out of what was stored with it."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property

from bootscope.readers.lines import decode

_SYMBOL = re.compile(rb"^([0-9a-f]{1,16}) [a-zA-Z?] (\S{1,512})", re.M)
_FORMAT = re.compile(rb'^(?:0x)?([0-9a-f]{1,16}) : "(.{0,4000})"', re.M)
_TASK = re.compile(rb"^ {0,8}(\d{1,9}) ([^\n]{1,64})$", re.M)


class Symbols:
    """Functions by address, from /proc/kallsyms."""

    def __init__(self, kallsyms: bytes) -> None:
        self._text = kallsyms

    @cached_property
    def _sorted(self) -> tuple[list[int], list[bytes]]:
        found = sorted((int(at, 16), name) for at, name in _SYMBOL.findall(self._text))
        found = [one for one in found if one[0]]  # all are 0 for who may not see them
        return [at for at, _ in found], [name for _, name in found]

    def name(self, address: int) -> str:
        """The function that an address lies in, or the address where none is known."""
        starts, names = self._sorted
        index = bisect_right(starts, address) - 1
        return decode(names[index]) if index >= 0 else f"0x{address:x}"


def formats(printk: bytes) -> dict[int, str]:
    """Texts of trace_printk by their address, from printk_formats."""
    return {int(at, 16): decode(text).replace("\\n", "") for at, text in _FORMAT.findall(printk)}


def tasks(cmdlines: bytes) -> dict[int, str]:
    """Names of tasks by number, from saved_cmdlines."""
    return {int(pid): decode(name) for pid, name in _TASK.findall(cmdlines)} | {0: "<idle>"}
