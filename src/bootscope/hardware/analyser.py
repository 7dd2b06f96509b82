# SPDX-License-Identifier: Apache-2.0
"""A logic analyser that watches pins while a board boots. When it fails, the boot goes on."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bootscope.boards import pins as setting
from bootscope.boards.pins import Pins
from bootscope.capture import record, tap
from bootscope.capture.measured import PINS, PinCapture
from bootscope.core import process
from bootscope.core.errors import BootscopeError, UserError, printable
from bootscope.hardware.live_edges import LiveEdges

LOG = "pins.log"
"""The output of the analyser's command."""
_LOOK_S = 0.005
_END_S = 10.0
_SAID_CHARACTERS = 300


def command(pins: Pins) -> tuple[str, ...]:
    """The command to run, with ``{file}`` where its file goes; a command without it writes to its output.

    Writes a dump of changes, not sigrok's own session file: sigrok-cli rewrites that with each piece of a
    capture, and falls behind.
    """
    if pins.command:
        return pins.command
    if pins.port:
        return tuple(tap.listening(["serial", pins.port, str(pins.rate)]))
    channels = ("--channels", ",".join(pins.channels)) if pins.channels else ()
    how = ("--driver", pins.driver, "--config", f"samplerate={pins.samplerate}", *channels)
    return ("sigrok-cli", *how, "--continuous", "--output-format", "vcd", "--output-file", setting.FILE)


class _Capture:
    """A capture in progress."""

    def __init__(self, pins: Pins, folder: Path) -> None:
        self._path = folder / setting.kept_as(pins)
        self._port = bool(pins.port)
        self._log = folder / LOG
        words = command(pins)
        self.words = tuple(w.replace(setting.FILE, str(self._path)) for w in words)
        to_file = any(setting.FILE in w for w in words)
        self.started_ns, self.seen_ns, self.ended_ns = time.monotonic_ns(), 0, 0
        with self._log.open("wb") as log, (self._log if to_file else self._path).open("ab") as out:
            self._child = process.spawn(
                self.words, stdin=subprocess.PIPE, stdout=out.fileno(), stderr=log.fileno()
            )

    @property
    def live(self) -> LiveEdges:
        """The edges that the analyser reports during the capture."""
        return LiveEdges(self._path, lambda: self._child.poll() is None)

    def wait(self, most_s: float) -> bool:
        """Waits until something is written; False when the command ended first, or takes too long."""
        until = time.monotonic() + most_s
        while time.monotonic() < until and not self.seen_ns:
            # Taken after the check: what was found was written before this moment.
            if self.kept:
                self.seen_ns = time.monotonic_ns()
            elif self._child.poll() is not None:
                return False
            else:
                time.sleep(_LOOK_S)
        return bool(self.seen_ns)

    def end(self) -> str:
        """Ends the capture; returns what went wrong, or the empty string."""
        before = self._child.poll()
        if before is None:
            self._ask_to_end()
        self.ended_ns = time.monotonic_ns()
        for refused in self._tap().of("error") if self._port else []:
            why = printable(str(refused.facts.get("what")))
            return f"the logic analyser's port cannot be opened: {why}"
        status = self._child.returncode
        if before is not None:
            return f"the logic analyser stopped before the boot ended{self._said()}"
        if status not in (0, -signal.SIGINT):
            return f"the logic analyser's command failed with status {status}{self._said()}"
        if not self.kept:
            return f"the logic analyser gave no output{self._said()}"
        return ""

    def _ask_to_end(self) -> None:
        assert self._child.stdin
        with contextlib.suppress(OSError):
            # sigrok-cli ends at any key, and then writes what it has captured.
            self._child.stdin.write(b"\n")
            self._child.stdin.close()
        for wait_s, number in ((_END_S, signal.SIGINT), (_END_S / 2, None)):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(wait_s)
                return
            if number is not None:
                self._child.send_signal(number)
        process.end(self._child)

    @property
    def kept(self) -> bool:
        """Whether there is anything to keep."""
        if not self._path.exists():
            return False
        return bool(self._tap().data) if self._port else self._path.stat().st_size > 0

    def _tap(self) -> tap.Tap:
        """What has come from a port so far."""
        try:
            return tap.read(self._path.read_bytes())
        except UserError:
            return tap.Tap()  # its beginning is being written

    def _said(self) -> str:
        text = self._log.read_bytes()[-4096:].decode("utf-8", "replace") if self._log.exists() else ""
        last = " / ".join(line.strip() for line in text.splitlines() if line.strip())[-_SAID_CHARACTERS:]
        return f": {printable(last)}" if last else ""


@contextlib.contextmanager
def watching(pins: Pins | None, folder: Path, says: Callable[[str], None]) -> Iterator[LiveEdges | None]:
    """Watches pins as the board file says until the block ends; reports problems through `says` and raises
    nothing.

    The block begins once the analyser has written something, or will not. Yields the edges as they come, for
    an analyser that reports them.
    """
    if pins is None:
        yield None
        return
    capture, message = None, ""
    try:
        capture = _Capture(pins, folder)
        if not capture.wait(pins.ready_s):
            says("the logic analyser has not started; the boot is measured without it")
    except (OSError, BootscopeError) as error:
        why = error.message if isinstance(error, BootscopeError) else error.strerror
        message = f"the logic analyser cannot be started: {why}"
    try:
        yield capture.live if capture and pins.port else None
    finally:
        if capture:
            with contextlib.suppress(OSError):
                message = capture.end()
        if message:
            says(message)
        with contextlib.suppress(OSError, BootscopeError):
            record.write_json(folder / PINS, _told(pins, capture, message))


def _told(pins: Pins, capture: _Capture | None, message: str) -> PinCapture:
    if capture is None:
        return PinCapture(command=command(pins), message=message)
    return PinCapture(
        command=capture.words,
        file=setting.kept_as(pins) if capture.kept else "",
        started_ns=capture.started_ns,
        seen_ns=capture.seen_ns,
        ended_ns=capture.ended_ns,
        message=message,
    )
