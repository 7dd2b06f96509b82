# SPDX-License-Identifier: Apache-2.0
"""Boards made of pseudo terminals and sockets, listened to as a user would: through the command line."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
import tty
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SWITCH = Path(__file__).with_name("switch.py")
HELLO = (
    b"\r\nU-Boot SPL 2025.01 (Nov 21 2026)\r\nTrying to boot from MMC1\r\n"
    b"\r\nU-Boot 2025.01 (Nov 21 2026)\r\n\r\nStarting kernel ...\r\n\r\n"
    b"[    0.000000] Booting Linux on physical CPU 0x0\r\n[    0.000000] Linux version 6.12.1\r\n"
    b"[    0.700000] Freeing unused kernel image (initmem) memory: 1024K\r\n"
    b"[    0.710000] Run /sbin/init as init process\r\nWelcome\r\n\r\nboard login: "
)


@dataclass
class FakeBoard:
    """A board behind a pseudo terminal. `plan` says what it does each time it is switched on."""

    folder: Path
    plan: Callable[[FakeBoard], None]
    switched_on: int = 0
    stop: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.port, self.on_file = self.folder / "port", self.folder / "on"
        self.heard_file, self.powered_ns = self.folder / "on.heard", 0
        self.plug_in()

    def plug_in(self) -> None:
        """The adapter is there, under the name that stays."""
        self.master, self.slave = pty.openpty()
        tty.setraw(self.slave)
        new = self.folder / "port.new"
        new.symlink_to(os.ttyname(self.slave))
        new.replace(self.port)

    def pull_out(self) -> None:
        """The adapter is gone."""
        self.port.unlink()
        os.close(self.slave)
        os.close(self.master)

    def says(self, text: bytes, pause_s: float = 0.0) -> None:
        """Sends text, in pieces with pauses between them where it is to last.

        A line's time is counted from the first one, so that a busy computer delays a line but not
        those after it: a board does not wait for the computer it is measured with.
        """
        start_s = time.monotonic()
        for number, line in enumerate(text.splitlines(keepends=True) if pause_s else [text], 1):
            os.write(self.master, line)
            time.sleep(max(start_s + number * pause_s - time.monotonic(), 0))

    def live(self) -> None:
        """Waits to be switched on, again and again."""
        seen = ""
        while not self.stop.is_set():
            now = self.on_file.read_text() if self.on_file.exists() else ""
            if now != seen and now:
                self.powered_ns = time.monotonic_ns()
                self.heard_file.write_text(now)
                self.switched_on += 1
                self.plan(self)
            seen = now
            time.sleep(0.005)

    @property
    def power(self) -> list[str]:
        """Options that switch it. As with a relay, it is on before the command returns."""
        on = f"{sys.executable} '{SWITCH}' '{self.on_file}' '{self.heard_file}'"
        off = f"{sys.executable} -c \"open('{self.on_file}','w')\""
        return ["--power-on", on, "--power-off", off]


Make = Callable[[Callable[[FakeBoard], None]], FakeBoard]


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[Make]:
    """Makes boards."""
    made: list[FakeBoard] = []

    def make(plan: Callable[[FakeBoard], None]) -> FakeBoard:
        board = FakeBoard(tmp_path, plan)
        threading.Thread(target=board.live, daemon=True).start()
        made.append(board)
        return board

    yield make
    for board in made:
        board.stop.set()


@dataclass(frozen=True)
class Bootscope:
    """The command, with a store of its own."""

    store: Path

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Starts it."""
        env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "BOOTSCOPE_STORE": str(self.store)}
        command = [sys.executable, "-m", "bootscope", *arguments]
        return subprocess.Popen(
            command,
            env=env,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            # A test run in the background of a shell ignores Ctrl-C, and children inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def __call__(self, *arguments: str, status: int = 0) -> tuple[str, str]:
        """Runs it; returns its two outputs."""
        child = self.start(*arguments)
        out, err = child.communicate(timeout=120)
        assert child.returncode == status, (child.returncode, out, err)
        return out, err

    def json(self, *arguments: str, status: int = 0) -> dict[str, Any]:
        """Runs it with --json."""
        found: dict[str, Any] = json.loads(self(*arguments, "--json", status=status)[0])
        return found

    def record(self, board: FakeBoard, *options: str, status: int = 0) -> dict[str, Any]:
        """Measures boots of a board that is switched by commands."""
        return self.json("record", "--board", f"serial:{board.port}", *board.power, *options, status=status)


@pytest.fixture
def bootscope(tmp_path: Path) -> Bootscope:
    """The command."""
    return Bootscope(tmp_path / "store")
