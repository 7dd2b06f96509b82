# SPDX-License-Identifier: Apache-2.0
"""Listening to a console while a board boots: the listening process, and the file that it fills."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from bootscope.capture import tap, tapper
from bootscope.core import process
from bootscope.core.errors import BoardError, BootscopeError, ToolError, printable
from bootscope.hardware import remote_capture
from bootscope.hardware.remote_clock import FarClock

Heard = Callable[[int, int, bytes], None]
"""Gets kind, moment in ns and payload of each record."""
_MOST = 1 << 20
_MOST_NOISE = 1 << 16
"""Limit for the output of another computer's shell before the capture begins."""
_LOOK_S = 0.05
_GOODBYE_S, _GOODBYE_FAR_S = 2.0, 5.0
_GET_SSH = "apt install openssh-client, or set BOOTSCOPE_SSH to another command"


class Listener:
    """A console that is being listened to: its records go to a file, and to `heard`.

    A thread fetches what the listening process has heard, so that a slow disk delays nobody; :meth:`work`
    writes the file and calls `heard`. With a `host` that computer listens, over ssh; `heard` gets moments of
    our own clock all the same.
    """

    def __init__(self, words: Sequence[str], path: Path, heard: Heard, host: str = "") -> None:
        self._path, self._heard, self._host = path, heard, host
        self._decoder = tap.Decoder()
        self._waiting: deque[tuple[int, bytes]] = deque()
        self._more = threading.Event()
        self._words = list(words)
        self._file = path.open("wb")
        self._keep(tap.MAGIC_FAR if host else tap.MAGIC)
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - read until the process has ended
        self._child = self._started()
        self._clock = FarClock(self._child.stdin) if host else None
        self._thread = threading.Thread(target=self._fetch, daemon=True)
        self._thread.start()
        self._open = self._ended = False
        self._noise: bytes | None = b"" if host else None
        if host:
            self.note("tapped", time.monotonic_ns(), host=host)

    def _started(self) -> subprocess.Popen[bytes]:
        local = tap.listening(self._words)
        try:
            child = process.spawn(
                remote_capture.command(self._host) if self._host else local,
                stdin=subprocess.PIPE,
                stderr=self._said.fileno() if self._host else subprocess.DEVNULL,
            )
        except ToolError as error:
            self._file.close()
            if not self._host:
                raise
            raise BoardError(f"{self._host} cannot be reached: {error.message}", hint=_GET_SSH) from error
        if self._host:
            assert child.stdin
            with contextlib.suppress(OSError):
                child.stdin.write(remote_capture.first_line(self._words))
                child.stdin.flush()
        return child

    @property
    def opened(self) -> bool:
        """Whether the console is open, and the clock of the listening computer is known."""
        return self._open and (self._clock is None or self._clock.known)

    def _fetch(self) -> None:
        assert self._child.stdout
        out = self._child.stdout.fileno()
        while data := os.read(out, _MOST):
            self._waiting.append((time.monotonic_ns(), data))
            self._more.set()
        self._waiting.append((0, b""))
        self._more.set()

    def work(self, most_s: float) -> bool:
        """Handles what was heard, and waits for more at most `most_s`; False when listening has ended.

        Raises BoardError when the console cannot be opened, ToolError when the file cannot be written.
        """
        if self._ended:
            return False
        self._more.wait(most_s)
        self._more.clear()
        while self._waiting:
            came_ns, data = self._waiting.popleft()
            if not data:
                self._ended = True
                if self._host and not self._open:
                    raise self._refused(_GOODBYE_S)
                return False
            for kind, at_ns, payload in self._decoder.feed(self._after_noise(data)):
                self._take(came_ns, kind, at_ns, payload)
        return True

    def _after_noise(self, data: bytes) -> bytes:
        """What follows the greeting of the other computer's shell."""
        if self._noise is None:
            return data
        self._noise += data
        begin = self._noise.find(tap.MAGIC)
        if begin < 0 and len(self._noise) < _MOST_NOISE:
            return b""
        # If the noise does not end, the decoder reports that this is not a capture.
        data, self._noise = self._noise[max(0, begin) :], None
        return data

    def _take(self, came_ns: int, kind: int, at_ns: int, payload: bytes) -> None:
        event = tap.event_of(at_ns, payload) if kind == tapper.EVENT else None
        if self._clock and event and event.name == "clock":
            answer = self._clock.answered(at_ns, came_ns)
            if answer:
                self.note("clock", at_ns, asked_ns=answer.asked_ns, heard_ns=answer.heard_ns)
            return
        self._keep(tap.record(kind, at_ns, payload))
        if event and event.name == "error":
            number, what = int(str(event.facts.get("errno") or 0)), str(event.facts.get("what"))
            raise refused(self._words, number, what, self._host)
        if event and event.name == "open" and not self._open:
            self._open = True
            if self._clock:
                self._clock.begin()
        self._heard(kind, self._clock.ours(at_ns) if self._clock else at_ns, payload)

    def note(self, name: str, at_ns: int, **facts: object) -> None:
        """Records an event of our own among what was heard."""
        self._keep(tap.event_record(at_ns, name, **facts))

    def _keep(self, data: bytes) -> None:
        try:
            self._file.write(data)
            self._file.flush()
        except OSError as error:
            raise ToolError(f"{self._path} cannot be written: {error.strerror}") from error

    @property
    def listens(self) -> str:
        """What listens, in words for people."""
        return f"the connection to {self._host}" if self._host else "the source of the console"

    def not_open(self) -> BoardError:
        """The error for a console that did not open in time."""
        if self._host and not self._open:
            return self._refused(0)
        return BoardError("the console did not open")

    def _refused(self, most_s: float) -> BoardError:
        """The error for another computer that does not listen: ssh has ended, or it took too long."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(most_s)
        self._said.seek(0)
        said = self._said.read().decode(errors="replace")
        return remote_capture.refused(self._host, self._child.returncode, said)

    def _ask_again(self, clock: FarClock) -> None:
        """Measures the difference of the clocks again, at a boot's end."""
        until = time.monotonic() + _GOODBYE_S
        clock.end()
        try:
            while clock.waits and time.monotonic() < until and self.work(_LOOK_S):
                pass
        except BootscopeError:
            pass  # of no use any more: the boot has been reported

    def close(self) -> None:
        """Stops listening, and handles what was heard until then."""
        assert self._child.stdin
        if self._clock and self._open:
            self._ask_again(self._clock)
        with contextlib.suppress(OSError):
            self._child.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(_GOODBYE_FAR_S if self._host else _GOODBYE_S)
        process.end(self._child)
        self._thread.join(2)
        try:
            # A failure to open has been reported already.
            with contextlib.suppress(BoardError):
                self.work(0)
        finally:
            self._file.close()
            self._said.close()


def refused(words: Sequence[str], number: int, what: str, host: str = "") -> BoardError:
    """Why a console cannot be opened, and what to do; `host` is the computer that tried."""
    if host:
        return _refused_there(words, number, what, host)
    kind, *rest = words
    where = printable(rest[0]) if kind != "tcp" else f"{printable(rest[0])}:{printable(rest[1])}"
    message, hint = f"the console {where} cannot be opened: {what}", None
    if kind == "serial" and number in (errno.ENOENT, errno.ENODEV, errno.ENXIO):
        message, hint = f"there is no port {where}", _ports()
    elif kind == "serial" and number in (errno.EACCES, errno.EPERM):
        message, hint = f"no permission to open {where}", _who_may(rest[0])
    elif kind == "serial" and number in (errno.EBUSY, errno.EAGAIN):
        message = f"{where} is in use by another program"
        hint = f"close the terminal program that uses it (fuser {where} shows which)"
    elif kind == "tcp" and number == errno.ECONNREFUSED:
        hint = "connection refused: is the serial server (ser2net) running, and is this its port?"
    elif kind == "command":
        message, hint = f"the console's command {where} cannot be started: {what}", None
    return BoardError(message, hint=hint)


def _refused_there(words: Sequence[str], number: int, what: str, host: str) -> BoardError:
    """The same for another computer, about which less is known."""
    where, hint = printable(words[1]), None
    if words[0] == "serial" and number in (errno.ENOENT, errno.ENODEV, errno.ENXIO):
        hint = f"ssh {host} ls -l /dev/serial/by-id"
    elif words[0] == "serial" and number in (errno.EACCES, errno.EPERM):
        hint = "the ssh user must be in the port's group there: sudo usermod -aG dialout USER"
    elif words[0] == "serial" and number in (errno.EBUSY, errno.EAGAIN):
        hint = f"another program there has it open (fuser {where}): ser2net with a client?"
    return BoardError(f"{where} of {host} cannot be opened: {printable(what)}", hint=hint)


def _ports() -> str:
    """The serial ports of this computer, in words: those with stable names, if there are any."""
    stable = sorted(Path("/dev/serial/by-id").glob("*"))
    plain = sorted(p for name in ("USB", "ACM", "AMA", "S") for p in Path("/dev").glob(f"tty{name}[0-9]*"))
    names = ", ".join(printable(str(port)) for port in (stable or plain)[:6])
    found = f"there are: {names}" if names else "this computer has no serial port"
    plugged_in = stable or any(port.name.startswith(("ttyUSB", "ttyACM")) for port in plain)
    return found if plugged_in else f"{found}; is the adapter plugged in?"


def _who_may(path: str) -> str:
    """How to get access to a port: as a member of its group, if that has access."""
    group, mode = "dialout", 0o660
    with contextlib.suppress(OSError, KeyError):
        mode = Path(path).stat().st_mode & 0o777
        group = Path(path).group()
    if mode & 0o060 == 0o060:
        return f"it belongs to the group '{group}': sudo usermod -aG {group} $USER, then log in again"
    port = printable(path)
    return (
        f"its permissions ({mode:03o}) do not let its group use it: sudo chmod a+rw {port}, after each start"
    )
