# SPDX-License-Identifier: Apache-2.0
"""What must not be tried: symbols that this kind of system needs, and those whose code runs only when an
error occurs, so that a run without errors is no evidence against them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from bootscope.arch.model import Architecture
from bootscope.devices import sd_card
from bootscope.system.filesystems import driver_of
from bootscope.system.model import System

IN_CASE: dict[str, dict[str, tuple[str, ...]]] = {
    "kernel": {
        "security": (
            *("STACKPROTECTOR*", "STRICT_*_RWX", "HARDEN_*", "VMAP_STACK", "SECCOMP*", "MULTIUSER"),
            *("INIT_STACK_*", "INIT_ON_*", "FORTIFY_SOURCE", "CPU_SW_DOMAIN_PAN", "ARM_PAN"),
            *("HARDENED_USERCOPY", "SLAB_FREELIST_*", "RANDOMIZE_*", "SECURITY*", "LEGACY_TIOCSTI"),
        ),
        "errors": ("BUG", "PRINTK", "DEBUG_BUGVERBOSE"),
        "recovery": ("PANIC_*", "BLK_DEV_WRITE_MOUNTED"),
        "measuring": ("PRINTK_TIME",),
        "an SMP kernel on one CPU": ("SMP_ON_UP",),
    },
    "uboot": {
        "recovery": (
            *("AUTOBOOT", "CMDLINE", "CMD_BOOTDELAY", "HUSH_PARSER", "CMD_RUN", "CMD_ENV*"),
            sd_card.COMMAND_SYMBOL,
        ),
        "errors": ("PRINTF", "PANIC_HANG", "SYS_HUSH_PARSER"),
    },
    "busybox": {"recovery": ("ASH", "SH_IS_ASH", "INIT", "REBOOT", "MOUNT", "UMOUNT", "LOGIN")},
}
"""By tree and purpose: patterns of symbols."""

_SHELL_FILE = re.compile(r"\.sh$|^/etc/init\.d/.+")


def in_case(tree: str, names: Iterable[str]) -> dict[str, str]:
    """Symbols for the case of an error, with the reason to keep them."""
    groups = IN_CASE.get(tree, {})
    return {
        name: f"for {what}: never running is no evidence"
        for name in names
        for what, patterns in groups.items()
        if any(fnmatchcase(name, pattern) for pattern in patterns)
    }


def by_nature(tree: str, system: System, arch: Architecture, files: Mapping[str, str]) -> dict[str, str]:
    """Kernel symbols that this kind of system needs, with the reason; `files` are those of its root file
    system, as the list of contents has them."""
    if tree != "kernel":
        return {}
    kind = system.rootfs.filesystem
    found = {driver_of(kind): f"the root file system is {kind}", "BINFMT_ELF": "programs are ELF files"}
    if not any(path.startswith("/dev/") for path in files):
        why = "the root file system has nothing in /dev"
        found |= {"DEVTMPFS": why, "DEVTMPFS_MOUNT": why}
    if system.framebuffer:
        found["PROC_FS"] = "without it the kernel registers the frame buffer but creates no /dev/fb0"
    if any(_SHELL_FILE.search(path) for path in files):
        found["BINFMT_SCRIPT"] = "init runs scripts"
    found["HIGH_RES_TIMERS"] = "otherwise sleeping programs wake up later"
    if any(path.startswith(f"/lib/{arch.tools.libraries[0]}") for path in files):
        found |= arch.program_symbols
    if f"root={sd_card.ROOT}" in system.kernel.command_line:
        found |= sd_card.KERNEL_SYMBOLS
    return found
