# SPDX-License-Identifier: Apache-2.0
"""Scripts of a system's boot loader and initramfs, with additions."""

from __future__ import annotations

import re
from collections.abc import Callable

from bootscope.core.errors import UserError
from bootscope.inventory.inventory import Inventory, Part
from bootscope.loaders.grub import without_wait
from bootscope.loaders.registry import BUILT

_ROOM = 0x8000000
"""Larger than any initramfs; the memory after it is not used yet."""
_STARTS = """[ -e /dev/null ] || mknod /dev/null c 1 3
chroot {root} {path} < {root}/dev/null > {root}/dev/console 2>&1 &
mount -t tmpfs -o mode=0755,nosuid,nodev run {root}/run
echo $! > {root}/run/{process}.pid
"""
"""systemd keeps a /run that is already mounted."""


def unpacking_script(known: Inventory) -> str:
    """The boot loader's script, changed so that it may unpack the kernel; empty where it cannot."""
    address = _setting(known, "kernel.initramfs_address")
    if not address.isdecimal() or BUILT.unpacking is None:
        return ""
    return BUILT.unpacking(_setting(known, f"{BUILT.tree}.script"), int(address) + _ROOM)


def menu_without_wait(known: Inventory) -> str:
    """The boot loader's menu without a timeout; empty where it has none."""
    return without_wait(_setting(known, f"{BUILT.tree}.script"))


def starting_init(known: Inventory) -> str:
    """The init script of an initramfs, changed to start the application before it switches to the root file
    system, and to hand /run with the application's process ID over to systemd; empty where it does not switch
    to a root file system."""
    text, path = _setting(known, "initramfs.files./init"), _setting(known, "application.path")
    found = re.search(r"(?m)^exec switch_root[ \t]+(/[\w/.-]+)[ \t]", text)
    if not found or not path or path in text:
        return ""
    process = _setting(known, "application.process")
    lines = _STARTS.format(root=found[1], path=path, process=process)
    return text[: found.start()] + lines + text[found.start() :]


def _setting(known: Inventory, key: str) -> str:
    if not known.knows(Part.SETTINGS):
        raise UserError("the settings of the system are not known")
    return known.settings.get(key, "")


FOUND: dict[str, Callable[[Inventory], str]] = {
    "menu_without_wait": menu_without_wait,
    "starting_init": starting_init,
    "unpacking_script": unpacking_script,
}
"""Placeholders, and functions for their values in a system."""
