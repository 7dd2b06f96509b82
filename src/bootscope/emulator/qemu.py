# SPDX-License-Identifier: Apache-2.0
"""A board emulated by QEMU: switched on, watched by the plugin, switched off."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bootscope.boards.machine import machine_arguments
from bootscope.boards.profile import Board
from bootscope.capture.tail import Tail
from bootscope.core import process, tools
from bootscope.core.errors import ToolError
from bootscope.devices.model import Media, in_option

_POLL_S = 0.05
_BUSY = ("R", "D")
STALL_NS = 60_000_000_000
"""Host time for which QEMU sleeps without writing a record. A running CPU is sampled thousands of times in
it, so QEMU sleeps and nothing will wake it. A QEMU that waits for a busy host counts as running."""


@dataclass(frozen=True)
class Power:
    """What is needed to switch a board on: what it boots from, the plugin, and where output goes."""

    media: Media
    plugin: Path
    watch: Path
    stream: Path
    log: Path


def check(board: Board) -> str:
    """The version of QEMU. Raises ToolError when QEMU is missing or too old for this board."""
    program = board.arch.tools.qemu
    tools.require(program)
    found = tools.look_up(program).version or ""
    if _numbers(found) < _numbers(board.qemu.minimum_version):
        raise ToolError(
            f"{program} {found} is too old for {board.name}: {board.qemu.minimum_version} or newer is needed",
            hint=tools.how_to_get(tools.TOOLS[program]),
        )
    return found


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(n) for n in version.split(".") if n.isdigit())


def command(board: Board, power: Power) -> list[str]:
    """The complete command line."""
    plugin = f"{in_option(power.plugin)},watch={in_option(power.watch)},out={in_option(power.stream)}"
    return [board.arch.tools.qemu, *machine_arguments(board, power.media), "-plugin", plugin]


@dataclass(frozen=True)
class PoweredOff:
    """How the board ended: QEMU's exit status, or why we ended it."""

    status: int
    timed_out: bool
    stalled: bool
    host_ns: int


def is_running(pid: int) -> bool:
    """Whether a thread of the process runs, or waits for a CPU or a disk; False for an ended process."""
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                # proc(5): the state follows the name, which may contain anything.
                if (thread / "stat").read_text().rpartition(")")[2].split()[0] in _BUSY:
                    return True
    return False


def switch_on(board: Board, power: Power, timeout_s: float, on_data: Callable[[bytes], None]) -> PoweredOff:
    """Runs the board until the plugin ends it, QEMU dies, or `timeout_s` of host time have passed.

    `on_data` gets the stream's new bytes a few times a second. Ctrl-C ends the board and is passed on.
    """
    begun = polled = time.monotonic_ns()
    asleep_ns = 0
    timed_out = stalled = False
    with power.log.open("wb") as log:
        child = process.spawn(command(board, power), stdout=log.fileno(), stderr=subprocess.STDOUT)
        tail = Tail(power.stream)
        try:
            while child.poll() is None:
                data = tail.new()
                on_data(data)
                now = time.monotonic_ns()
                since_ns, polled = now - polled, now
                asleep_ns = 0 if data else asleep_ns + (0 if is_running(child.pid) else since_ns)
                timed_out = now - begun > timeout_s * 1e9
                stalled = asleep_ns > STALL_NS
                if timed_out or stalled:
                    break
                time.sleep(_POLL_S)
        finally:
            process.end(child)
            on_data(tail.new())
    return PoweredOff(child.returncode, timed_out, stalled, time.monotonic_ns() - begun)
