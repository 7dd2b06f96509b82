# SPDX-License-Identifier: Apache-2.0
"""A recorded boot, repeated up to a moment, where the machine is stopped for inspection.

The plugin stops the machine by its virtual clock (native/plugin/pause.h), and a debugger connects to QEMU's
gdbstub. A boot is exact, so the stopped machine is in the state that the recorded boot was in: all events up
to the moment are compared with the recording's.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from bootscope.boards.profile import Board
from bootscope.capture import counted, record, stream
from bootscope.capture.record import BootInfo
from bootscope.core import process
from bootscope.core.errors import ToolError
from bootscope.devices.model import in_option
from bootscope.emulator import qemu
from bootscope.emulator.plugin_config import Watch, check_store_path

_POLL_S = 0.05
_PATIENCE = 8
"""How many times longer than the recorded boot this may take."""
_HELD_NS = 1_000_000_000
"""The plugin writes some records late: loads from flash with the next event, those after a sleep with the
next device access, those of several CPUs when their turns end. Assumed to be longer than any of these
delays."""
SOCKET = "gdb.sock"


@dataclass(frozen=True)
class Standing:
    """A stopped machine.

    `socket`: where its gdbstub listens; `at_ns`: virtual time of the first instruction that was not executed;
    `events`: how many there were, all equal to the recorded boot's; `ended`: waits until QEMU ends.
    """

    socket: Path
    at_ns: int
    events: int
    ended: Callable[[], None]


@contextmanager
def standing(
    board: Board,
    made: Callable[[Path], Watch],
    power: qemu.Power,
    boot: tuple[BootInfo, Path],
    at_ns: int,
    listen: str = "",
) -> Iterator[Standing]:
    """Repeats a recorded `boot` (its facts, its folder) up to the virtual time `at_ns`.

    `made` returns the watch that it was recorded with, for another folder; `power` is what it booted from;
    `listen`: host and port for the gdbstub instead of a socket. Raises ToolError when the boot differs from
    its recording, or QEMU fails.
    """
    info, folder = boot
    first = stream.read(folder / record.STREAM)
    # A socket's path must be short, and the store's path may be long.
    scratch = Path(tempfile.mkdtemp(prefix="bootscope-"))
    paused, socket = scratch / "paused", scratch / SOCKET
    try:
        check_store_path(scratch)
        watch = made(scratch)
        watch.lines.append(f"pause {at_ns} {paused}")
        power = replace(
            power,
            watch=scratch / record.WATCH,
            stream=scratch / record.STREAM,
            log=scratch / record.EMULATOR_LOG,
        )
        power.watch.write_text(watch.text())
        where = f"tcp:{listen}" if listen else f"unix:{in_option(socket)},server=on,wait=off"
        with power.log.open("wb") as log:
            child = process.spawn(
                [*qemu.command(board, power), "-gdb", where], stdout=log.fileno(), stderr=subprocess.STDOUT
            )
        try:
            _wait(child, paused, power.log, info)
            events = _same(info, power.stream, first, at_ns)
            yield Standing(socket, int(paused.read_text()), events, lambda: _wait_end(child))
        finally:
            process.end(child)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _wait(child: subprocess.Popen[bytes], paused: Path, log: Path, info: BootInfo) -> None:
    """Waits until the machine is stopped."""
    until = time.monotonic() + 60 + _PATIENCE * max(info.host_ms, 1000) / 1000
    while not paused.exists():
        if child.poll() is not None:
            said = log.read_bytes()[-400:].decode("utf-8", "replace").strip()
            raise ToolError(
                f"boot {info.boot_id}, booted again, ended before that moment: {said or 'no reason given'}"
            )
        if time.monotonic() > until:
            raise ToolError(f"boot {info.boot_id}, booted again, does not reach that moment")
        time.sleep(_POLL_S)


def _wait_end(child: subprocess.Popen[bytes]) -> None:
    while child.poll() is None:
        time.sleep(_POLL_S)


def _same(info: BootInfo, path: Path, first: list[stream.Record], at_ns: int) -> int:
    """The number of events, all of which equal the recorded boot's. Raises ToolError when one differs, or one
    is missing that must have been written by then."""
    # With the clock of a core, the stop splits a block, so that an event at that moment comes a fetch later.
    again = [e for e in stream.read(path) if counted.is_event(e) and e.time_ns <= at_ns]
    known = [entry for entry in first if counted.is_event(entry)]
    written = sum(entry.time_ns < at_ns - _HELD_NS for entry in known)
    # Events at the very moment may be present or not.
    if again != known[: len(again)] or len(again) < written:
        raise ToolError(
            f"boot {info.boot_id}, booted again, differs from its recording",
            hint="was QEMU, or an image, changed in between? record it again",
        )
    return len(again)
