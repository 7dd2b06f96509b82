# SPDX-License-Identifier: Apache-2.0
"""What is counted of a core's caches, in the order of the plugin's file (native/plugin/hierarchy.h)."""

from __future__ import annotations

from enum import IntEnum


class Count(IntEnum):
    """Kinds of counts; hierarchy.h says what each of them is."""

    LOADS = 0
    STORES = 1
    FETCHES = 2
    FETCH_L2 = 3
    FETCH_MEMORY = 4
    LOAD_L2 = 5
    LOAD_MEMORY = 6
    LOAD_STREAM = 7
    STORE_L2 = 8
    STORE_FILL = 9
    WRITTEN = 10
    WALK_CODE = 11
    WALK_DATA = 12
    UNCACHED_FETCH = 13
    UNCACHED_LOAD = 14
    UNCACHED_STORE = 15
    SRAM = 16
    DEVICE_LOAD = 17
    DEVICE_STORE = 18
    TAKEN = 19
    MISPREDICTED = 20
    POLLED_NS = 21
    SPLIT_LOAD = 22
    SPLIT_STORE = 23
    MULTIPLY = 24
    DIVIDE = 25
    SHIFT = 26
    SCALED = 27
    MORE_REGISTERS = 28
    LOAD_USE = 29
    NARROW_USE = 30


Counts = tuple[int, ...]
"""One number for each kind."""
NONE: Counts = (0,) * len(Count)
