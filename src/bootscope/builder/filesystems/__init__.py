# SPDX-License-Identifier: Apache-2.0
"""Kinds of root file systems: each makes an image without root, with the same bytes each time, and a map of
its content."""

from __future__ import annotations

from bootscope.builder.filesystems import btrfs, cramfs, erofs, ext, f2fs, jffs2, squashfs, ubifs, xfs
from bootscope.builder.filesystems.model import FileSystem

KINDS: dict[str, FileSystem] = {
    **{name: ext.kind(name) for name in ("ext2", "ext3", "ext4")},
    "squashfs": squashfs.KIND,
    "erofs": erofs.KIND,
    "f2fs": f2fs.KIND,
    "btrfs": btrfs.KIND,
    "xfs": xfs.KIND,
    "jffs2": jffs2.KIND,
    "ubifs": ubifs.KIND,
    "cramfs": cramfs.KIND,
}
"""By the name that `rootfs.filesystem` and `rootfstype=` use."""
