# SPDX-License-Identifier: Apache-2.0
"""The process that listens to a console: reads bytes, stamps each read, writes both to its standard output.

It does nothing else, so that nothing delays its reads; the meaning of the bytes is for others. It uses only
serial_port.py and the standard library of Python 3.7 or newer, so that it can also run on the computer that
the board is connected to (hardware/remote_capture.py). Its output is described in tap.py.

    tapper.py serial PATH [RATE]      a serial port; RATE 0 leaves the port as it is
    tapper.py tcp HOST PORT [RATE [telnet]]
                                      a network port, raw or of a telnet server; with RATE, that is set
                                      by RFC 2217
    tapper.py file PATH               a pipe, a pseudo terminal, a file
    tapper.py command WORD...         what a command prints

Each `?` on its standard input is answered by an event `clock`: its moment on this computer's clock. It ends
when its standard input or its source does; with `--silence S` in front also when nothing was asked for S
seconds: a broken connection does not end the standard input.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time

from bootscope.capture.serial_port import Serial, Source

MAGIC = b"bootscope-tap 1\n"
QUESTION = b"?"
RECORD = struct.Struct("<BQI")
BYTES, EVENT = 1, 2
_MOST = 65536
_AGAIN_S = 0.05
"""Interval between attempts to open a port that vanished."""
_DO_COM_PORT, _WONT_COM_PORT = b"\xff\xfd\x2c", b"\xff\xfc\x2c"
"""IAC DO COM-PORT-OPTION and IAC WONT COM-PORT-OPTION, in RFC 2217's numbers."""
_F_SETPIPE_SZ, _PIPE_BYTES = 1031, 1 << 20


def now_ns() -> int:
    """The clock of all stamps, which never jumps."""
    return time.monotonic_ns()


def emit(kind: int, at_ns: int, data: bytes) -> None:
    """Writes a record completely or not at all: its reader may be behind."""
    rest = memoryview(RECORD.pack(kind, at_ns, len(data)) + data)
    while rest:
        rest = rest[os.write(1, rest) :]


def event(name: str, **facts: object) -> None:
    """Writes a record of something that happened."""
    emit(EVENT, now_ns(), json.dumps({"event": name, **facts}).encode())


# ---- sources ----


class Tcp(Source):
    """A network port, raw or with the bytes of telnet and RFC 2217 in between, which stay in."""

    again = True

    def __init__(self, host: str, port: int, rate: int, telnet: bool) -> None:
        self.host, self.port, self.rate, self.telnet = host, port, rate, telnet
        self._socket: socket.socket | None = None
        self._waits = False
        """Whether the server's RFC 2217 question is still unanswered."""
        self._asking = b""

    def open(self) -> int:
        self._socket = socket.create_connection((self.host, self.port), timeout=10)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setblocking(False)
        self._asking = b""
        self._waits = self.telnet and not self.rate
        if self.rate:
            rate = struct.pack(">I", self.rate).replace(b"\xff", b"\xff\xff")
            # WILL COM-PORT-OPTION, then SET-BAUDRATE, in RFC 2217's numbers.
            self._socket.send(b"\xff\xfb\x2c" + b"\xff\xfa\x2c\x01" + rate + b"\xff\xf0")
        return self._socket.detach()

    def facts(self) -> dict[str, object]:
        return {"rate": self.rate} if self.rate else {}

    def heard(self, fd: int, data: bytes) -> None:
        if not self._waits:
            return
        # ser2net from 4.6 on sends nothing of the console until this is answered, or for 4 seconds. It is
        # never sent unasked: without a telnet server, it would reach the board.
        self._asking = self._asking + data
        if _DO_COM_PORT in self._asking:
            self._waits = False
            with contextlib.suppress(OSError):
                os.write(fd, _WONT_COM_PORT)
        self._asking = self._asking[-2:]


class File(Source):
    """A pipe, a pseudo terminal, or an ordinary file."""

    def __init__(self, path: str) -> None:
        self.path = path

    def open(self) -> int:
        return os.open(self.path, os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)


class Command(Source):
    """What a command prints; run without a shell."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.child: subprocess.Popen[bytes] | None = None

    def open(self) -> int:
        self.child = subprocess.Popen(
            self.words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True
        )
        assert self.child.stdout
        return os.dup(self.child.stdout.fileno())

    def closing(self, fd: int) -> dict[str, object]:
        assert self.child
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.child.pid, signal.SIGTERM)
        return {"status": self.child.wait()}


def source_of(words: list[str]) -> Source:
    """The source that the command line names."""
    kind, *rest = words
    if kind == "serial":
        return Serial(rest[0], int(rest[1]) if rest[1:] else 0)
    if kind == "tcp":
        return Tcp(rest[0], int(rest[1]), int(rest[2]) if rest[2:] else 0, rest[3:] == ["telnet"])
    if kind == "file":
        return File(rest[0])
    if kind == "command":
        return Command(rest)
    raise SystemExit(f"no source is called '{kind}'")


# ---- listening ----


class Master:
    """The reader of this process's output, at the other end of its standard input."""

    def __init__(self, silence_s: float = 0.0) -> None:
        self.silence_s = silence_s
        self._asked_s = time.monotonic()

    @property
    def left_ms(self) -> int | None:
        """How long it may still be silent; None for ever."""
        if not self.silence_s:
            return None
        return max(0, int(1000 * (self._asked_s + self.silence_s - time.monotonic())))

    def listen(self) -> bool:
        """Reads its questions, and answers; False when it is gone."""
        data = os.read(0, _MOST)
        self._asked_s = time.monotonic()
        for _ in range(data.count(QUESTION)):
            event("clock")
        return bool(data)


def hurry() -> dict[str, object]:
    """Takes priority on the CPU as far as allowed; returns how far, and the remaining lateness."""
    priority = "normal"
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, -15)
        priority = "high"
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
        priority = "real time"
    with contextlib.suppress(OSError):
        fcntl.fcntl(1, _F_SETPIPE_SZ, _PIPE_BYTES)
    gc.disable()
    late = sorted(_lateness_ns() for _ in range(40))
    return {"priority": priority, "late_ns": late[len(late) // 2], "late_99_ns": late[-1]}


def _lateness_ns() -> int:
    """How late this process is woken."""
    wanted = now_ns() + 1_000_000
    time.sleep(0.001)
    return now_ns() - wanted


def listen(source: Source, words: list[str], master: Master) -> int:
    """Listens until the source or the standard input ends; returns the exit status."""
    os.write(1, MAGIC)
    facts = hurry()
    try:
        fd = source.open()
    except OSError as error:
        event("error", errno=error.errno, what=error.strerror or str(error))
        return 3
    event("open", source=words, wall_ns=time.time_ns(), **facts, **source.facts())
    while fd >= 0:
        ended = _read(source, fd, master)
        told = source.closing(fd)
        os.close(fd)
        event("closed" if ended else "lost", **told)
        fd = -1 if ended or not source.again else _again(source, master)
    return 0


def _read(source: Source, fd: int, master: Master) -> bool:
    """Reads until the source has nothing more (False) or there is nobody to read for (True)."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    poll.register(0, select.POLLIN)
    while True:
        ready = poll.poll(master.left_ms)
        if not ready and master.left_ms == 0:
            return True
        for which, _ in ready:
            if which != fd:
                if not master.listen():
                    return True
                continue
            try:
                data = os.read(fd, _MOST)
            except BlockingIOError:
                continue
            except OSError:
                return False
            if not data:
                return False
            emit(BYTES, now_ns(), data)
            source.heard(fd, data)


def _again(source: Source, master: Master) -> int:
    """Reopens a source that is gone once it is back; -1 when nobody waits for it any more."""
    while True:
        ready, _, _ = select.select([0], [], [], _AGAIN_S)
        if (ready and not master.listen()) or master.left_ms == 0:
            return -1
        with contextlib.suppress(OSError):
            fd = source.open()
            event("back", **source.facts())
            return fd


def main(words: list[str]) -> int:
    """Listens to what the words name; returns the exit status."""
    silence_s = 0.0
    if words[:1] == ["--silence"]:
        silence_s, words = float(words[1]), words[2:]
    return listen(source_of(words), words, Master(silence_s))


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        sys.exit(main(sys.argv[1:]))
    except BrokenPipeError:
        sys.exit(0)
