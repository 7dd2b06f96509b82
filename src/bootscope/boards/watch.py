# SPDX-License-Identifier: Apache-2.0
"""The watch file for the plugin: what to look at on this board, running this system.

The numbers in it have no meaning to the plugin; :class:`Watch` keeps what they stand for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from bootscope.boards.profile import Board
from bootscope.boards.symbols import Symbols
from bootscope.capture.record import FIRST_FRAME, MILESTONE_TEXT, WatchNames
from bootscope.errors import UserError, unknown
from bootscope.system.load import PIXEL_BYTES, milestones
from bootscope.system.model import System

PANIC_TEXT = "panic"
_COMM_BYTES = 15
_FRAME_ID = 1
# Functions of the kernel, by the names they had in different versions.
_INIT_STARTS = ("run_init_process", "try_to_run_init_process", "kernel_execve")
_NAME_SET = ("__set_task_comm",)
_HOOK_OF_MILESTONE = {
    "spl": "spl.start",
    "bootloader": "uboot.start",
    "kernel-entry": "kernel.start",
    "init": "kernel.init",
    "application": "application.start",
}


@dataclass(frozen=True)
class Limits:
    """When to give up, in virtual time; a sample of the program counter every `sample_ns`."""

    limit_ns: int = 120_000_000_000
    quiet_ns: int = 30_000_000_000
    sample_ns: int = 100_000


@dataclass
class Watch:
    """A watch file in the making."""

    lines: list[str] = field(default_factory=list)
    devices: dict[int, str] = field(default_factory=dict)
    hooks: dict[int, str] = field(default_factory=dict)
    texts: dict[int, str] = field(default_factory=dict)

    def names(self) -> WatchNames:
        """What the numbers stand for."""
        return WatchNames(devices=self.devices, hooks=self.hooks, texts=self.texts)

    def text(self) -> str:
        """The file."""
        return "\n".join(self.lines) + "\n"

    def hook(self, name: str, address: int | None, how: str) -> None:
        """Adds a hook; an address of None (a symbol that is not there) adds nothing."""
        if address is not None:
            number = len(self.hooks) + 1
            self.hooks[number] = name
            self.lines.append(f"hook {number} {address:#x} {how}")

    def console_text(self, name: str, device: int, data: bytes) -> None:
        """Adds a text to look for in the bytes of the console (its data register)."""
        number = len(self.texts) + 1
        self.texts[number] = name
        self.lines.append(f"text {number} {device} 0 {data.hex()}")


def watch(
    board: Board,
    system: System,
    symbols: dict[str, Symbols],
    until: str,
    frame_path: Path,
    limits: Limits,
) -> Watch:
    """The watch for a boot of `system` on `board` that ends at milestone `until`.

    `symbols` holds the tables `kernel` and `u-boot`. Raises UserError for an unknown milestone.
    """
    if until not in milestones(system):
        raise unknown("milestone", until, milestones(system))
    w = Watch([f"tick {board.tick_ns}"])
    _add_devices(w, board)
    _add_hooks(w, board, system, symbols)
    _add_texts(w, board, system)
    _add_frame(w, board, system, frame_path)
    for idle in board.qemu.idle:
        w.lines.append(f"idle {idle.size} {idle.mask:#x} {idle.value:#x}")
    w.lines += [f"sample {limits.sample_ns}", f"limit {limits.limit_ns}", f"quiet {limits.quiet_ns}"]
    _add_stops(w, until)
    return w


def default_until(system: System) -> str:
    """The milestone that a recording ends at when the user names none."""
    if system.framebuffer:
        return FIRST_FRAME
    return "app-ready" if "app-ready" in system.milestones else "application"


def _add_devices(w: Watch, board: Board) -> None:
    for number, (name, device) in enumerate(board.devices.items(), start=1):
        w.devices[number] = name
        w.lines.append(f"io {number} {device.base:#x} {device.size:#x}")


def _add_hooks(w: Watch, board: Board, system: System, symbols: dict[str, Symbols]) -> None:
    kernel, uboot = symbols["kernel"], symbols["u-boot"]
    w.hook("spl.start", board.addresses.spl, "once")
    w.hook("uboot.start", board.addresses.uboot, "once")
    w.hook("uboot.relocate", uboot.address("relocate_code"), "once reg 0")
    w.hook("kernel.image", system.kernel.load_address, "once")
    w.hook("kernel.start", board.addresses.kernel, "once")
    w.hook("kernel.init", kernel.address(*_INIT_STARTS), "once str 0")
    # The kernel names a program when it is executed (third argument: exec or a mere renaming).
    w.hook("exec", kernel.address(*_NAME_SET), "every reg 2 str 1")
    process = system.application.process.encode()[:_COMM_BYTES].hex()
    w.hook("application.start", kernel.address(*_NAME_SET), f"once str 1 is {process}")
    w.hook("kernel.panic", kernel.address("panic"), "once str 0")


def _add_texts(w: Watch, board: Board, system: System) -> None:
    device = next(number for number, name in w.devices.items() if name == board.console)
    for name, milestone in system.milestones.items():
        w.console_text(MILESTONE_TEXT + name, device, milestone.console.encode())
    w.console_text(PANIC_TEXT, device, b"---[ end Kernel panic")


def _add_frame(w: Watch, board: Board, system: System, path: Path) -> None:
    fb = system.framebuffer
    if not fb:
        return
    check_store_path(path)
    w.lines += [f"code {low:#x} {high:#x}" for low, high in board.qemu.user_code]
    size = fb.stride_bytes * fb.height
    w.lines.append(f"frame {_FRAME_ID} {fb.address:#x} {size:#x} {PIXEL_BYTES[fb.format]} {path}")


def check_store_path(path: Path) -> None:
    """Raises UserError for a path that a watch file cannot name."""
    if any(c.isspace() or c == "#" for c in str(path)):
        raise UserError(
            f"the plugin cannot write to a path with blanks or '#' in it: {path}",
            hint="set BOOTSCOPE_STORE to another folder",
        )


def _add_stops(w: Watch, until: str) -> None:
    def number_of(names: dict[int, str], wanted: str) -> int | None:
        return next((number for number, name in names.items() if name == wanted), None)

    declared = number_of(w.texts, MILESTONE_TEXT + until)
    if declared is not None:
        w.lines.append(f"stop text {declared}")
    elif until == FIRST_FRAME:
        w.lines.append(f"stop frame {_FRAME_ID}")
    else:
        hook = number_of(w.hooks, _HOOK_OF_MILESTONE[until])
        if hook is None:
            raise UserError(f"milestone {until} cannot be seen: the kernel has no symbol for it")
        w.lines.append(f"stop hook {hook}")
    w.lines.append(f"stop text {number_of(w.texts, PANIC_TEXT)}")
