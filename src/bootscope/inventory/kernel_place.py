# SPDX-License-Identifier: Apache-2.0
"""Where a compressed kernel for ARM is loaded, and whether that overlaps with what it unpacks to: then it
first moves itself out of the way, which is a pass over memory.

Source: arch/arm/boot/compressed/head.S of Linux, which unpacks to 32 KiB above the start of memory.
"""

from __future__ import annotations

import re

from bootscope.capture import objects
from bootscope.core.errors import UserError
from bootscope.core.text import size
from bootscope.inventory.recorded import Recorded

BELOW_KERNEL_BYTES = 0x8000
"""Memory for the kernel's first page table and the boot loader's parameters."""
_ENDS = re.compile(r"^([0-9a-f]{8,16}) \w (_text|_end)$", re.MULTILINE)
_KEYS = ("kernel.load_address", "kernel.memory_address")


def in_the_way(facts: Recorded) -> str | None:
    """The evidence for a kernel loaded where it unpacks to; empty where it is not, None where settings or
    symbols do not show it."""
    if not all(facts.settings.get(key, "").isdecimal() for key in _KEYS):
        return None
    loaded, memory = (int(facts.settings[key]) for key in _KEYS)
    try:
        symbols = facts.view.evidence.load(objects.KERNEL_SYMBOLS).decode("utf-8", "replace")
    except UserError:
        return None
    ends = {name: int(address, 16) for address, name in _ENDS.findall(symbols)}
    if len(ends) < 2:
        return None
    end = memory + BELOW_KERNEL_BYTES + ends["_end"] - ends["_text"]
    if not memory <= loaded < end:
        return ""
    return f"loaded {size(loaded - memory)} into memory, {size(end - memory)} of which it unpacks to"
