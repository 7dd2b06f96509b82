# SPDX-License-Identifier: Apache-2.0
"""Watch files of the stock system, with programs of a few functions."""

from __future__ import annotations

from pathlib import Path

from bootscope.emulator.plugin_config import Limits, Watch, watch
from bootscope.emulator.subject import Programs, watched
from bootscope.image.code import Code
from bootscope.system.load import load_system
from bootscope.system.model import System

from .builders import board
from .elf import Fn, arm, code, thumb

KERNEL_BASE, UBOOT_BASE, SPL_BASE = 0xC0100000, 0x4A001000, 0x100
KERNEL = ("kernel_execve", "__set_task_comm", "panic")
STOCK = load_system("stock").system
BX_LR = 0xE12FFF1E


def function(name: str) -> Fn:
    """A function of 16 bytes that returns at its end."""
    return Fn(name, arm(0, 0, 0, BX_LR))


def kernel_of(*names: str) -> Code:
    return code(*(function(name) for name in names), base=KERNEL_BASE)


def made(
    until: str = "app-ready",
    system: System = STOCK,
    kernel: Code | None = None,
    frame: Path = Path("/store/frame.raw"),
    limits: Limits | None = None,
    layout: dict[str, int] | None = None,
) -> Watch:
    uboot = code(Fn("relocate_code", thumb(0x4770, 0x4770), thumb=True), base=UBOOT_BASE)
    spl = code(function("_main"), base=SPL_BASE)
    programs = Programs({"spl": spl, "uboot": uboot}, kernel or kernel_of(*KERNEL), layout or {})
    return watch(board(), watched(system, board()), programs, until, frame, limits or Limits())


def of_kind(w: Watch, kind: str) -> list[str]:
    return [line for line in w.text().splitlines() if line.split()[0] == kind]


def hooks_of(w: Watch) -> dict[str, list[str]]:
    """Name -> what its hooks take, without numbers and addresses."""
    found: dict[str, list[str]] = {}
    for line in of_kind(w, "hook"):
        number, _, how = line.removeprefix("hook ").split(" ", 2)
        found.setdefault(w.hooks.names[int(number)], []).append(how)
    return found
