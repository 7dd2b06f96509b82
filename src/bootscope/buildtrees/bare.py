# SPDX-License-Identifier: Apache-2.0
"""Trees of Linux, U-Boot and BusyBox as built by their own makefiles, and a root file system beside them."""

from __future__ import annotations

import stat
from pathlib import Path

from bootscope.artefacts import tree
from bootscope.buildtrees import parts as common
from bootscope.buildtrees.look import Look
from bootscope.buildtrees.parts import Parts
from bootscope.core.errors import UserError, printable
from bootscope.core.text import listed

LOOKED_FOR = ".config of Linux, U-Boot or BusyBox, here or one or two folders down"
_AT = ("", "*/", "*/*/")
_TREES = {"kernel": "kernel", "uboot": "U-Boot", "busybox": "BusyBox"}
_MOST_NAMED = 6


def root_of(folder: Path) -> Path | None:
    """The given folder, when it is or contains a tree."""
    look = Look(folder)
    configs = [p for at in _AT for p in look.all(f"{at}.config")]
    return folder if any(common.is_config(t)(p) for t in _TREES for p in configs) else None


def collect(parts: Parts) -> None:
    """Searches for everything."""
    patterns = [f"{at}.config" for at in _AT]
    parts.missing.clear()
    _refuse_mixture(parts.look)
    common.kernel_tree(parts, common.config(parts, "kernel", patterns))
    common.uboot_tree(parts, common.config(parts, "uboot", patterns))
    common.config(parts, "busybox", patterns)
    for path in _roots(parts.look)[:1]:
        parts.put("rootfs-folder", path)
    common.root_images(parts, ["rootfs", "*/rootfs"])
    common.boot_files(parts, "", [f"{at}{name}" for at in _AT[:2] for name in common.MENUS])


def _roots(look: Look) -> list[Path]:
    """Folders that are root file systems."""
    folders = (p for at in _AT[1:] for p in look.all(at.rstrip("/"), folder=True))
    return [p for p in folders if (p / "etc").is_dir() and tree.is_root(_names(p))]


def _names(folder: Path) -> list[str]:
    try:
        return [child.name for child in folder.iterdir()]
    except OSError:
        return []


def _refuse_mixture(look: Look) -> None:
    """Raises UserError for a folder that holds parts of several products: nothing says which kernel goes with
    which root file system.

    That is the case where one sort of part is in several folders, where parts are nested in different
    folders, and where parts are in a folder that every user may write to.
    """
    configs = [p for at in _AT for p in look.all(f"{at}.config")]
    sorts = {title: [p.parent for p in configs if common.is_config(t)(p)] for t, title in _TREES.items()}
    sorts["root file system"] = _roots(look)
    tops = {what: {_top(look.root, p) for p in places} - {""} for what, places in sorts.items()}
    deep = {_top(look.root, p) for places in sorts.values() for p in places if p.parent != look.root} - {""}
    several = any(len(found) > 1 for found in tops.values())
    shared = bool(look.root.stat().st_mode & stat.S_ISVTX) and len(set().union(*tops.values())) > 1
    if several or len(deep) > 1 or shared:
        found = [f"{what} in {look.relative(p)}" for what, places in sorts.items() for p in places]
        named = printable(listed(found, _MOST_NAMED))
        raise UserError(
            f"{printable(str(look.root))} has parts that may not belong together: {named}",
            hint="name the folder of one product; or name the files themselves: bootscope audit FILE...",
        )


def _top(root: Path, path: Path) -> str:
    """The folder just below the root that is or contains a path; empty for the root itself."""
    return "" if path == root else path.relative_to(root).parts[0]
