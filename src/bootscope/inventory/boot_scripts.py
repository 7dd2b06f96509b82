# SPDX-License-Identifier: Apache-2.0
"""Scripts of a system's boot loader and initramfs with more in them than they have."""

from __future__ import annotations

import re
from collections.abc import Callable

from bootscope.core.errors import UserError
from bootscope.inventory.inventory import Inventory, Part
from bootscope.loaders.grub import without_wait
from bootscope.loaders.registry import BUILT

_ROOM = 0x8000000
"""More than any initramfs has; behind it is memory that nothing uses yet."""
_STARTS = """[ -e /dev/null ] || mknod /dev/null c 1 3
chroot {root} {path} < {root}/dev/null > {root}/dev/console 2>&1 &
mount -t tmpfs -o mode=0755,nosuid,nodev run {root}/run
echo $! > {root}/run/{process}.pid
"""
"""systemd keeps a /run that is mounted already."""


def unpacking_script(known: Inventory) -> str:
    """The boot loader's script, by which it may unpack the kernel; empty where it cannot."""
    address = _setting(known, "kernel.initramfs_address")
    if not address.isdecimal() or BUILT.unpacking is None:
        return ""
    return BUILT.unpacking(_setting(known, f"{BUILT.tree}.script"), int(address) + _ROOM)


def menu_without_wait(known: Inventory) -> str:
    """The boot loader's menu, with no time to choose; empty where there is no such wait."""
    return without_wait(_setting(known, f"{BUILT.tree}.script"))


def starting_init(known: Inventory) -> str:
    """The init script of an initramfs, which starts the application before it goes over to the root file
    system, and hands /run over to systemd with the number of its process in it; empty where it does not go
    over to a root file system."""
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
"""Placeholders, and what finds their values in a system."""
