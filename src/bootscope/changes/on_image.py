# SPDX-License-Identifier: Apache-2.0
"""Which changes can be made on an image that is built already, and which need its sources.

On copies of the image these can be changed: the kernel's command line, files of the root file system, units
and init scripts, and the initramfs: its compression, its files, the form of its modules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bootscope.system.changes import TREES, Change

MARK = "image.kernel"
"""A setting that only recordings of images have."""
MADE_HERE = (
    "initramfs.compression",
    "initramfs.files",
    "initramfs.links",
    "prebuilt.module_form",
)
"""Settings that can be changed on an image."""
ON_IMAGE, BY_BUILD = "image", "build"
"""Where a technique is carried out."""
_TREES = {"kernel": "another kernel", "uboot": "another boot loader", "busybox": "another BusyBox"}


def is_one_of(key: str, names: Iterable[str]) -> bool:
    """Whether a setting is one of these, or a part of one."""
    return any(key == name or key.startswith(f"{name}.") for name in names)


def is_image(settings: Mapping[str, str]) -> bool:
    """Whether a recorded system is an image that was built already."""
    return MARK in settings


def needs_build(change: Change) -> str:
    """What in a change needs a build, in words; empty where all of it can be made on the image."""
    found = [_TREES[tree] for tree in TREES if change.symbols(tree)]
    if change.compiler_options or change.compiler_options_drop:
        found.append("another application")
    found += ["another board" for key in change.settings if key == "board"]
    found += [key for key in change.settings if key != "board" and not is_one_of(key, MADE_HERE)]
    return f"it needs the build: {', '.join(found)}" if found else ""
