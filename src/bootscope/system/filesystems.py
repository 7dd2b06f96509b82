# SPDX-License-Identifier: Apache-2.0
"""Root file systems that can be made, by the name that `rootfs.filesystem` and `rootfstype=` use."""

from __future__ import annotations

DRIVERS = {
    "ext2": "EXT4_FS",
    "ext3": "EXT4_FS",
    "ext4": "EXT4_FS",
    "squashfs": "SQUASHFS",
    "erofs": "EROFS_FS",
    "f2fs": "F2FS_FS",
    "btrfs": "BTRFS_FS",
    "xfs": "XFS_FS",
    "jffs2": "JFFS2_FS",
    "ubifs": "UBIFS_FS",
    "cramfs": "CRAMFS",
}
"""The kernel symbol of each one's driver."""


def driver_of(name: str) -> str:
    """The symbol for a kind, also for a variant such as `squashfs-lz4`; empty for others."""
    return next((symbol for kind, symbol in DRIVERS.items() if name.startswith(kind)), "")
