# SPDX-License-Identifier: Apache-2.0
"""Pitfalls of programs and scripts of the root file system."""

from __future__ import annotations

import re

from bootscope.audit.pitfalls.checks.base import application_as_init, check, start_lines, started
from bootscope.core.text import listed, size
from bootscope.inventory.inventory import Inventory, Part

_LGPL = ("glibc", "uclibc")
_MANY_STATIC, _MANY_SCRIPTS = 3, 5
_SMALL_BYTES = 128 << 20


@check("lgpl-static", one_of=(Part.SETTINGS, Part.PROGRAMS))
def _must_relink(known: Inventory) -> str:
    # The builder's compiler is the one for glibc, unless musl is asked for.
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
    return f"{len(scripts)} start scripts, each in a shell of its own"


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
