# SPDX-License-Identifier: Apache-2.0
"""Trees of Linux, U-Boot and BusyBox as their own make left them, and a root file system beside them."""

from __future__ import annotations

from pathlib import Path

from bootscope.artefacts import tree
from bootscope.buildtrees import parts as common
from bootscope.buildtrees.look import Look
from bootscope.buildtrees.parts import Parts

LOOKED_FOR = ".config of Linux, U-Boot or BusyBox, here or one or two folders down"
_AT = ("", "*/", "*/*/")
_TREES = ("kernel", "uboot", "busybox")


def root_of(folder: Path) -> Path | None:
    """The folder named, when it is or holds a tree."""
    look = Look(folder)
    configs = [p for at in _AT for p in look.all(f"{at}.config")]
    return folder if any(common.is_config(t)(p) for t in _TREES for p in configs) else None


def collect(parts: Parts) -> None:
    """Looks for everything."""
    patterns = [f"{at}.config" for at in _AT]
    parts.missing.clear()
    common.kernel_tree(parts, common.config(parts, "kernel", patterns))
    common.uboot_tree(parts, common.config(parts, "uboot", patterns))
    common.config(parts, "busybox", patterns)
    for path in (p for at in _AT[1:] for p in parts.look.all(at.rstrip("/"), folder=True)):
        if tree.is_root(child.name for child in path.iterdir()) and (path / "etc").is_dir():
            parts.put("rootfs-folder", path)
            break
    common.root_images(parts, ["rootfs", "*/rootfs"])
    common.boot_files(parts, "", [f"{at}{name}" for at in _AT[:2] for name in common.MENUS])
