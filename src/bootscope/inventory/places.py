# SPDX-License-Identifier: Apache-2.0
"""Places in memory and on the card that a technique needs: each is a sum of the system's settings, so that
none is an address of one particular board."""

from __future__ import annotations

from collections.abc import Callable

from bootscope.core.errors import UserError
from bootscope.inventory.inventory import Inventory
from bootscope.inventory.kernel_place import BELOW_KERNEL_BYTES

_MIB = 1 << 20
_KERNEL_BYTES, _DEVICE_TREE_BYTES, _INITRAMFS_BYTES = 16 * _MIB, _MIB, 64 * _MIB
"""Room for each after its load address."""


def _setting(known: Inventory, key: str) -> int:
    """A number from the settings. Raises UserError where it is unknown."""
    if not known.settings.get(key, "").isdecimal():
        raise UserError(f"the setting {key} is not known")
    return int(known.settings[key])


def _sum(*keys: str, plus: int = 0, as_text: Callable[[int], str] = str) -> Callable[[Inventory], str]:
    """A function for a sum of settings."""

    def find(known: Inventory) -> str:
        return as_text(sum(_setting(known, key) for key in keys) + plus)

    return find


def _boot_script(known: Inventory) -> str:
    """Where the boot loader's script can be while it loads kernel, device tree and initramfs: after the
    device tree or, where something else is loaded there, after that."""
    device_tree = _setting(known, "kernel.device_tree_address")
    taken = [(_setting(known, "kernel.load_address"), _KERNEL_BYTES), (device_tree, _DEVICE_TREE_BYTES)]
    if known.settings.get("kernel.initramfs_address", "").isdecimal():
        taken.append((_setting(known, "kernel.initramfs_address"), _INITRAMFS_BYTES))
    place = device_tree + _DEVICE_TREE_BYTES
    while over := [start + length for start, length in taken if start <= place < start + length]:
        place = over[0]
    return hex(place)


def _initramfs(known: Inventory) -> str:
    """Where an initramfs can be loaded: the system's address or, if that is not in the board's memory, one
    far after the kernel."""
    memory = _setting(known, "kernel.memory_address")
    own = known.settings.get("kernel.initramfs_address", "")
    end = memory + _setting(known, "kernel.memory_bytes")
    return own if own.isdecimal() and memory <= int(own) < end else str(memory + _INITRAMFS_BYTES)


FOUND: dict[str, Callable[[Inventory], str]] = {
    "free_sector": _sum("card.root_sector", "card.root_sectors"),
    "unused_sector": _sum("card.boot_sector", plus=-1, as_text=hex),
    "seed_sector": _sum("card.boot_sector", plus=-2),
    "boot_script_address": _boot_script,
    "initramfs_place": _initramfs,
    # An image that unpacks itself: well after its target. Any other: where Linux for ARM begins.
    "uimage_address": _sum("kernel.memory_address", plus=16 * _MIB),
    "image_address": _sum("kernel.memory_address", plus=BELOW_KERNEL_BYTES),
    "image_place": _sum("kernel.memory_address", plus=BELOW_KERNEL_BYTES - 64),
    "address_in_the_way": _sum("kernel.memory_address", plus=8 * _MIB),
    "address_behind_kernel": _sum("kernel.memory_address", plus=32 * _MIB),
    "place_of_uimage": _sum("kernel.load_address", plus=64),
}
"""Placeholders, and functions for their values in a system."""
