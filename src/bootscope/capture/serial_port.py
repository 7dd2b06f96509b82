# SPDX-License-Identifier: Apache-2.0
"""A serial port as a source of the listening process (tapper.py): for Python 3.7, too."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import struct
import termios
from pathlib import Path

_TIOCGSERIAL, _TIOCSSERIAL, _TIOCEXCL, _TIOCNXCL, _TIOCGICOUNT = 0x541E, 0x541F, 0x540C, 0x540D, 0x545D
_READERS = frozenset({"ser2net", "minicom", "picocom", "microcom", "screen", "tio", "cu"})
"""Programs that read from a port all the time while they have it open; not all of them lock it."""
_LOW_LATENCY = 1 << 13
_COUNTERS = ("cts", "dsr", "rng", "dcd", "rx", "tx", "frame", "overrun", "parity", "break", "buffer overrun")
_FTDI_MS = "latency_timer"


class Source:
    """Where bytes come from: a file descriptor, and facts about it."""

    again = False
    """Whether to open it again when it is gone."""

    def open(self) -> int:
        """Opens it. Raises OSError."""
        raise NotImplementedError

    def facts(self) -> dict[str, object]:
        """Facts about it, once it is open."""
        return {}

    def heard(self, fd: int, data: bytes) -> None:
        """Answers incoming data, if the other end waits for an answer."""

    def closing(self, fd: int) -> dict[str, object]:
        """Facts at its closing."""
        return {}


class Serial(Source):
    """A serial port."""

    again = True

    def __init__(self, path: str, rate: int) -> None:
        self.path, self.rate = path, rate
        self._facts: dict[str, object] = {}

    def open(self) -> int:
        fd = os.open(self.path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if os.isatty(fd):
                self._set_up(fd)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def _set_up(self, fd: int) -> None:
        # Two readers would each get a part of the bytes.
        reader = _reader_of(self.path)
        if reader:
            raise OSError(errno.EBUSY, f"{reader} is reading it")
        fcntl.ioctl(fd, _TIOCEXCL)
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        attributes = termios.tcgetattr(fd)
        # Raw, 8 bits, no parity; the modem lines stay unchanged, since they reset some boards.
        attributes[0] = attributes[1] = attributes[3] = 0
        attributes[2] = attributes[2] & ~(termios.CSIZE | termios.PARENB | termios.CSTOPB | termios.HUPCL)
        attributes[2] |= termios.CS8 | termios.CREAD | termios.CLOCAL
        attributes[2] &= ~getattr(termios, "CRTSCTS", 0)
        attributes[6][termios.VMIN], attributes[6][termios.VTIME] = 1, 0
        if self.rate:
            speed = getattr(termios, f"B{self.rate}", None)
            if speed is None:
                raise OSError(errno.EINVAL, f"this computer does not support {self.rate} baud")
            attributes[4] = attributes[5] = speed
        termios.tcsetattr(fd, termios.TCSANOW, attributes)
        self._facts = {"rate": self.rate or _rate_of(attributes[5]), **self._low_latency(fd)}

    def _low_latency(self, fd: int) -> dict[str, object]:
        """Asks the driver to deliver bytes at once, and returns the result."""
        found: dict[str, object] = {}
        with contextlib.suppress(OSError):
            line = bytearray(72)
            fcntl.ioctl(fd, _TIOCGSERIAL, line)
            flags = struct.unpack_from("i", line, 16)[0]
            struct.pack_into("i", line, 16, flags | _LOW_LATENCY)
            with contextlib.suppress(OSError):
                fcntl.ioctl(fd, _TIOCSSERIAL, bytes(line))
            fcntl.ioctl(fd, _TIOCGSERIAL, line)
            found["low_latency"] = bool(struct.unpack_from("i", line, 16)[0] & _LOW_LATENCY)
        device = Path("/sys/class/tty") / Path(os.path.realpath(self.path)).name / "device"
        timer = device / _FTDI_MS
        if timer.exists():
            found["latency_timer_was_ms"] = int(timer.read_text())
            with contextlib.suppress(OSError):
                timer.write_text("1")
            found["latency_timer_ms"] = int(timer.read_text())
        with contextlib.suppress(OSError):
            found["driver"] = (device / "driver").resolve(strict=True).name
        return found

    def facts(self) -> dict[str, object]:
        return self._facts

    def closing(self, fd: int) -> dict[str, object]:
        with contextlib.suppress(OSError):
            # Otherwise it would stay as long as anybody has the port open.
            fcntl.ioctl(fd, _TIOCNXCL)
        with contextlib.suppress(OSError):
            counts = bytearray(80)
            fcntl.ioctl(fd, _TIOCGICOUNT, counts)
            values = struct.unpack_from("11i", counts)
            return {"counters": {name: values[at] for at, name in enumerate(_COUNTERS)}}
        return {}


def _reader_of(path: str) -> str:
    """The program that already reads a port, as far as we may see; empty for none."""
    port = os.path.realpath(path)
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            name = (process / "comm").read_text().strip()
            # Not Path.readlink: that came with Python 3.9.
            if name in _READERS and any(os.readlink(fd) == port for fd in (process / "fd").iterdir()):  # noqa: PTH115
                return name
    return ""


def _rate_of(speed: int) -> int:
    found = [int(name[1:]) for name in dir(termios) if name[0] == "B" and name[1:].isdigit()]
    return next((rate for rate in found if getattr(termios, f"B{rate}") == speed), 0)
