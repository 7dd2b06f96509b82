# SPDX-License-Identifier: Apache-2.0
"""Drivers that can come after the application: which ones, and how a boot shows it."""

from __future__ import annotations

import json

import msgspec
import pytest

from bootscope.capture import objects
from bootscope.capture.record import RETURNED, SYSCALL, SYSCALL_FILE
from bootscope.capture.store import Store
from bootscope.capture.stream import Hook
from bootscope.changes.applies import filled, why_not
from bootscope.core.errors import UserError
from bootscope.inventory.probe_order import drivers, probes, shown
from bootscope.inventory.recorded import Recorded
from bootscope.system.changes import Change, apply
from bootscope.techniques.model import technique

from .builders import run_info
from .known_builders import inventory_of
from .lab_scenes import MS, known, stock
from .scenes import Story

USB, SATA, CARD = 0xC0100000, 0xC0200000, 0xC0300000
LINKED = f"""{USB:x} 40 .init.text drivers/usb/musb/sunxi.o
{SATA:x} 40 .init.text drivers/ata/ahci_sunxi.o
{CARD:x} 40 .init.text drivers/mmc/host/sunxi-mmc.o
"""
RECIPE = technique("kernel-probe-defer").recipes["release"]
_CALL, _BACK, _FILE = 900, 901, 902
DRIVERS = {USB: b"musb-sunxi", SATA: b"ahci-sunxi", CARD: b"sunxi-mmc"}


def booted(
    store: Store,
    *took: tuple[int, int],
    script: str = "",
    more: str = "",
    result: int = 0,
    opens: tuple[str, bytes] | None = None,
) -> Recorded:
    """A boot in which drivers (by their initcall) probe a device each for so many ms; `more`: words of the
    command line; `opens`: a system call of a program, with a file that it looks up."""
    story = Story().hook("kernel.start").switch(1)
    for initcall, ms in took:
        name = DRIVERS[initcall]
        story.enter("initcall", initcall).hook("driver", text=name)
        story.enter("probe", text=b"1c0." + name[:4]).hook("probe.driver", text=name).work(ms * MS)
        story.leave("probe", result).leave("initcall")
    story.hook("kernel.init", text=b"/init").work(MS).hook("application.start").work(MS)
    names = run_info().watch
    if opens:
        call, path = opens
        called = {_CALL: f"{SYSCALL}{call}", _BACK: f"{SYSCALL}{call}{RETURNED}", _FILE: SYSCALL_FILE}
        names = msgspec.structs.replace(names, hooks={**names.hooks, **called})
        story.records.append(Hook(story.now_ns, _CALL, (0x7000, 0, 0), b""))
        story.records.append(Hook(story.work(10).now_ns, _FILE, (), path))
        story.records.append(Hook(story.work(10).now_ns, _BACK, (0x7000, 3), b""))
    story.work(MS).sample()
    kept = {objects.KERNEL_OBJECTS: LINKED.encode()}
    if script:
        kept[objects.SCRIPTS] = json.dumps({"/etc/init.d/S50disk": f"#!/bin/sh\n{script}\n"}).encode()
    system = apply(stock().system, {"it": Change(command_line=tuple(more.split()))})
    return known(store, story.records, system, objects=kept, watch_names=names)


def test_drivers_that_take_long_and_nothing_uses_can_come_later(store: Store) -> None:
    facts = booted(store, (SATA, 20), (USB, 30), (CARD, 90))
    assert drivers(facts) == "musb-sunxi,ahci-sunxi"
    assert probes(facts) == "1c0.musb 1c0.ahci"
    assert shown(facts) == "musb-sunxi 30.0 ms, ahci-sunxi 20.0 ms"


def test_what_is_quick_or_failed_is_left_alone(store: Store) -> None:
    assert drivers(booted(store, (SATA, 2), (USB, 30))) == "musb-sunxi"
    assert shown(booted(store, (SATA, 20), (USB, 30), result=19)) == ""


@pytest.mark.parametrize(
    ("script", "root", "left"),
    [
        ("mount /dev/sda1 /mnt", "", ""),
        ("cat /dev/ttyUSB0", "", "ahci-sunxi"),
        ("", "root=/dev/sda2", ""),
        ("", "root=PARTUUID=b0075c09-02", ""),
        ("", "root=0802", ""),
        ("", "root=/dev/mtdblock2", "musb-sunxi,ahci-sunxi"),
        ("", "root=ubi0:root", "musb-sunxi,ahci-sunxi"),
    ],
)
def test_what_scripts_or_the_root_use_stays(store: Store, script: str, root: str, left: str) -> None:
    assert drivers(booted(store, (SATA, 20), (USB, 30), script=script, more=root)) == left


@pytest.mark.parametrize(
    ("call", "path", "left"),
    [
        ("openat", b"/dev/sda1", ""),
        ("openat", b"/dev/bus/usb/001/002", "ahci-sunxi"),
        # Whoever makes device nodes opens none.
        ("mknodat", b"/dev/sda1", "musb-sunxi,ahci-sunxi"),
        ("openat", b"/dev/null", "musb-sunxi,ahci-sunxi"),
    ],
)
def test_what_a_program_opened_stays(store: Store, call: str, path: bytes, left: str) -> None:
    assert drivers(booted(store, (SATA, 20), (USB, 30), opens=(call, path))) == left


def test_what_waits_already_stays_so(store: Store) -> None:
    facts = booted(store, (USB, 30), more="probe_later.drivers=ahci-sunxi")
    assert drivers(facts) == "ahci-sunxi,musb-sunxi"


def test_the_recipe_names_them_and_requires_that_they_come(store: Store) -> None:
    facts = booted(store, (SATA, 20), (USB, 30))
    assert why_not(RECIPE, facts) == ""
    change = filled(RECIPE.change, facts)
    assert change.command_line == ("probe_later.drivers=musb-sunxi,ahci-sunxi",)
    assert apply(stock().system, {"it": change}).milestones["late-devices"].required
    assert "no postponable drivers" in why_not(RECIPE, booted(store, (CARD, 90)))


def test_without_a_recording_nobody_knows() -> None:
    with pytest.raises(UserError, match="without a recording"):
        drivers(inventory_of())
