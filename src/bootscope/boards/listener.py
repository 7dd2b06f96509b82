# SPDX-License-Identifier: Apache-2.0
"""Listening to a console while a board boots: the listening process, and the file that it fills."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from bootscope import process
from bootscope.capture import tap, tapper
from bootscope.errors import BoardError, ToolError, printable

Heard = Callable[[int, int, bytes], None]
"""Is told kind, moment in ns and payload of each record."""
_MOST = 1 << 20


class Listener:
    """A console that is being listened to: its records go to a file, and to whoever asks.

    A thread takes from the process what it has heard, so that a slow disk makes nobody wait; the file is
    written, and `heard` is told, when :meth:`work` is called.
    """

    def __init__(self, words: Sequence[str], path: Path, heard: Heard) -> None:
        self._path, self._heard = path, heard
        self._decoder = tap.Decoder()
        self._waiting: deque[bytes] = deque()
        self._more = threading.Event()
        self._words = list(words)
        self._file = path.open("wb")
        self._keep(tap.MAGIC)
        self._child = process.spawn(
            [sys.executable, "-I", tapper.__file__, *words], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._thread = threading.Thread(target=self._fetch, daemon=True)
        self._thread.start()
        self.opened = False
        self._ended = False

    def _fetch(self) -> None:
        assert self._child.stdout
        out = self._child.stdout.fileno()
        while data := os.read(out, _MOST):
            self._waiting.append(data)
            self._more.set()
        self._waiting.append(b"")
        self._more.set()

    def work(self, most_s: float) -> bool:
        """Handles what was heard, and waits for it at most so long; False when listening has ended.

        Raises BoardError when the console cannot be opened, ToolError when the file cannot be written.
        """
        if self._ended:
            return False
        self._more.wait(most_s)
        self._more.clear()
        while self._waiting:
            data = self._waiting.popleft()
            if not data:
                self._ended = True
                return False
            for kind, at_ns, payload in self._decoder.feed(data):
                self._keep(tap.record(kind, at_ns, payload))
                if kind == tapper.EVENT:
                    self._event(tap.event_of(at_ns, payload))
                self._heard(kind, at_ns, payload)
        return True

    def note(self, name: str, at_ns: int, **facts: object) -> None:
        """Writes an event of our own among what is heard."""
        self._keep(tap.event_record(at_ns, name, **facts))

    def _keep(self, data: bytes) -> None:
        try:
            self._file.write(data)
            self._file.flush()
        except OSError as error:
            raise ToolError(f"{self._path} cannot be written: {error.strerror}") from error

    def _event(self, event: tap.Event) -> None:
        if event.name == "error":
            raise refused(self._words, int(str(event.facts.get("errno") or 0)), str(event.facts.get("what")))
        self.opened = self.opened or event.name == "open"

    def close(self) -> None:
        """Stops listening, and handles what was heard until then."""
        assert self._child.stdin
        with contextlib.suppress(OSError):
            self._child.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(2)
        process.end(self._child)
        self._thread.join(2)
        try:
            self.work(0)
        finally:
            self._file.close()


def refused(words: Sequence[str], number: int, what: str) -> BoardError:
    """Why a console cannot be opened, and what can be done about it."""
    kind, *rest = words
    where = printable(rest[0]) if kind != "tcp" else f"{printable(rest[0])}:{printable(rest[1])}"
    message, hint = f"the console {where} cannot be opened: {what}", None
    if kind == "serial" and number in (errno.ENOENT, errno.ENODEV, errno.ENXIO):
        message, hint = f"there is no port {where}", _ports()
    elif kind == "serial" and number in (errno.EACCES, errno.EPERM):
        message = f"you may not open {where}"
        group = _group(rest[0])
        hint = f"it belongs to the group '{group}': sudo usermod -aG {group} $USER, then log in anew"
    elif kind == "serial" and number in (errno.EBUSY, errno.EAGAIN):
        message = f"{where} is in use by another program"
        hint = f"close the terminal program that has it open (fuser {where} tells which one)"
    elif kind == "tcp" and number == errno.ECONNREFUSED:
        hint = "nobody listens there: is the serial server (ser2net) running, and this its port?"
    elif kind == "command":
        message, hint = f"the console's command {where} cannot be started: {what}", None
    return BoardError(message, hint=hint)


def ports() -> list[str]:
    """The serial ports of this computer: those with names that stay first."""
    stable = sorted(Path("/dev/serial/by-id").glob("*"))
    plain = sorted(p for name in ("USB", "ACM", "AMA", "S") for p in Path("/dev").glob(f"tty{name}[0-9]*"))
    return [str(path) for path in stable or plain]


def _ports() -> str:
    found = ports()
    listed = ", ".join(printable(port) for port in found[:6])
    return f"there are: {listed}" if found else "this computer has no serial port; is the adapter plugged in?"


def _group(path: str) -> str:
    """The group that a port belongs to."""
    with contextlib.suppress(OSError, KeyError):
        return Path(path).group()
    return "dialout"
