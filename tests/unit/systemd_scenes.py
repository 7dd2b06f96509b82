# SPDX-License-Identifier: Apache-2.0
"""Systems beside stock that recipes are for, as far as these ask for something: with systemd, of a PC, with
the kernel in flash, and with a NAND chip."""

from __future__ import annotations

import fnmatch
from dataclasses import replace

from bootscope.emulator.subject import flat
from bootscope.inventory.bootlog import RECORDED, BootLog, log_line
from bootscope.inventory.recorded import Recorded
from bootscope.system.changes import Change
from bootscope.system.load import load_system
from bootscope.system.model import System
from bootscope.system.placeholders import boot_script
from bootscope.techniques.model import Recipe, Technique

from .lab_scenes import home
from .test_systemd_values import UNITS as SOME_UNITS

UNITS = {path: text.replace("/usr/bin/app", "/usr/bin/testcard") for path, text in SOME_UNITS.items()}
FILES = {
    "/usr/lib/systemd/systemd": "program",
    "/usr/lib/systemd/system-generators/systemd-sysv-generator": "program",
}
OF_PC = ("grub-timeout", "kernel-no-kaslr", "kernel-tsc-preset")
"""Techniques for what only the system for PCs has."""
OF_NOR = ("kernel-xip", "kernel-zboot-rom")
"""Techniques for a kernel that a boot loader copies out of flash."""
OF_NAND = ("falcon-raw-nand", "nand-bbt-on-flash", "ubi-fastmap")
"""Techniques for what only the system with a NAND chip has."""
SLOW = "initcall_blacklist=slow_init"
OF_DEBIAN = (
    "initramfs-fast-compression",
    "initramfs-plain-modules",
    "initramfs-starts-application",
    "kernel-initcall-blacklist",
    "uboot-compressed-image",
)
"""Techniques for what the stock system has not: a prebuilt kernel, an initramfs of its own."""


def is_of_stock(t: Technique) -> bool:
    """Whether the recipes of a technique are not for systemd, a PC, a kernel in flash or a NAND chip."""
    others = (*OF_DEBIAN, *OF_PC, *OF_NOR, *OF_NAND)
    return t.id not in others and t.applies_to.inits != ("systemd",)


def base_of(t: Technique, recipe: Recipe) -> System:
    """A system that a recipe is for."""
    return home(recipe) if is_of_stock(t) else load_system(system_for(t)).system


def system_for(t: Technique) -> str:
    """The name of the system that a technique is for which is not for stock."""
    if t.id in OF_NOR:
        return "stock-nor"
    if t.id in OF_NAND:
        return "stock-nand"
    return "debian-amd64" if t.id in OF_PC else "debian-systemd"


def elsewhere(found: Recorded, t: Technique, system: System, change: Change) -> Recorded:
    """What is known of a run of a system that is not stock, and has a change."""
    if t.id in OF_NOR:
        return with_nor(found, system)
    if t.id in OF_NAND:
        return replace(found, settings=flat(system), command_line=system.kernel.command_line)
    return (with_pc if t.id in OF_PC else with_systemd)(found, system, change)


def with_nor(found: Recorded, system: System) -> Recorded:
    """What is known of a run of the system in flash, whose settings have the change in them."""
    settings = flat(system)
    script = boot_script(system.uboot.script, settings)
    return replace(found, settings=settings, command_line=settings["kernel.command_line"], commands=script)


def with_pc(found: Recorded, system: System, change: Change) -> Recorded:
    """What is known of a run of the system for PCs, whose settings have the change in them."""
    settings = flat(system)
    lines = BootLog([log_line(1, "[    0.000000] tsc: Detected 1000.003 MHz processor")], RECORDED)
    return replace(found, settings=settings, command_line=settings["kernel.command_line"], log=lines)


def with_systemd(found: Recorded, system: System, change: Change) -> Recorded:
    """What is known of a run, of a system with systemd that has a change."""
    units = {**UNITS, **change.write, **{path: f"-> {target}" for path, target in change.link.items()}}
    files = {**found.files, **FILES}
    gone = change.remove
    settings = flat(system)
    return replace(
        found,
        settings=settings,
        units={p: t for p, t in units.items() if not any(fnmatch.fnmatchcase(p, one) for one in gone)},
        files={p: w for p, w in files.items() if not any(fnmatch.fnmatchcase(p, one) for one in gone)},
        command_line=f"{settings['kernel.command_line']} {SLOW}",
    )
