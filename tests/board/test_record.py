# SPDX-License-Identifier: Apache-2.0
"""Boots of boards that are pseudo terminals, sockets and commands: how each ends, and what stays."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from .conftest import HELLO, Bootscope, FakeBoard, Make


def only(found: dict[str, Any]) -> dict[str, Any]:
    boots = found["boots"]
    assert isinstance(boots, list)
    assert len(boots) == 1
    boot: dict[str, Any] = boots[0]
    return boot


def console(boot: dict[str, str]) -> bytes:
    return (Path(boot["path"]) / "console.bin").read_bytes()


def test_three_boots_are_measured_and_shown(bootscope: Bootscope, fake: Make) -> None:
    board = fake(lambda b: b.says(HELLO, 0.01))
    found = bootscope.record(board, "-n", "3", "--power-off", "true")
    assert found["complete"]
    assert board.switched_on == 3
    assert [boot["ended"] for boot in found["boots"]] == ["milestone"] * 3
    assert [console(boot) for boot in found["boots"]] == [HELLO] * 3
    shown = bootscope.json("show", f"{found['run_id']}/2")
    assert (shown["number"], shown["boots"], shown["how"]) == (2, 3, "measured")
    phases = ["earlier", "spl", "bootloader", "decompress+early-kernel", "kernel", "init", "application"]
    assert [p["name"] for p in shown["phases"]] == phases
    at = shown["milestones"]
    assert at["spl"] < at["bootloader"] < at["kernel-entry"] < at["init"] < at["login"]
    assert shown["milestone_errors_ns"]["login"] < 1_000_000_000
    assert "login at" in shown["message"]
    out, _ = bootscope("show")
    assert f"{found['run_id']}: 3 of 3 boots completed" in out
    _, refused = bootscope("compare", "last", found["run_id"], "--milestone", "login", status=2)
    assert f"A and B are both {found['run_id']}" in refused
    listed = bootscope.json("list")["runs"][0]
    assert (listed["kind"], listed["boots"], listed["complete"]) == ("measured", 3, 3)


def test_what_the_board_is_called_and_says_when_it_is_ready_stands_in_its_file(
    bootscope: Bootscope, fake: Make, tmp_path: Path
) -> None:
    board = fake(lambda b: b.says(b"hello\nall is well here\n"))
    file = tmp_path / "desk.toml"
    on, off = (str(board.power[n]).replace('"', '\\"') for n in (1, 3))
    file.write_text(
        f'schema = 1\nname = "desk"\nleft = "off"\n[console]\nport = "{board.port}"\n'
        f'[power]\non = ["sh", "-c", "{on}"]\noff = ["sh", "-c", "{off}"]\noff_s = 0.1\n'
        '[milestones.app-ready]\nconsole = "all is well"\n'
    )
    found = bootscope.json("record", "--board", str(file), "-n", "1")
    assert "-desk" in found["run_id"]
    assert only(found)["message"].startswith("app-ready at ")
    assert board.on_file.read_text() == ""  # it was left switched off
    assert "app-ready" in bootscope.json("show")["milestones"]


@pytest.mark.parametrize(("said", "ended", "words", "status"), [
    (b"", "silent", "is the board on", 3),
    (HELLO[:60], "timeout", "was not reached within", 3),
    (b"U-Boot 2025.01\r\nHit any key\r\n=> ", "prompt", "waits for a command", 3),
    (b"[    1.0] Kernel panic - not syncing: no init\r\n", "panic", "panicked", 3),
    ((HELLO[:60] + b"\r\n") * 4, "loop", "restarts repeatedly: ", 3),
    (b"\x80\xf8\x00\xfc" * 200, "garbled", "115200 baud is the wrong rate, try --rate ", 3),
    (HELLO, "milestone", "login at ", 0),
    (HELLO[:60] + b"\r\n" + HELLO, "milestone", "started more than once: 2 times spl", 0),
])  # fmt: skip
def test_each_end_has_its_own_word(
    bootscope: Bootscope, fake: Make, said: bytes, ended: str, words: str, status: int
) -> None:
    board = fake(lambda b: b.says(said))
    boot = only(bootscope.record(board, "-n", "1", "--timeout", "4", status=status))
    assert boot["ended"] == ended
    assert words in boot["message"]
    assert console(boot) == said


def test_silence_time_and_text_end_boots(bootscope: Bootscope, fake: Make) -> None:
    board = fake(lambda b: b.says(b"one\ntwo\n"))
    for option, value, words in (
        ("--until-silence", "0.4", "a silence of 0.4 s, from "),
        ("--until-time", "0.7", "0.7 s after power on"),
        ("--until-text", "two", "'two' at "),
    ):
        boot = only(bootscope.record(board, "-n", "1", option, value))
        assert (boot["ended"], console(boot)) == ("milestone", b"one\ntwo\n")
        assert boot["message"].startswith(words)


def test_a_port_that_vanishes_is_opened_again(bootscope: Bootscope, fake: Make) -> None:
    def plan(board: FakeBoard) -> None:
        board.says(b"before\n")
        time.sleep(0.2)
        board.pull_out()
        time.sleep(0.3)
        board.plug_in()
        time.sleep(0.5)
        board.says(b"after\nboard login: ")

    boot = only(bootscope.record(fake(plan), "-n", "1"))
    assert (boot["ended"], console(boot)) == ("milestone", b"before\nafter\nboard login: ")
    out, _ = bootscope("show")
    assert "login" in out


def test_a_port_that_stays_away_ends_that_boot_and_not_the_run(bootscope: Bootscope, fake: Make) -> None:
    def plan(board: FakeBoard) -> None:
        board.says(HELLO)
        if board.switched_on == 2:
            board.pull_out()

    found = bootscope.record(fake(plan), "-n", "3", "--timeout", "3", "--until-text", "Welcome to", status=3)
    assert [boot["ended"] for boot in found["boots"]] == ["timeout", "lost", "died"]
    assert console(found["boots"][0]) == HELLO
    assert "there is no port" in found["boots"][2]["message"]


def test_power_that_fails_is_told_and_what_was_measured_stays(bootscope: Bootscope, fake: Make) -> None:
    board = fake(lambda b: b.says(HELLO))
    options = ["record", "--board", f"serial:{board.port}", "-n", "2", "--power-off", "true"]
    _, err = bootscope(*options, "--power-on", "false", status=3)
    assert "cannot be switched on" in err
    _, err = bootscope(*options, "--power-on", "no-such-program-here", status=2)
    assert "power on: no-such-program-here is not there" in err


@pytest.mark.parametrize(("arguments", "words", "status"), [
    (["--board", "serial:/dev/no-such-port"], "there is no port /dev/no-such-port", 3),
    (["--board", "tcp:127.0.0.1:9"], "is the serial server (ser2net) running", 3),
    (["--board", "tcp:nowhere"], "is not HOST:PORT", 2),
    (["--board", "command:no-such-program-here"], "cannot be started", 3),
    (["--board", "pipe:/no/such/pipe"], "cannot be opened", 3),
    (["stock", "--board", "serial:/dev/x"], "leave the system out", 2),
    (["--board", "serial:/dev/x", "--until", "tea-time"], "unknown milestone 'tea-time'", 2),
    (["--board", "serial:/dev/x", "--until", "login", "--until-time", "3"], "choose one end", 2),
    (["--board", "serial:/dev/x", "--power-on", "a"], "belong together", 2),
    (["--board", "serial:/dev/x", "--rate", "12345"], "does not support 12345 baud", 3),
    ([], "name a system", 2),
])  # fmt: skip
def test_what_cannot_be_is_told(
    bootscope: Bootscope, tmp_path: Path, fake: Make, arguments: list[str], words: str, status: int
) -> None:
    if "12345" in arguments:
        arguments = [a.replace("/dev/x", str(fake(lambda b: None).port)) for a in arguments]
    _, err = bootscope("record", *arguments, status=status)
    assert words in err
    assert "Traceback" not in err
    # Nothing was measured, so that there is nothing that `show` could take for the last run.
    assert bootscope.json("list")["runs"] == []


def test_a_port_that_is_in_use_is_told(bootscope: Bootscope, fake: Make) -> None:
    board = fake(lambda b: b.says(HELLO))
    first = bootscope.start("record", "--board", f"serial:{board.port}", "--until-time", "100")
    while not others_have_open(board.port):
        assert first.poll() is None, first.communicate()
        time.sleep(0.05)
    _, err = bootscope("record", "--board", f"serial:{board.port}", status=3)
    assert "in use by another program" in err
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=60)


def others_have_open(path: Path) -> bool:
    """Whether a process other than this one has a file open: a recording listens in a process of its own."""
    wanted = str(path.resolve())
    for entry in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            if entry.parts[2] != str(os.getpid()) and str(entry.readlink()) == wanted:
                return True
    return False


def serve(data: bytes) -> int:
    """A serial server that sends `data` to whoever comes; its port."""
    server = socket.create_server(("127.0.0.1", 0))
    port: int = server.getsockname()[1]

    def answer() -> None:
        with server:
            connection, _ = server.accept()
        with connection:
            time.sleep(0.2)
            connection.sendall(data)
            # Until whoever listens has gone.
            connection.settimeout(30)
            connection.recv(1)

    threading.Thread(target=answer, daemon=True).start()
    return port


def test_serial_servers_are_listened_to_with_and_without_telnet(bootscope: Bootscope) -> None:
    boot = only(bootscope.json("record", "--board", f"tcp:127.0.0.1:{serve(HELLO)}"))
    assert console(boot) == HELLO
    # A server gathers bytes, and the error of every figure says so.
    assert all(error > 10_000_000 for error in bootscope.json("show")["milestone_errors_ns"].values())
    options = b"\xff\xfb\x2c\xff\xfa\x2c\x65\x00\xff\xf0"
    sent = options + HELLO[:50] + b"\xff\xff" + options + HELLO[50:]
    for kind in ("telnet", "rfc2217"):
        boot = only(bootscope.json("record", "--board", f"{kind}:127.0.0.1:{serve(sent)}"))
        assert console(boot) == HELLO[:50] + b"\xff" + HELLO[50:]
        # The raw capture has them all the same.
        assert options in (Path(boot["path"]) / "console.tap").read_bytes()


def waiting(question: bytes, heard: list[bytes]) -> int:
    """A server that asks, and sends the console 4 seconds later, or once it has an answer."""
    server = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        connection, _ = server.accept()
        with server, connection:
            connection.sendall(question[:-1])
            time.sleep(0.05)
            connection.sendall(question[-1:])
            connection.settimeout(4)
            with contextlib.suppress(TimeoutError):
                heard.append(connection.recv(100))
            connection.sendall(HELLO)
            connection.settimeout(30)
            heard.append(connection.recv(100))

    threading.Thread(target=answer, daemon=True).start()
    return int(server.getsockname()[1])


def test_a_server_that_waits_for_an_answer_gets_one_and_a_raw_port_gets_nothing(bootscope: Bootscope) -> None:
    question = b"\xff\xfb\x03\xff\xfd\x03\xff\xfd\x2c"
    for kind in ("telnet", "tcp"):
        heard: list[bytes] = []
        boot = only(bootscope.json("record", "--board", f"{kind}:127.0.0.1:{waiting(question, heard)}"))
        assert console(boot).endswith(HELLO)
        # Without an answer HELLO comes four seconds late.
        assert heard == ([b"\xff\xfc\x2c", b""] if kind == "telnet" else [b""])


def test_commands_and_pipes_are_listened_to(bootscope: Bootscope, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(HELLO)
    assert console(only(bootscope.json("record", "--board", f"command:cat {log}"))) == HELLO
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    threading.Thread(target=lambda: pipe.write_bytes(HELLO), daemon=True).start()
    assert console(only(bootscope.json("record", "--board", f"pipe:{pipe}"))) == HELLO


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_what_was_heard_survives_the_end_of_the_recorder(bootscope: Bootscope, fake: Make, how: int) -> None:
    board = fake(lambda b: b.says(HELLO[:100]))
    child = bootscope.start("record", "--board", f"serial:{board.port}", *board.power, "-n", "5")
    for _ in range(600):
        time.sleep(0.05)
        taps = list(bootscope.store.glob("runs/*/boots/001/console.tap"))
        if taps and HELLO[90:100] in taps[0].read_bytes()[-200:] and board.switched_on:
            break
    child.send_signal(how)
    _, err = child.communicate(timeout=30)
    assert child.returncode == (130 if how == signal.SIGINT else -9)
    listed = bootscope.json("list")["runs"]
    kept = f"kept as {listed[0]['run_id']}: 0 of 1 boots; bootscope show {listed[0]['run_id']}"
    assert (kept in err) == (how == signal.SIGINT)
    assert [(run["boots"], run["complete"]) for run in listed] == [(1, 0)]
    shown = bootscope.json("show")
    assert "spl" in shown["milestones"]
    assert shown["message"] == ("interrupted" if how == signal.SIGINT else "the recorder was killed")


def test_the_headline_does_not_hold_the_time_that_it_took_to_reach_the_switch(
    bootscope: Bootscope, fake: Make
) -> None:
    board = fake(lambda b: None)
    child = bootscope.start("record", "--board", f"serial:{board.port}", "--json")
    for _ in range(600):  # the recorder is ready
        time.sleep(0.05)
        if any(b"begin" in tap.read_bytes() for tap in bootscope.store.glob("runs/*/boots/001/console.tap")):
            break
    time.sleep(3)  # somebody walks to the board
    board.says(HELLO, 0.02)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 0, err
    boot = only(json.loads(out))
    assert 150_000_000 < boot["reached_ns"] < 1_500_000_000
    assert boot["error_ns"] > 0
    assert boot["message"] == f"login at {boot['reached_ns'] / 1e9:.3f} s"
    shown = bootscope.json("show")
    assert (shown["milestones"]["login"], shown["message"]) == (boot["reached_ns"], boot["message"])


def test_what_the_port_hands_over_before_power_on_is_of_the_boot_before(
    bootscope: Bootscope, fake: Make
) -> None:
    """Two of ten boots began with the prompt of the boot before, and ended at it."""
    stale = b"\r\n[    9.000000] reboot: Power down\r\nboard login: "

    def plan(board: FakeBoard) -> None:
        board.says(HELLO, 0.02)
        time.sleep(0.7)  # nobody listens until the next boot
        board.says(stale)

    board = fake(plan)
    board.says(stale)
    found = bootscope.record(board, "-n", "2")
    assert all(console(boot) == HELLO for boot in found["boots"])
    assert all(150_000_000 < boot["reached_ns"] < 1_500_000_000 for boot in found["boots"])
    assert all("power on" in bootscope.json("show", f"{found['run_id']}/{n}")["clock"] for n in (1, 2))
