# SPDX-License-Identifier: Apache-2.0
"""What sort of machine a boot was of: instruction set, processors, init, where its root is.

Each function gives the empty value for what nothing tells: then nothing speaks against a technique.
"""

from __future__ import annotations

from bootscope.arch.registry import ARCHITECTURES as EMULATED
from bootscope.arch.told import ARCHITECTURES, PATTERNS
from bootscope.inventory.inventory import Inventory

INITS = ("android", "busybox", "openrc", "openwrt", "systemd", "sysvinit")
ROOTS = ("block", "flash", "memory", "network")
"""A disk or card; raw flash without a controller of its own; an archive in memory; a server."""
KINDS = (*ARCHITECTURES, *INITS, *ROOTS)
"""What a technique can be for."""
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
    """One of `arch.told.ARCHITECTURES`, by the board or else by the log."""
    if emulated := EMULATED.get(facts.architecture):
        return emulated.tools.kernel
    return facts.architecture or next((name for name, told in PATTERNS.items() if facts.logged(told)), "")


def processors(facts: Inventory) -> int:
    """How many processors the board has, or the kernel says it brought up; 0 where neither tells."""
    if facts.cpus:
        return facts.cpus
    found = facts.logged(_PROCESSORS)
    return max(int(number) for number in found.groups() if number) if found else 0


def init_system(facts: Inventory) -> str:
    """One of INITS: by a file that is of it alone, by its lines in the log, by the root file system."""
    if facts.init:
        return facts.init
    if told := next((name for name, lines in _INIT_LINES.items() if facts.logged(lines)), ""):
        return told
    # udev alone brings systemd's program, too: what /sbin/init is comes first.
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
    """Whether the log shows that no other root was mounted than the archive that the kernel unpacked."""
    started = facts.logged(r"^Run /init as init process")
    return bool(not facts.word("root") and started and not facts.logged(_MOUNTED))


def on_server(facts: Inventory) -> str:
    """The word that says that the root is on a server; empty where none does."""
    root = facts.word("root") or ""
    return f"root={root}" if root.startswith(_NFS) else ""


def raw_flash(facts: Inventory) -> str:
    """What tells that the root is on flash without a controller of its own; empty where nothing does."""
    root = facts.word("root") or ""
    if root.startswith(("ubi", "/dev/ubiblock", "/dev/mtdblock", "mtd")):
        return f"root={root}"
    if facts.filesystem in ("ubifs", "jffs2", "yaffs2"):
        return facts.filesystem
    # The major number of mtdblock.
    found = facts.logged(r"VFS: Mounted root \(.{1,40}\).* on device 31:\d+")
    return found[0] if found else ""
