# SPDX-License-Identifier: Apache-2.0
"""What cannot be done to the machine that a log is of, whatever its configuration says."""

from __future__ import annotations

from collections.abc import Iterator

from bootscope.inventory.inventory import Inventory
from bootscope.system.changes import Change

_PROCESSORS = r"[Bb]rought up \d{1,3} nodes?, (\d{1,5}) CPUs?|SMP: Total of (\d{1,5}) processors"
_ON_UBI = ("ubifs", "initramfs")
_ON_FLASH = (*_ON_UBI, "squashfs", "jffs2", "cramfs", "yaffs2")
_MOUNTED = r"VFS: Mounted root|mounted filesystem|Switching root|mount_root: "
_NFS = ("/dev/nfs", "nfs")


def impossible(change: Change, facts: Inventory) -> Iterator[str]:
    """Why a change is none for this machine, in words: one for each reason."""
    if change.kernel.get("SMP") is False and (count := processors(facts)) > 1:
        yield f"{count} processors were brought up"
    if any(key.startswith("rootfs.") for key in change.settings):
        yield from _no_such_root(change, facts)


def _no_such_root(change: Change, facts: Inventory) -> Iterator[str]:
    """Why the root file system cannot become another one."""
    root = facts.word("root") or ""
    if root.startswith(_NFS):
        yield f"the root is on a server (root={root})"
    wanted = str(change.settings.get("rootfs.filesystem", ""))
    if wanted and wanted == facts.filesystem:
        yield f"the root is {wanted} already"
    raw = _raw_flash(root, facts)
    if wanted and raw and wanted not in (_ON_UBI if "ubi" in raw else _ON_FLASH):
        yield f"the root is on raw flash ({raw}): {wanted} needs a block device"
    if not root and facts.logged(r"^Run /init as init process") and not facts.logged(_MOUNTED):
        yield "the root is in memory: the log shows no other being mounted"


def _raw_flash(root: str, facts: Inventory) -> str:
    """What tells that the root is on flash without a controller of its own; empty where nothing does."""
    if root.startswith(("ubi", "/dev/mtdblock", "mtd")):
        return f"root={root}"
    if facts.filesystem in ("ubifs", "jffs2", "yaffs2"):
        return facts.filesystem
    # The major number of mtdblock.
    found = facts.logged(r"VFS: Mounted root \(.{1,40}\).* on device 31:\d+")
    return found[0] if found else ""


def processors(facts: Inventory) -> int:
    """How many processors the kernel says it brought up; 0 where its log does not tell."""
    found = facts.logged(_PROCESSORS)
    return max(int(number) for number in found.groups() if number) if found else 0
