# SPDX-License-Identifier: Apache-2.0
"""What is impossible on the machine that a log comes from, whatever its configuration says: checks the change
of a recipe, and whether a technique is for such systems."""

from __future__ import annotations

from collections.abc import Iterator

from bootscope.changes.on_image import is_image, needs_build
from bootscope.inventory.inventory import Inventory
from bootscope.inventory.machine import (
    architecture,
    init_system,
    on_server,
    processors,
    raw_flash,
    root_in_memory,
    root_kind,
)
from bootscope.loaders.registry import BUILT
from bootscope.system.changes import TREES, Change
from bootscope.techniques.model import Scope

_ON_UBI = ("ubifs", "initramfs")
_ON_FLASH = (*_ON_UBI, "squashfs", "jffs2", "cramfs", "yaffs2")
_CONTENT = ("rootfs.library_cache", "rootfs.font_cache")
_TITLES = {"kernel": "kernel", BUILT.tree: "boot loader", "busybox": "BusyBox"}
_LOADERS = (
    *(f"{BUILT.tree}.", "firmware.", "card.raw_"),
    *("kernel.packed", "kernel.uimage_address", "kernel.append_device_tree"),
)
"""Prefixes of settings that only a boot loader uses."""
_EDITS = f"{BUILT.tree}.edits."
_COMPILED = ("kernel.files", "kernel.function_order", "kernel.library_self_tests", "kernel.probe_later")
"""Settings of the kernel's code."""
_PLACES = {
    "block": "on a block device",
    "flash": "on raw flash",
    "memory": "in memory",
    "network": "on a server",
}


def impossible(change: Change, facts: Inventory) -> Iterator[str]:
    """Why this machine cannot have a change, in words: one for each reason."""
    if change.kernel.get("SMP") is False and (count := processors(facts)) > 1:
        yield f"{count} processors were brought up"
    without = facts.settings.get(f"{BUILT.tree}.source") == "" and not is_image(facts.settings)
    if without and _by_loader(change):
        yield "it has no boot loader: the emulator starts the kernel"
    own = facts.settings.get("application.sources") or "application.configured.source" in facts.settings
    packaged = "application.sources" in facts.settings and not own and not is_image(facts.settings)
    if packaged and _compiles_application(change):
        yield "its application comes from a package, and is not compiled"
    yield from _no_such_library(change, facts)
    if other_root(change):
        yield from _no_such_root(change, facts)


def _no_such_library(change: Change, facts: Inventory) -> Iterator[str]:
    """Why the programs of a system that bootscope builds cannot be linked to musl."""
    asked = [key for key in ("application.libc", "busybox.libc") if change.settings.get(key) == "musl"]
    if not asked or "application.sources" not in facts.settings or is_image(facts.settings):
        return
    if "application.libc" in asked and "application.configured.source" in facts.settings:
        yield "its application has a configure script of its own, which is given no other C library"
    source = facts.settings.get("application.libc_source", "")
    if not any(key.startswith(f"sources.{source}.") for key in facts.settings):
        yield f"the system names no source {source}"


def other_root(change: Change) -> bool:
    """Whether a change concerns how the root file system is stored or mounted, not just its content."""
    return any(key.startswith("rootfs.") and key not in _CONTENT for key in change.settings)


def _by_loader(change: Change) -> bool:
    """Whether a change concerns the boot loader, or the form of kernel that it loads."""
    return bool(change.symbols(BUILT.tree)) or any(key.startswith(_LOADERS) for key in change.settings)


def _compiles_application(change: Change) -> bool:
    options = (*change.compiler_options, *change.compiler_options_drop)
    return bool(options) or any(k.startswith("application.") or k == "toolchain" for k in change.settings)


def prebuilt(change: Change, facts: Inventory) -> Iterator[str]:
    """What a change would configure or add to, although the system takes it prebuilt: it cannot be tried
    here, and is advice for whoever builds it."""
    if is_image(facts.settings) and (needed := needs_build(change)):
        yield needed
    for tree, key in ((tree, f"prebuilt.{tree}") for tree in TREES):
        taken = facts.settings.get(key) and change.settings.get(key) != ""
        if taken and (change.symbols(tree) or f"{tree}.defconfig" in change.settings):
            yield f"its {_TITLES[tree]} is prebuilt"
        if taken and tree == "kernel" and any(key in change.settings for key in _COMPILED):
            yield "its kernel is prebuilt: what is compiled of it stays as it is"
        if taken and tree == "kernel" and change.settings.get("initramfs.place") == "built-in":
            yield "its kernel is prebuilt: an initramfs cannot become a part of it"
        if taken and tree == BUILT.tree and change.settings.get(f"{BUILT.tree}.falcon"):
            yield "its boot loader is prebuilt: Falcon mode needs one with an SPL of this build"
        if taken and tree == BUILT.tree and any(key.startswith(_EDITS) for key in change.settings):
            yield "its boot loader is prebuilt: its sources are not compiled here"
    touched = any(change.settings.get(f"kernel.{key}") for key in ("append_device_tree", "disabled_nodes"))
    if touched and "prebuilt.kernel" in facts.settings and not facts.settings.get("prebuilt.device_tree"):
        yield "its device tree comes from the boot loader"


def _no_such_root(change: Change, facts: Inventory) -> Iterator[str]:
    """Why the root file system cannot be replaced by another kind."""
    if server := on_server(facts):
        yield f"the root is on a server ({server})"
    wanted = str(change.settings.get("rootfs.filesystem", ""))
    if wanted and wanted == facts.filesystem:
        yield f"the root is {wanted} already"
    raw, on_ubi = raw_flash(facts), change.settings.get("rootfs.volume") == "ubi"
    if wanted and raw and not on_ubi and wanted not in (_ON_UBI if "ubi" in raw else _ON_FLASH):
        yield f"the root is on raw flash ({raw}): {wanted} needs a block device"
    if root_in_memory(facts):
        yield "the root is in memory: the log shows no other being mounted"


def out_of_scope(scope: Scope, facts: Inventory) -> str:
    """Why a technique is not for this system; empty where it is, or where that is unknown."""
    return next(_outside(scope, facts), "")


def _outside(scope: Scope, facts: Inventory) -> Iterator[str]:
    for what, found, wanted in (
        ("the processor is {}", architecture, scope.architectures),
        ("the init is {}", init_system, scope.inits),
        ("the root is {}", root_kind, scope.roots),
    ):
        if wanted and (here := found(facts)) and here not in wanted:
            yield what.format(_PLACES.get(here, here))
    if (scope.least_cpus or scope.most_cpus) and (count := processors(facts)):
        if scope.most_cpus and count > scope.most_cpus:
            yield f"{count} processors were brought up"
        if count < scope.least_cpus:
            yield "one processor was brought up" if count == 1 else f"only {count} processors were brought up"
