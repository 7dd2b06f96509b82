# SPDX-License-Identifier: Apache-2.0
"""Places of a labgrid farm, with labgrid's own coordinator and exporter."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from . import desk
from .conftest import HELLO, Bootscope, FakeBoard
from .farm import ANNA, Farm, Qemu, Switch, as_user, labgrid, pty_resources, wait_for
from .sshd import FarComputer

pytestmark = pytest.mark.long

TAKEN = "acquired by desk-pc/tester"


@dataclass
class Lab:
    """A farm with its boards."""

    farm: Farm
    board: FakeBoard

    def file(self, folder: Path, place: str = "desk", more: str = "") -> str:
        """A board file: the place, which need not stay off for long."""
        path = folder / f"{place}.toml"
        console = f'[console]\nkind = "labgrid"\nport = "{place}"\nhost = "{self.farm.address}"\n'
        path.write_text(f'schema = 1\nname = "{place}"\n{more}{console}[power]\noff_s = 0.1\n')
        return str(path)


def turner(board: FakeBoard) -> Switch:
    """A power socket with a board on it."""

    def turn(on: bool) -> None:
        new = board.on_file.with_suffix(".new")
        new.write_text(str(time.monotonic()) if on else "")
        new.replace(board.on_file)

    return Switch(turn)


def at_desk(folder: Path) -> tuple[FakeBoard, Switch]:
    board = FakeBoard(folder, lambda b: b.says(HELLO, 0.01))
    threading.Thread(target=board.live, daemon=True).start()
    return board, turner(board)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A farm for all tests that leave it as it was."""
    folder = tmp_path_factory.mktemp("farm")
    with contextlib.ExitStack() as at_end:
        board, switch = at_desk(folder)
        at_end.callback(board.stop.set)
        at_end.callback(switch.close)
        qemu = Qemu(folder)
        at_end.callback(qemu.close)
        groups = {"desk": pty_resources(board, switch), "machine": qemu.resources}
        farm = Farm(folder, groups, {"desk": {"soc": "a10"}})
        at_end.callback(farm.close)
        yield Lab(farm, board)


@pytest.fixture(autouse=True)
def as_tester(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Who we are in the farm, and which labgrid we use."""
    for name, value in as_user(tmp_path).items():
        monkeypatch.setenv(name, value)


def consoles(found: dict[str, list[dict[str, str]]]) -> list[bytes]:
    return [(Path(boot["path"]) / "console.bin").read_bytes() for boot in found["boots"]]


def heard(bootscope: Bootscope, boots: int) -> bool:
    """Whether so many boots have been begun, and the last one is switched on."""
    taps = sorted(bootscope.store.glob("runs/*/boots/*/console.tap"))
    return len(taps) >= boots and b'"at": "return"' in taps[-1].read_bytes()


def test_boots_of_a_place(bootscope: Bootscope, lab: Lab, tmp_path: Path) -> None:
    # What a serial server had kept from before is no part of a boot.
    lab.board.says(b"board login: an old one\r\n")
    found = bootscope.json("record", "--board", lab.file(tmp_path), "-n", "3")
    assert found["complete"]
    assert consoles(found) == [HELLO] * 3
    assert lab.farm.happened("desk")[-2:] == [TAKEN, "released"]
    shown = bootscope.json("show")
    at = shown["milestones"]
    assert at["spl"] < at["bootloader"] < at["kernel-entry"] < at["init"] < at["login"]
    # Switched by a process that was ready, not by a command that has to start first.
    assert shown["milestone_errors_ns"]["login"] < 300_000_000


def test_the_exporters_computer_listens(
    bootscope: Bootscope, lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    far = FarComputer(tmp_path / "far")
    monkeypatch.setenv("BOOTSCOPE_SSH", far.command)
    try:
        for host, name in (("auto", "127.0.0.1"), ("lab1", "lab1")):
            options = ["record", "--board", lab.file(tmp_path), "-n", "2", "--tap-host", host]
            found = bootscope.json(*options)
            assert consoles(found) == [HELLO] * 2
            assert any(f"listened to on {name}, " in note for note in bootscope.json("show")["notes"])
            # The port itself, and not the server that gathers its bytes.
            assert b'"source": ["serial", "/dev/pts/' in console_tap(found)
        # Two who listen to one port would each get a part of it.
        lab.farm.client("-p", "desk", "acquire")
        shown = lab.farm.client("-p", "desk", "show")
        port = re.search(r"'port': ([0-9]+)", shown)
        assert port, shown
        with socket.create_connection(("127.0.0.1", int(port[1]))) as other:
            # ser2net opens the port once a telnet client has answered its question of RFC 2217.
            other.recv(1)
            other.sendall(b"\xff\xfc\x2c")
            time.sleep(0.5)
            _, err = bootscope(*options, status=3)
            assert "of lab1 cannot be opened: ser2net is reading it" in err
        lab.farm.client("-p", "desk", "release")
    finally:
        far.close()
    # Without it the network will do, where nobody has asked for that very computer.
    options = ["record", "--board", lab.file(tmp_path), "-n", "2", "--tap-host"]
    _, err = bootscope(*options, "auto")
    assert err.count("listening over the network: 127.0.0.1 cannot be reached by ssh") == 1
    notes = bootscope.json("show")["notes"]
    assert any("listened to over the network: 127.0.0.1 cannot be reached" in note for note in notes)
    _, err = bootscope(*options, "lab1", status=3)
    assert "lab1 cannot be reached by ssh" in err
    assert lab.farm.happened("desk")[-1] == "released"


def console_tap(found: dict[str, list[dict[str, str]]]) -> bytes:
    return (Path(found["boots"][0]["path"]) / "console.tap").read_bytes()


def test_a_board_in_qemu(bootscope: Bootscope, lab: Lab, tmp_path: Path) -> None:
    found = bootscope.json("record", "--board", lab.file(tmp_path, "machine"), "-n", "3")
    assert found["complete"]
    texts = consoles(found)
    assert texts == [b"U-Boot SPL 2025.01\r\nLinux version 6.12.1\r\nboard login: "] * 3
    assert lab.farm.happened("machine")[-2:] == [TAKEN, "released"]


def test_a_place_that_somebody_else_holds(bootscope: Bootscope, lab: Lab, tmp_path: Path) -> None:
    lab.farm.client("-p", "desk", "acquire", who=ANNA)
    _, err = bootscope("record", "--board", f"labgrid:desk@{lab.farm.address}", status=3)
    assert "the place desk is held by anna on annas-pc" in err
    assert "labgrid-client -p desk allow desk-pc/tester" in err
    _, err = bootscope("record", "--board", f"labgrid:soc=a10@{lab.farm.address}", status=3)
    assert "no place with soc=a10 became free within 0 s" in err
    # Whoever waits gets it, by its name or by its tags.
    before = len(lab.farm.happened("desk"))
    options = ["record", "--board", f"labgrid:soc=a10@{lab.farm.address}", "-n", "1", "--labgrid-wait", "90"]
    child = bootscope.start(*options)
    time.sleep(2)
    lab.farm.client("-p", "desk", "release", who=ANNA)
    out, err = child.communicate(timeout=120)
    assert child.returncode == 0, (out, err)
    assert lab.farm.happened("desk")[before:] == ["released", TAKEN, "released"]
    assert not lab.farm.client("reservations").strip()


def test_a_place_that_is_ours_already_stays_ours(bootscope: Bootscope, lab: Lab, tmp_path: Path) -> None:
    lab.farm.client("-p", "desk", "acquire")
    first = bootscope.start("record", "--board", lab.file(tmp_path), "-n", "2", "--until-time", "20")
    wait_for("the first boot", lambda: heard(bootscope, 1))
    _, err = bootscope("record", "--board", lab.file(tmp_path), status=3)
    assert "held by another bootscope of yours" in err
    first.send_signal(signal.SIGINT)
    _, err = first.communicate(timeout=60)
    assert "you already hold" in err
    assert lab.farm.happened("desk")[-1] == TAKEN
    lab.farm.client("-p", "desk", "release")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_the_place_is_free_soon_after_the_recorder_is_gone(
    bootscope: Bootscope, lab: Lab, tmp_path: Path, how: int
) -> None:
    child = bootscope.start("record", "--board", lab.file(tmp_path), "-n", "5", "--until-time", "30")
    wait_for("the first boot", lambda: heard(bootscope, 1))
    assert lab.farm.happened("desk")[-1] == TAKEN
    child.send_signal(how)
    took = wait_for("the release", lambda: lab.farm.happened("desk")[-1] == "released", 20)
    assert took < 10
    child.communicate(timeout=30)


@pytest.mark.parametrize("boots", ["3", "1"])
def test_the_process_that_holds_the_place_may_die(
    bootscope: Bootscope, lab: Lab, tmp_path: Path, boots: str
) -> None:
    options = ["-n", boots, "--until-time", "2", "--json"]
    child = bootscope.start("record", "--board", lab.file(tmp_path), *options)
    wait_for("the first boot", lambda: heard(bootscope, 1))
    words = ["pgrep", "-P", str(child.pid), "-f", "labgrid_worker"]
    hand = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    os.kill(int(hand), signal.SIGKILL)
    out, err = child.communicate(timeout=120)
    assert child.returncode == 0, (out, err)
    assert len(consoles(json.loads(out))) == int(boots)
    # Also where nothing was left to be switched.
    assert lab.farm.happened("desk")[-2:] == [TAKEN, "released"]


ENVIRONMENT = """
targets:
  main:
    resources:
      RemotePlace: {{name: desk}}
    drivers:
      SerialDriver: {{}}
      ExternalPowerDriver:
        cmd_on: {python} {folder}/power.py 1
        cmd_off: {python} {folder}/power.py 0
      DesksStrategy: {{}}
imports: [{folder}/strategy.py]
"""
STRATEGY = """
import enum, pathlib
import attr
from labgrid import target_factory
from labgrid.strategy import Strategy

@target_factory.reg_driver
@attr.s(eq=False)
class DesksStrategy(Strategy):
    bindings = {"power": "PowerProtocol", "console": "ConsoleProtocol"}

    def transition(self, status, *, step=None):
        self.target.activate(self.power)
        self.power.off()
        self.target.activate(self.console)
        print("a strategy may print")
        if status != "flashed":
            raise ValueError(f"no state {status}")
        pathlib.Path(__file__).with_name("deployed").write_text(status)
"""
POWER = "import sys, time\nopen({file!r}, 'w').write(str(time.time()) if sys.argv[1] == '1' else '')\n"


def test_your_own_environment_switches_and_deploys(bootscope: Bootscope, lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "strategy.py").write_text(STRATEGY)
    (tmp_path / "power.py").write_text(POWER.format(file=str(lab.board.on_file)))
    env = tmp_path / "env.yaml"
    env.write_text(ENVIRONMENT.format(folder=tmp_path, python=labgrid("python")))
    options = ["--board", lab.file(tmp_path), "-n", "1", "--labgrid-env", str(env), "--labgrid-state"]
    found = bootscope.json("record", *options, "flashed")
    assert consoles(found) == [HELLO]
    assert (tmp_path / "deployed").read_text() == "flashed"
    _, err = bootscope("record", *options, "painted", status=3)
    assert "the place desk cannot be brought to its state: ValueError: no state painted" in err
    assert lab.farm.happened("desk")[-1] == "released"


FLASHES = """
import enum, pathlib, shutil
import attr
from labgrid import target_factory
from labgrid.strategy import Strategy

class Status(enum.Enum):
    unknown = 0
    flashed = 1

@target_factory.reg_driver
@attr.s(eq=False)
class DesksStrategy(Strategy):
    bindings = {{"power": "PowerProtocol"}}
    status = attr.ib(default=Status.unknown)

    def transition(self, status, *, step=None):
        if Status[status] == self.status:
            return
        self.target.activate(self.power)
        shutil.copy({image!r}, {card!r})
        with open({log!r}, "a") as log:
            log.write("flashed ")
        self.status = Status[status]
"""


def test_a_technique_is_tried_on_a_place_whose_strategy_deploys(
    bootscope: Bootscope, lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, card, log = tmp_path / "tree", tmp_path / "card", tmp_path / "log"
    script = desk.a_tree(tree)
    image = str(tree / "images/card.img")
    (tmp_path / "strategy.py").write_text(FLASHES.format(image=image, card=str(card), log=str(log)))
    (tmp_path / "power.py").write_text(POWER.format(file=str(lab.board.on_file)))
    (tmp_path / "env.yaml").write_text(ENVIRONMENT.format(folder=tmp_path, python=labgrid("python")))
    monkeypatch.setattr(lab.board, "plan", desk.boots_its_card(card))
    bootscope(
        "system", "import", str(tree), "--as", "mine", "--build", str(script), "--board", lab.file(tmp_path),
        "--product", "images/card.img",
    )  # fmt: skip
    farm = ("--labgrid-env", str(tmp_path / "env.yaml"), "--labgrid-state", "flashed")
    rounds = ("-n", "4", "--rounds", "2")
    found = bootscope.json("try", "uboot-bootdelay", "--system", "mine", *rounds, *farm)
    assert found["proven"], found
    # The base, the variant for both rounds, the base again: it is asked anew though it is in that state.
    assert log.read_text() == "flashed " * 3
    assert card.read_text() == (tree / "u-boot/.config").read_text()
    assert lab.farm.happened("desk")[-1] == "released"


def test_what_cannot_be_is_told(bootscope: Bootscope, lab: Lab, tmp_path: Path) -> None:
    at = lab.farm.address
    script = tmp_path / "labgrid-client"
    script.write_text("#!/bin/sh\nexec docker run labgrid\n")
    script.chmod(0o755)
    for words, status, options in (
        ("unknown place 'dusk'", 2, ["--board", f"labgrid:dusk@{at}"]),
        ("does not answer", 3, ["--board", "labgrid:desk@127.0.0.1:9"]),
        ("is no place", 2, ["--board", "labgrid:desk@@"]),
        ("there is no file", 2, ["--board", f"labgrid:desk@{at}", "--labgrid-env", "nowhere.yaml"]),
        ("needs --labgrid-env", 2, ["--board", f"labgrid:desk@{at}", "--labgrid-state", "on"]),
        ("has no serial port named b", 3, ["--board", f"labgrid:desk@{at}", "--labgrid-port", "b"]),
        ("is not there", 3, ["--board", f"labgrid:desk@{at}", "--labgrid-client", "/no/labgrid-client"]),
        ("not labgrid's own script", 3, ["--board", f"labgrid:desk@{at}", "--labgrid-client", str(script)]),
    ):
        _, err = bootscope("record", *options, status=status)
        assert words in err
        assert "Traceback" not in err
