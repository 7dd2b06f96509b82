# SPDX-License-Identifier: Apache-2.0
"""Listening on another computer over ssh, with a real ssh server on the loopback."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bootscope.capture import tap

from .conftest import HELLO, Bootscope, FakeBoard, Make
from .farm import wait_for
from .sshd import FarComputer, gone

MS = 1_000_000
AHEAD_NS, FAST_PPM = 5_000_000_000_000, 1000
"""No crystal is that bad; the test need not take long."""


@pytest.fixture
def far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FarComputer]:
    """Another computer."""
    found = FarComputer(tmp_path / "far")
    monkeypatch.setenv("BOOTSCOPE_SSH", found.command)
    yield found
    found.close()


class Noted:
    """A plan for a fake board that sends lines and writes down when, on our clock."""

    def __init__(self) -> None:
        self.sent_ns: list[int] = []

    def __call__(self, board: FakeBoard) -> None:
        for number, line in enumerate(HELLO.splitlines(keepends=True)):
            time.sleep(3 if number == 5 else 0.03)
            self.sent_ns.append(time.monotonic_ns())
            board.says(line)


def test_the_far_clock_is_joined_with_ours_within_the_stated_error(
    bootscope: Bootscope, fake: Make, far: FarComputer
) -> None:
    far.has_python(AHEAD_NS, FAST_PPM)
    noted = Noted()
    board = fake(noted)
    found = bootscope.record(board, "-n", "1", "--tap-host", "lab1")
    assert found["complete"]
    folder = Path(found["boots"][0]["path"])
    assert (folder / "console.bin").read_bytes() == HELLO
    raw = (folder / "console.tap").read_bytes()
    heard = tap.read(raw)
    assert heard.host == "lab1"
    assert heard.clock
    assert abs(heard.clock.offset_ns + AHEAD_NS) < 3600 * 10**9  # the clocks were far apart indeed
    assert heard.clock.moved_ns < 0  # and went on moving
    assert heard.clock.error_ns < 30 * MS
    late_ns, end = [], 0
    for line, sent_ns in zip(HELLO.splitlines(keepends=True), noted.sent_ns, strict=True):
        end += len(line)
        came_ns = next(at for at, until in zip(heard.at_ns, heard.ends, strict=True) if until >= end)
        late_ns.append(came_ns - sent_ns)
    # None before it was sent; some are late on a busy computer, but not all of them.
    assert min(late_ns) >= -heard.clock.error_ns
    assert min(late_ns) <= heard.clock.error_ns + 5 * MS
    shown = bootscope.json("show")
    assert shown["milestone_errors_ns"]["login"] > heard.clock.error_ns
    note = next(note for note in shown["notes"] if "listened to on lab1" in note)
    assert "whose clock is known to ±" in note
    # It is kept as it came: in moments of the other computer.
    assert raw.startswith(tap.MAGIC_FAR)
    assert gone(far) < 10


def test_a_board_file_names_the_computer(
    bootscope: Bootscope, fake: Make, far: FarComputer, tmp_path: Path
) -> None:
    board = fake(lambda b: b.says(HELLO))
    file = tmp_path / "desk.toml"
    file.write_text(f'name = "desk"\n[console]\nport = "{board.port}"\ntap_host = "lab1"\n')
    found = bootscope.json("record", "--board", str(file), *board.power, "-n", "2")
    assert found["complete"]
    assert all("listened to on lab1" in bootscope.json("show", f"last/{n}")["notes"][-1] for n in (1, 2))


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_nobody_listens_there_when_the_recorder_is_gone(
    bootscope: Bootscope, fake: Make, far: FarComputer, how: int
) -> None:
    board = fake(lambda b: b.says(HELLO[:100]))
    options = ["--tap-host", "lab1", *board.power, "-n", "5", "--until-time", "60"]
    child = bootscope.start("record", "--board", f"serial:{board.port}", *options)
    file = bootscope.store / "runs"
    wait_for(
        "its bytes", lambda: any(HELLO[90:100] in f.read_bytes() for f in file.glob("*/boots/*/console.tap"))
    )
    assert len(far.running) == 1
    child.send_signal(how)
    child.communicate(timeout=30)
    assert gone(far) < 10
    assert "spl" in bootscope.json("show")["milestones"]


def test_a_connection_that_ends_is_told_and_the_next_boot_has_a_new_one(
    bootscope: Bootscope, fake: Make, far: FarComputer
) -> None:
    def plan(board: FakeBoard) -> None:
        board.says(HELLO[:100])
        if board.switched_on == 1:
            for pid in far.running:
                os.kill(pid, signal.SIGKILL)
        else:
            board.says(HELLO[100:])

    found = bootscope.record(fake(plan), "-n", "2", "--tap-host", "lab1", status=3)
    assert [boot["ended"] for boot in found["boots"]] == ["died", "milestone"]
    assert found["boots"][0]["message"] == "the connection to lab1 ended before login"


def told(bootscope: Bootscope, *options: str, status: int = 3) -> str:
    _, err = bootscope("record", *options, "--until-time", "5", status=status)
    assert "Traceback" not in err
    return err


def test_what_cannot_be_is_told(
    bootscope: Bootscope, fake: Make, far: FarComputer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = ["--board", f"serial:{fake(lambda b: None).port}", "--tap-host"]
    err = told(bootscope, *board, "lab2")
    assert "lab2 cannot be reached by ssh" in err
    assert "Connection refused" in err
    assert "ssh -o BatchMode=yes lab2 true" in err
    err = told(bootscope, "--board", "serial:/dev/no-such-port", "--tap-host", "lab1")
    assert "/dev/no-such-port of lab1 cannot be opened: No such file" in err
    assert "ls -l /dev/serial/by-id" in err
    for name in ("-oProxyCommand=touch evil", "a b", "$(touch evil)", "lab1;touch evil"):
        assert "not a host name" in told(bootscope, *board[:2], f"--tap-host={name}", status=2)
    assert "for a labgrid farm" in told(bootscope, *board, "auto", status=2)
    far.lacks_python()
    err = told(bootscope, *board, "lab1")
    assert "there is no python3 on lab1" in err
    monkeypatch.setenv("BOOTSCOPE_SSH", "/no/such/ssh")
    err = told(bootscope, *board, "lab1")
    assert "lab1 cannot be reached: cannot run /no/such/ssh: not found" in err
    assert "openssh-client" in err


def test_a_port_that_somebody_else_has_there_is_told(
    bootscope: Bootscope, fake: Make, far: FarComputer
) -> None:
    board = fake(lambda b: b.says(HELLO))
    first = bootscope.start("record", "--board", f"serial:{board.port}", "--until-time", "30")
    wait_for("the first recording", lambda: bool(list(bootscope.store.glob("runs/*/boots/001/console.tap"))))
    time.sleep(1)
    err = told(bootscope, "--board", f"serial:{board.port}", "--tap-host", "lab1")
    assert "of lab1 cannot be opened" in err
    assert "fuser" in err
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=60)


def test_a_shell_that_greets_is_listened_through(
    bootscope: Bootscope, fake: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    greeting = tmp_path / "greeting-ssh"
    greeting.write_text('#!/bin/sh\necho "Welcome to lab1"\nfor last; do :; done\nexec sh -c "$last"\n')
    greeting.chmod(0o755)
    monkeypatch.setenv("BOOTSCOPE_SSH", str(greeting))
    found = bootscope.record(fake(lambda b: b.says(HELLO)), "-n", "1", "--tap-host", "lab1")
    assert (Path(found["boots"][0]["path"]) / "console.bin").read_bytes() == HELLO


def test_every_shell_takes_the_command_as_it_is(far: FarComputer) -> None:
    """Also those that are not POSIX shells, as far as they are here."""
    from bootscope.hardware import remote_capture

    command = remote_capture.command("lab1")[-1]
    line = remote_capture.first_line(["file", "/dev/null"])
    for shell in ("sh", "dash", "bash", "zsh", "csh", "tcsh", "fish", "ksh"):
        if shutil.which(shell):
            done = subprocess.run([shell, "-c", command], input=line, capture_output=True, timeout=60)
            assert done.stdout.startswith(tap.MAGIC), (shell, done)
            assert done.returncode == 0
