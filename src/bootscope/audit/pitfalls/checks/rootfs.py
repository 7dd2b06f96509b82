# SPDX-License-Identifier: Apache-2.0
"""Pitfalls of file systems, of what is in flash, and of programs and scripts of the root file system."""

from __future__ import annotations

import re

from bootscope.audit.pitfalls.checks.base import application_as_init, check, start_lines, started
from bootscope.core.text import listed, size
from bootscope.inventory.inventory import INITRAMFS, Inventory, Part

_BIG_JFFS2_BYTES = 32 << 20
_FEW_BLOCKS = 128
_FASTMAP_BLOCKS = 64
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_LGPL = ("glibc", "uclibc")
_MANY_STATIC, _MANY_SCRIPTS = 3, 5
_SMALL_BYTES = 128 << 20


def _uses_jffs2(known: Inventory) -> str:
    """Where JFFS2 is used, in words; empty if there is no sign of it."""
    if known.filesystem == "jffs2":
        return "the root is JFFS2"
    return next(start_lines(known, r"\bmount\b.*-t ?jffs2\b"), "")


@check("jffs2-no-summary", Part.KERNEL)
def _no_summary(known: Inventory) -> str:
    used = _uses_jffs2(known) if known.symbol("kernel", "JFFS2_SUMMARY") == "n" else ""
    return f"{used}, CONFIG_JFFS2_SUMMARY=n" if used else ""


def partitions(known: Inventory) -> list[tuple[str, int]]:
    """Name and bytes of flash partitions, in order, from mtdparts= or the log."""
    told = known.word("mtdparts") or known.environment.get("mtdparts", "").partition("mtdparts=")[2]
    given = re.findall(r"(\d{1,12})([kKmMgG]?)(?:@\w{1,20})?\(([^)]{1,64})\)", told[:8192])
    if given:
        return [(name, int(count) * _UNITS[unit.lower()]) for count, unit, name in given]
    line = r'^0x([0-9a-f]{8,16})-0x([0-9a-f]{8,16}) : "([^"\n]{1,64})"'
    lines = re.findall(line, known.console, re.MULTILINE)
    return [(name, max(0, int(end, 16) - int(start, 16))) for start, end, name in lines]


@check("jffs2-big", one_of=(Part.COMMAND_LINE, Part.ENVIRONMENT, Part.LOG))
def _big(known: Inventory) -> str | None:
    if known.filesystem != "jffs2":
        return ""
    parts = partitions(known)
    root = known.word("root") or ""
    index = re.fullmatch(r"/dev/mtdblock(\d{1,3})", root)
    chosen = (p for n, p in enumerate(parts) if (index and int(index[1]) == n) or root == f"mtd:{p[0]}")
    name, count = next(chosen, ("", 0))
    if not name:
        return None
    return f"JFFS2 on {name}, {size(count)}" if count > _BIG_JFFS2_BYTES else ""


@check("ubifs-small", Part.LOG)
def _few_blocks(known: Inventory) -> str | None:
    found = known.logged(r"ubi\d+: good PEBs: (\d{1,9})")
    if not found:
        return "" if known.log and not known.log.find(r"ubi\d+: ") else None
    blocks = int(found[1])
    if blocks > _FEW_BLOCKS:
        return ""
    return f"UBI has {blocks} blocks" + (", too few for a fastmap" if blocks <= _FASTMAP_BLOCKS else "")


@check("fastmap-config-name", Part.KERNEL)
def _no_such_symbol(known: Inventory) -> str:
    return "CONFIG_UBI_FASTMAP is set" if "UBI_FASTMAP" in known.configs.get("kernel", {}) else ""


@check("fastmap-unclean", Part.LOG)
def _full_scan(known: Inventory) -> str | None:
    scanned = known.logged(r"(ubi\d+): scanning is finished")
    if not scanned or known.logged(r"ubi\d+: attached by fastmap"):
        return ""
    fastmap = known.symbol("kernel", "MTD_UBI_FASTMAP")
    if fastmap is None and known.word("ubi.fm_autoconvert") is None:
        return None
    return f"{scanned[1]} was attached by a full scan" if fastmap != "n" else ""


@check("fastmap-param-removed", Part.KERNEL, Part.COMMAND_LINE)
def _never_written(known: Inventory) -> str:
    asked = known.word("ubi.fm_autoconvert")
    if not known.on("kernel", "MTD_UBI_FASTMAP") or (asked is not None and asked not in ("0", "n", "N")):
        return ""
    return "CONFIG_MTD_UBI_FASTMAP=y, no ubi.fm_autoconvert=1 on the command line"


@check("btrfs-root", Part.KERNEL)
def _btrfs(known: Inventory) -> str:
    if not known.on("kernel", "BTRFS_FS"):
        return ""
    count = len(re.findall(r"^raid6: .*gen\(\)|^xor: measuring", known.console, re.MULTILINE))
    return "CONFIG_BTRFS_FS=y" + (f", {count} lines of benchmarks in the log" if count else "")


@check("static-dev-in-initramfs", Part.FILES)
def _no_console(known: Inventory) -> str:
    if known.settings.get("rootfs.filesystem") != INITRAMFS or "/dev/console" in known.files:
        return ""
    mounts = list(start_lines(known, r"\bmount\b.*\bdevtmpfs\b"))
    fstab = known.scripts.get("/etc/fstab", "")
    if mounts or re.search(r"^devtmpfs\s", fstab, re.MULTILINE):
        return ""
    return "no /dev/console in the archive" + (f" ({listed(list(known.files), 3)})" if known.files else "")


@check("lgpl-static", one_of=(Part.SETTINGS, Part.PROGRAMS))
def _must_relink(known: Inventory) -> str:
    # The builder's compiler is the one for glibc, unless musl is configured.
    libc = known.settings.get("application.libc", "glibc")
    if "-static" in known.compiler_options and libc == "glibc":
        return f"{known.settings.get('application.path', 'the application')} is linked statically with glibc"
    found = [
        f"{path} ({program.libc})"
        for path, program in known.programs.items()
        if program.static and program.libc in _LGPL and not path.endswith("/busybox")
    ]
    return f"static: {listed(found)}" if found else ""


@check("static-size-explosion", Part.PROGRAMS)
def _many_static(known: Inventory) -> str:
    found = {path: program for path, program in known.programs.items() if program.static}
    if len(found) < _MANY_STATIC:
        return ""
    total = sum(program.size_bytes for program in found.values())
    return f"{len(found)} static programs, {size(total)}: {listed(list(found))}"


@check("sstrip-breaks", Part.PROGRAMS)
def _no_sections(known: Inventory) -> str:
    return listed([path for path, program in known.programs.items() if not program.sections])


@check("udev-present", one_of=(Part.FILES, Part.LOG))
def _udev(known: Inventory) -> str:
    if found := known.logged(r"udevd(?:\[\d+\])?: starting.*|Starting (?:systemd-)?udevd?\b.*"):
        return f"the log says: {found[0]}"
    service = re.compile(r"/(?:S\d\d\w*udev\w*|systemd-udevd\.service)$")
    lines = start_lines(known, r"(?:^|[\s/;&|])(?:systemd-)?udevd\b")
    return listed([*lines, *filter(service.search, known.files)], 1)


_STARTS = r"Start(?:ing|ed) (?:[\w.-]{1,40}\.service - )?"
_NETWORKS = {
    "the kernel (ip=)": r"^(?:IP-Config: Complete|Sending DHCP requests)",
    "systemd-networkd": rf"{_STARTS}Network (?:Configuration|Service)\b",
    "NetworkManager": rf"{_STARTS}Network Manager(?! Wait)\b|<info>.*NetworkManager \(",
    "ConnMan": rf"{_STARTS}Connection service|connmand(?:\[\d+\])?: ",
    "dhcpcd": rf"{_STARTS}.{{0,40}}minimalistic network|dhcpcd(?:\[\d+\])?: |^dhcpcd-\d",
    "ifupdown": rf"{_STARTS}Raise network interfaces|Configuring network interfaces",
}


@check("network-twice", Part.LOG)
def _network(known: Inventory) -> str:
    found = [name for name, pattern in _NETWORKS.items() if known.logged(pattern)]
    return ", ".join(found) if len(found) > 1 else ""


_FORKS = (
    r"\bcat\s+[\w/$.{}\"'-]+\s*\|",
    r"(?:`|\$\()\s*(?:cat|expr|basename|dirname|echo|cut|sed|awk|printf|seq|tr)\b",
    r"(?:^|[\s;&|(])expr\s",
    r"\becho\b[^|;]*\|\s*(?:cut|sed|awk|grep|tr|head)\b",
    r"\bgrep\b[^|;]*\|\s*(?:awk|sed|cut|grep|wc)\b",
)


@check("useless-fork", Part.SCRIPTS)
def _forks(known: Inventory) -> str:
    found = list(dict.fromkeys(line for pattern in _FORKS for line in start_lines(known, pattern)))
    more = f" ({len(found)} such lines)" if len(found) > 1 else ""
    return f"{found[0]}{more}" if found else ""


@check("many-shells", Part.FILES, Part.SCRIPTS)
def _shells(known: Inventory) -> str:
    script = re.compile(r"/etc/(?:init|rcS|rc[0-6S])\.d/S\d\d?\w+.*")
    scripts = list(filter(script.fullmatch, known.files))
    if len(scripts) <= _MANY_SCRIPTS or application_as_init(known):
        return ""
    # A dot before the script's name reads it into the same shell.
    if any(start_lines(known, r"(?:^|[\s;&|])\. +[\"']?(?:\$|/etc/)")):
        return ""
    return f"{len(scripts)} start scripts, each in its own shell"


check("app-as-init", Part.COMMAND_LINE)(application_as_init)


@check("upstart-small", Part.LOG)
def _large_init(known: Inventory) -> str | None:
    large = known.logged(r"systemd\[1\]: |init: upstart|Welcome to .{0,60}systemd")
    target = known.files.get("/sbin/init", "")
    if not large and "systemd" not in target and "upstart" not in target:
        return ""
    if not known.memory_bytes:
        return None
    told = f"{'upstart' if 'upstart' in target else 'systemd'} with {size(known.memory_bytes)} of memory"
    return told if known.memory_bytes <= _SMALL_BYTES else ""


check("fbv-slow", Part.SCRIPTS)(started(r"(?:^|[\s/;&|])(?:fbv|psplash|fbi|fim|ply-image|plymouthd?)\b"))
