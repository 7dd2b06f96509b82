# SPDX-License-Identifier: Apache-2.0
"""The kind of machine of a boot: instruction set, processors, init, place of the root.

Each function returns the empty value where its answer is unknown: then no technique is ruled out.
"""

from __future__ import annotations

from bootscope.arch.registry import ARCHITECTURES as EMULATED
from bootscope.arch.told import ARCHITECTURES, PATTERNS
from bootscope.inventory.inventory import Inventory

INITS = ("android", "busybox", "openrc", "openwrt", "systemd", "sysvinit")
ROOTS = ("block", "flash", "memory", "network")
"""A disk or card; raw flash without a controller of its own; an archive in memory; a server."""
KINDS = (*ARCHITECTURES, *INITS, *ROOTS)
"""What a technique can be limited to."""
_INIT_LINES = {
    "systemd": r"^systemd\[1\]: |^systemd \d+\S* .*running in system mode|^\[  OK  \] Reached target ",
    "openwrt": r"^procd: |^init: - (?:preinit|watchdog) -",
    "android": r"^init: init (?:first|second) stage started|^init: starting service '",
    "openrc": r"OpenRC \d\S* is starting up",
    "sysvinit": r"^INIT: version \d",
    "busybox": r"^init started: BusyBox v",
}
_INIT_FILES = {
    "systemd": ("/lib/systemd/systemd", "/usr/lib/systemd/systemd"),
    "openwrt": ("/sbin/procd",),
    "openrc": ("/sbin/openrc",),
}
_INIT_PATHS = ("/sbin/init", "/usr/sbin/init")
_PROCESSORS = r"[Bb]rought up \d{1,3} nodes?, (\d{1,5}) CPUs?|SMP: Total of (\d{1,5}) processors"
_MOUNTED = r"VFS: Mounted root|mounted filesystem|Switching root|mount_root: "
_NFS = ("/dev/nfs", "nfs")
_BLOCK = ("/dev/", "PARTUUID=", "UUID=", "LABEL=")
_RAM = "/dev/ram"


def architecture(facts: Inventory) -> str:
    """One of `arch.told.ARCHITECTURES`, from the board or else from the log."""
    if emulated := EMULATED.get(facts.architecture):
        return emulated.tools.kernel
    return facts.architecture or next((name for name, told in PATTERNS.items() if facts.logged(told)), "")


def processors(facts: Inventory) -> int:
    """The number of processors of the board, or that the kernel reports as brought up; 0 where unknown."""
    if facts.cpus:
        return facts.cpus
    found = facts.logged(_PROCESSORS)
    return max(int(number) for number in found.groups() if number) if found else 0


def init_system(facts: Inventory) -> str:
    """One of INITS: from a file that only that one has, from the log, or from the root file system."""
    if facts.init:
        return facts.init
    if told := next((name for name, lines in _INIT_LINES.items() if facts.logged(lines)), ""):
        return told
    # udev alone also installs systemd's program, so /sbin/init is checked first.
    if next(filter(None, map(facts.files.get, _INIT_PATHS)), "").endswith("busybox"):
        return "busybox"
    if there := next((name for name, paths in _INIT_FILES.items() if any(map(facts.files.get, paths))), ""):
        return there
    return ""


def root_kind(facts: Inventory) -> str:
    """One of ROOTS."""
    root = facts.word("root") or ""
    if root.startswith(_NFS):
        return "network"
    if raw_flash(facts):
        return "flash"
    if root_in_memory(facts) or root.startswith(_RAM):
        return "memory"
    return "block" if root.startswith(_BLOCK) else ""


def root_in_memory(facts: Inventory) -> bool:
    """Whether the log shows no mounted root other than the archive that the kernel unpacked."""
    started = facts.logged(r"^Run /init as init process")
    return bool(not facts.word("root") and started and not facts.logged(_MOUNTED))


def on_server(facts: Inventory) -> str:
    """The word that puts the root on a server; empty where there is none."""
    root = facts.word("root") or ""
    return f"root={root}" if root.startswith(_NFS) else ""


def raw_flash(facts: Inventory) -> str:
    """The evidence that the root is on flash without a controller of its own; empty where there is none."""
    root = facts.word("root") or ""
    if root.startswith(("ubi", "/dev/ubiblock", "/dev/mtdblock", "mtd")):
        return f"root={root}"
    if facts.filesystem in ("ubifs", "jffs2", "yaffs2"):
        return facts.filesystem
    # The major number of mtdblock.
    found = facts.logged(r"VFS: Mounted root \(.{1,40}\).* on device 31:\d+")
    return found[0] if found else ""
