# SPDX-License-Identifier: Apache-2.0
"""A logic analyser beside the console: pins and lines on one clock, and analysers that fail."""

from __future__ import annotations

import json
import os
import pty
import sys
import threading
import time
import tty
from pathlib import Path
from typing import Any

import pytest

from .conftest import Bootscope, FakeBoard, Make

ANALYSER = Path(__file__).with_name("analyser.py")
MS = 1_000_000
LINES = [
    b"\r\nU-Boot SPL 2025.01 (Nov 21 2026)\r\n",
    b"Trying to boot from MMC1\r\n",
    b"\r\nU-Boot 2025.01 (Nov 21 2026)\r\n",
    b"Model: a board on a desk\r\n",
    b"Starting kernel ...\r\n",
    b"[    0.000000] Booting Linux on physical CPU 0x0\r\n",
    b"[    0.700000] Freeing unused kernel image (initmem) memory: 1024K\r\n",
    b"[    0.710000] Run /sbin/init as init process\r\n",
    b"[    0.720000] one more line of the kernel\r\n",
    b"board login: ",
]
READY_NS = 150 * MS
"""When the application of the fake board sets its pin, after power."""


class WiredBoard:
    """A plan for a fake board whose pins are watched; writes down what it truly did."""

    def __init__(self, folder: Path) -> None:
        self.notes = folder / "pins.txt"
        self.power_ns = 0

    def __call__(self, board: FakeBoard) -> None:
        self.power_ns = board.powered_ns
        told = [(self.power_ns, "D1", "1"), (self.power_ns + READY_NS, "D0", "1")]
        time.sleep(0.02)
        for line in LINES:
            # A byte is on the line for 87 us before the host can have it.
            told.append((time.monotonic_ns(), "D2", line.hex()))
            time.sleep(len(line) / 11520)
            board.says(line)
            time.sleep(0.02)
            if line is LINES[-2]:
                text = "".join(f"{at_ns} {channel} {what}\n" for at_ns, channel, what in told)
                self.notes.write_text(text)


def board_file(board: FakeBoard, folder: Path, pins: str) -> Path:
    file = folder / "desk.toml"
    on, off = (json.dumps(board.power[n]) for n in (1, 3))
    file.write_text(
        f'name = "desk"\n[console]\nport = "{board.port}"\n[power]\noff_s = 0.1\n'
        f'on = ["sh", "-c", {on}]\noff = ["sh", "-c", {off}]\n{pins}'
    )
    return file


def command(board: Path, *more: str, file: str = "{file}") -> str:
    return f"[pins]\ncommand = {json.dumps([sys.executable, str(ANALYSER), str(board), file, *more])}\n"


EDGES = '[pins.edges]\nD0 = { high = "app-ready" }\nD1 = { high = "power" }\n'
UART = '[pins.uart]\nchannel = "D2"\n'


def shown(bootscope: Bootscope, make: Make, tmp_path: Path, pins: str, *, boots: int = 1) -> dict[str, Any]:
    board = make(WiredBoard(tmp_path))
    file = board_file(board, tmp_path, pins)
    found = bootscope.json("record", "--board", str(file), "-n", str(boots))
    assert found["complete"]
    return bootscope.json("show", found["run_id"])


@pytest.mark.alone
@pytest.mark.parametrize("kind", ["vcd", "sr"])
def test_edges_and_console_are_on_one_clock_to_a_few_microseconds(
    bootscope: Bootscope, fake: Make, tmp_path: Path, kind: str
) -> None:
    pins = command(tmp_path / "pins.txt", kind) + f'file = "pins.{kind}"\n' + UART + EDGES
    found = shown(bootscope, fake, tmp_path, pins)
    at, error = found["milestones"], found["milestone_errors_ns"]
    assert at["power"] == 0
    assert abs(at["app-ready"] - READY_NS) <= 10_000  # 40 ppm of it are 6 us
    assert error["app-ready"] <= 100_000
    for name in ("spl", "bootloader", "kernel-start", "kernel-entry", "init"):
        assert error[name] <= 100_000, name
    assert 20 * MS <= at["spl"] < at["bootloader"] < at["init"]
    # What was sent after the analyser's last note is on the console alone, and says so by its error.
    assert error["login"] > error["init"]
    run = next((tmp_path / "store" / "runs").iterdir())
    assert (run / "boots" / "001" / f"pins.{kind}").stat().st_size > 1000
    out, _ = bootscope("show")
    assert "app-ready" in out and "identical lines" in out


@pytest.mark.alone
def test_without_its_console_a_power_edge_is_time_zero(
    bootscope: Bootscope, fake: Make, tmp_path: Path
) -> None:
    found = shown(bootscope, fake, tmp_path, command(tmp_path / "pins.txt") + EDGES)
    at, error = found["milestones"], found["milestone_errors_ns"]
    assert at["power"] == 0
    assert abs(at["app-ready"] - READY_NS) <= 10_000
    assert error["app-ready"] <= 100_000
    # The console is joined by the switching of power, which took longer than a microsecond.
    assert error["login"] > 100_000
    assert at["spl"] - 20 * MS <= error["spl"] + 5 * MS


@pytest.mark.alone
def test_without_a_power_edge_the_lines_join(bootscope: Bootscope, fake: Make, tmp_path: Path) -> None:
    edges = '[pins.edges.D0]\nhigh = "app-ready"\n'
    found = shown(bootscope, fake, tmp_path, command(tmp_path / "pins.txt") + UART + edges)
    at, error = found["milestones"], found["milestone_errors_ns"]
    assert abs(at["app-ready"] - READY_NS) <= error["app-ready"] + 10_000
    assert error["app-ready"] == error["spl"]


@pytest.mark.alone
def test_without_either_the_start_of_the_capture_places_it(
    bootscope: Bootscope, fake: Make, tmp_path: Path
) -> None:
    edges = '[pins.edges.D0]\nhigh = "app-ready"\n'
    found = shown(bootscope, fake, tmp_path, command(tmp_path / "pins.txt") + edges)
    at, error = found["milestones"], found["milestone_errors_ns"]
    assert abs(at["app-ready"] - READY_NS) <= error["app-ready"]
    assert 20 * MS < error["app-ready"] < 2000 * MS


@pytest.mark.parametrize(("pins", "words"), [
    ('[pins]\ncommand = ["no-such-analyser"]\n', "cannot be started"),
    ('[pins]\nready_s = 3\ncommand = ["sh", "-c", "echo no devices found; exit 1"]\n', "devices found"),
    ('[pins]\nready_s = 3\ncommand = ["sh", "-c", "read key"]\n', "gave no output"),
    ('[pins]\nready_s = 3\ncommand = ["sh", "-c", "echo not a capture; cat"]\n', "has no known format"),
])  # fmt: skip
def test_an_analyser_that_fails_is_told_and_the_boot_stays(
    bootscope: Bootscope, fake: Make, tmp_path: Path, pins: str, words: str
) -> None:
    found = shown(bootscope, fake, tmp_path, pins + EDGES)
    assert "login" in found["milestones"]
    assert any(words in note for note in found["notes"]), found["notes"]
    assert words in bootscope("show")[0].replace("\n", " ")


def test_a_capture_that_is_lost_or_names_other_channels_is_told(
    bootscope: Bootscope, fake: Make, tmp_path: Path
) -> None:
    pins = command(tmp_path / "pins.txt") + '[pins.edges]\nD7 = { low = "x" }\n'
    found = shown(bootscope, fake, tmp_path, pins)
    assert any("no channel 'D7'" in note and "D0, D1, D2" in note for note in found["notes"])
    assert any(t["title"] == "D0" for t in found["tracks"])
    boot = next((tmp_path / "store" / "runs").iterdir()) / "boots" / "001"
    (boot / "pins.vcd").write_bytes(b"\x00\x01garbage")
    assert "login" in bootscope.json("show")["milestones"]
    (boot / "pins.vcd").unlink()
    assert any("cannot be read" in note for note in bootscope.json("show")["notes"])
    (boot / "pins.json").write_text("{")
    assert any("cannot be read" in note for note in bootscope.json("show")["notes"])


def test_sigrok_itself_is_started_and_ended(bootscope: Bootscope, fake: Make, tmp_path: Path) -> None:
    pins = '[pins]\ndriver = "demo"\nsamplerate = "20k"\nchannels = ["D0", "D1"]\n'
    found = shown(bootscope, fake, tmp_path, pins + "[pins.edges]\nD0.high = 'tick'\n")
    assert "login" in found["milestones"] and "tick" in found["milestones"]
    assert not any("analyser" in note for note in found["notes"])


class LittleAnalyser:
    """One of bootscope's own analysers behind a pseudo terminal: tells edges of a board as its sketch does.

    Its clock runs `FAST_PPM` fast, as a ceramic resonator may.
    """

    FAST_PPM = 3000

    def __init__(self, folder: Path) -> None:
        self.port = folder / "analyser"
        self.master, self.slave = pty.openpty()
        tty.setraw(self.slave)
        self.port.symlink_to(os.ttyname(self.slave))
        self.began_ns = time.monotonic_ns() - 4_294_000_000_000  # soon its counter wraps
        self.levels, self.lock = {"D2": 0, "D3": 0}, threading.Lock()
        self.stop = threading.Event()
        threading.Thread(target=self._beat, daemon=True).start()

    def rises(self, pin: str) -> None:
        """A pin goes high."""
        with self.lock:
            self.levels[pin] = 1
            self.tells(f"{pin} 1")

    def falls(self, pin: str) -> None:
        """A pin goes low."""
        with self.lock:
            self.levels[pin] = 0
            self.tells(f"{pin} 0")

    def tells(self, text: str) -> None:
        """Writes a line, with the ticks of now."""
        ticks = (
            (time.monotonic_ns() - self.began_ns) * (1_000_000 + self.FAST_PPM) // 1_000_000_000 % (1 << 32)
        )
        os.write(self.master, f"bs1 {ticks} {text}\n".encode())

    def _beat(self) -> None:
        worth = "state tick_ns=1000 resolution_ns=16000 ppm=5000 wrap=4294967296 pins=D2,D3 levels="
        while not self.stop.wait(0.05):
            with self.lock:
                self.tells(worth + "".join(map(str, self.levels.values())))


@pytest.mark.alone
def test_a_little_analyser_tells_edges_over_its_port(
    bootscope: Bootscope, fake: Make, tmp_path: Path
) -> None:
    analyser = LittleAnalyser(tmp_path)

    def plan(board: FakeBoard) -> None:
        analyser.rises("D3")
        for line in LINES[:-1]:
            board.says(line)
            time.sleep(0.02)
        analyser.rises("D2")
        time.sleep(0.2)
        board.says(LINES[-1])

    board = fake(plan)
    pins = f'[pins]\nport = "{analyser.port}"\n[pins.edges]\nD2.high = "app-ready"\nD3.high = "power"\n'
    found = bootscope.json("record", "--board", str(board_file(board, tmp_path, pins)), "-n", "1")
    analyser.stop.set()
    shown = bootscope.json("show", found["run_id"])
    at, error = shown["milestones"], shown["milestone_errors_ns"]
    assert at["power"] == 0
    # Its 3000 ppm are made good by the moments at which its lines came.
    assert 9 * 20 * MS <= at["app-ready"] <= at["login"] - 150 * MS + error["login"]
    assert error["app-ready"] < 20 * MS
    assert (Path(found["boots"][0]["path"]) / "pins.tap").stat().st_size > 500


@pytest.mark.alone
@pytest.mark.parametrize("until", ["pin:app-ready", "app-ready"])
def test_a_boot_ends_at_an_edge_that_is_told_while_it_comes(
    bootscope: Bootscope, fake: Make, tmp_path: Path, until: str
) -> None:
    analyser = LittleAnalyser(tmp_path)
    # High from before: that is no edge of this boot.
    analyser.rises("D2")

    def plan(board: FakeBoard) -> None:
        board.says(LINES[0])
        time.sleep(0.1)
        analyser.falls("D2")
        time.sleep(0.3)
        board.says(LINES[2])
        analyser.rises("D2")
        time.sleep(2)
        board.says(LINES[-1])

    board = fake(plan)
    pins = f'[pins]\nport = "{analyser.port}"\n[pins.edges]\nD2.high = "app-ready"\n'
    file = board_file(board, tmp_path, pins)
    found = bootscope.json("record", "--board", str(file), "-n", "1", "--until", until)
    analyser.stop.set()
    boot = found["boots"][0]
    assert (boot["ended"], boot["message"][:13]) == ("milestone", "app-ready at ")
    assert LINES[-1] not in (Path(boot["path"]) / "console.bin").read_bytes()
    shown = bootscope.json("show")
    at = shown["milestones"]
    assert at["bootloader"] - 20 * MS < at["app-ready"] < at["bootloader"] + 50 * MS
    assert "login" not in at


def test_a_boot_that_waits_for_an_edge_and_its_analyser_are_told_apart(
    bootscope: Bootscope, fake: Make, tmp_path: Path
) -> None:
    analyser = LittleAnalyser(tmp_path)
    board = fake(lambda b: b.says(LINES[0]))
    pins = f'[pins]\nport = "{analyser.port}"\n[pins.edges]\nD2.high = "app-ready"\n'
    file = board_file(board, tmp_path, pins)
    options = ["record", "--board", str(file), "-n", "1", "--until", "pin:app-ready", "--timeout", "3"]
    boot = bootscope.json(*options, status=3)["boots"][0]
    assert boot["ended"] == "timeout"
    assert boot["message"].startswith("app-ready was not reached within")
    analyser.stop.set()
    analyser.port.unlink()
    boot = bootscope.json(*options, status=3)["boots"][0]
    assert boot["ended"] == "died"
    assert boot["message"] == "the logic analyser ended before app-ready"


@pytest.mark.parametrize(("pins", "until", "words"), [
    ('driver = "demo"', "pin:tick", "the edge 'tick' is known only after the boot"),
    ('driver = "demo"', "tick", "the edge 'tick' is known only after the boot"),
    ('port = "/dev/x"', "pin:tock", "unknown edge 'tock'"),
    ("", "pin:tick", "no pin is watched"),
    ('port = "/dev/x"', "tock", "pin:tick"),
])  # fmt: skip
def test_an_edge_that_cannot_end_a_boot_is_told(
    bootscope: Bootscope, tmp_path: Path, pins: str, until: str, words: str
) -> None:
    file = tmp_path / "desk.toml"
    file.write_text(
        '[console]\nport = "/dev/x"\n' + (f'[pins]\n{pins}\nedges.D0.high = "tick"\n' if pins else "")
    )
    _, err = bootscope("record", "--board", str(file), "--until", until, status=2)
    assert words in err
    assert "hint" in err


def test_a_little_analyser_that_is_not_there_is_told(
    bootscope: Bootscope, fake: Make, tmp_path: Path
) -> None:
    found = shown(bootscope, fake, tmp_path, f'[pins]\nready_s = 2\nport = "{tmp_path}/nothing"\n')
    assert "login" in found["milestones"]
    assert any("port cannot be opened" in note for note in found["notes"]), found["notes"]
