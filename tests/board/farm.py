# SPDX-License-Identifier: Apache-2.0
"""A labgrid farm: its coordinator and exporter, with boards of pseudo terminals and of QEMU behind them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from .conftest import FakeBoard

USER = {"LG_HOSTNAME": "desk-pc", "LG_USERNAME": "tester"}
ANNA = {"LG_HOSTNAME": "annas-pc", "LG_USERNAME": "anna"}
_PATIENCE_S = 90.0
"""labgrid's commands take a second of CPU time to start, on a machine that may be busy."""


def labgrid(program: str) -> str:
    """The path of one of labgrid's programs: where tools/setup.sh puts them, or beside the one named."""
    named = os.environ.get("BOOTSCOPE_LABGRID_CLIENT")
    found = Path(named).with_name(program) if named else Path(sys.prefix) / "labgrid" / "bin" / program
    assert found.exists(), f"{found} is missing: run tools/setup.sh test"
    return str(found)


def as_user(folder: Path) -> dict[str, str]:
    """The environment of a user of the farm, with a cache in `folder`."""
    programs = {"BOOTSCOPE_LABGRID_CLIENT": labgrid("labgrid-client")}
    return {**programs, "BOOTSCOPE_CACHE": str(folder / "cache"), **USER}


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def wait_for(what: str, true: Callable[[], bool], most_s: float = _PATIENCE_S) -> float:
    """Waits until something is true; returns how long that took, in s."""
    begun = time.monotonic()
    while not true():
        assert time.monotonic() - begun < most_s, f"{what} did not come"
        time.sleep(0.05)
    return time.monotonic() - begun


class Switch:
    """A power socket that is switched over HTTP: GET /1 and /0."""

    def __init__(self, turned: Callable[[bool], None]) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                turned(self.path.endswith("1"))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *arguments: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/{{value}}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Takes it away."""
        self._server.shutdown()
        self._server.server_close()


def power_port(switch: Switch) -> dict[str, object]:
    """A resource that labgrid's own back end for plain HTTP switches."""
    return {"model": "simplerest", "host": switch.url, "index": 0}


def pty_resources(board: FakeBoard, switch: Switch) -> dict[str, object]:
    """A board behind a pseudo terminal, that the exporter gives to ser2net."""
    port = {"port": os.ttyname(board.slave), "speed": 115200}
    return {"RawSerialPort": port, "NetworkPowerPort": power_port(switch)}


GUEST = """
void _start(void) {
    volatile unsigned *uart = (void *)0x09000000;
    const char *text = "U-Boot SPL 2025.01\\r\\nLinux version 6.12.1\\r\\nboard login: ";
    for (uart[12] = 0x301; *text; uart[0] = *text++)
        while (uart[6] & 32);
    for (;;);
}
"""


class Qemu:
    """A board that QEMU emulates: its console is a port of the network, its power is QEMU's monitor."""

    def __init__(self, folder: Path) -> None:
        (folder / "guest.c").write_text(GUEST)
        compiler = [
            "arm-linux-gnueabihf-gcc",
            "-nostdlib",
            "-static",
            "-O2",
            "-marm",
            "-mno-unaligned-access",
        ]
        link = ["-Wl,-Ttext=0x40100000", "-Wl,--build-id=none", "-o", "guest", "guest.c"]
        subprocess.run([*compiler, *link], cwd=folder, check=True)
        self.port = free_port()
        ends = [
            *("-serial", f"tcp:127.0.0.1:{self.port},server=on,wait=off"),
            *("-qmp", f"unix:{folder}/qmp,server=on,wait=off"),
        ]
        machine = ["-M", "virt", "-display", "none", "-nic", "none", "-S", "-kernel", "guest"]
        self._child = subprocess.Popen(["qemu-system-arm", *machine, *ends], cwd=folder)
        wait_for("QEMU's monitor", (folder / "qmp").exists)
        self._monitor = socket.socket(socket.AF_UNIX)
        self._monitor.connect(str(folder / "qmp"))
        self._lines = self._monitor.makefile("rb")
        self._lines.readline()
        self._do("qmp_capabilities")
        self.switch = Switch(self._turn)

    def _turn(self, on: bool) -> None:
        for command in ["cont"] if on else ["stop", "system_reset"]:
            self._do(command)

    def _do(self, command: str) -> None:
        self._monitor.sendall(json.dumps({"execute": command}).encode() + b"\n")
        while b'"return"' not in self._lines.readline():
            pass

    @property
    def resources(self) -> dict[str, object]:
        """What the exporter says of it."""
        console = {"host": "127.0.0.1", "port": self.port, "protocol": "raw"}
        return {"NetworkSerialPort": console, "NetworkPowerPort": power_port(self.switch)}

    def close(self) -> None:
        """Takes it away."""
        self.switch.close()
        self._lines.close()
        self._monitor.close()
        self._child.kill()
        self._child.wait()


@dataclass
class Farm:
    """A coordinator with the places `groups`, each with resources and perhaps tags, and their exporter."""

    folder: Path
    groups: dict[str, dict[str, object]]
    tags: dict[str, dict[str, str]] = field(default_factory=dict)
    address: str = ""
    _processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.address = f"127.0.0.1:{free_port()}"
        self.log = self.folder / "coordinator.log"
        places = {
            name: {
                "aliases": [], "comment": "", "tags": self.tags.get(name, {}), "created": 0.0, "changed": 0.0,
                "matches": [{"exporter": "lab", "group": name, "cls": "*", "name": None, "rename": None}],
            }
            for name in self.groups
        }  # fmt: skip
        # What is JSON is YAML.
        (self.folder / "places.yaml").write_text(json.dumps(places))
        (self.folder / "exporter.yaml").write_text(json.dumps(self.groups))
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    def start(self) -> None:
        """Starts coordinator and exporter, and waits until they know each other."""
        self._start("coordinator.log", "labgrid-coordinator", "-l", self.address)
        wait_for("the coordinator", self._listens)
        words = ("-c", self.address, "-n", "lab", "--hostname", "127.0.0.1", "exporter.yaml")
        before = self._exported()
        self._start("exporter.log", "labgrid-exporter", *words)
        wait_for("the exporter", lambda: self._exported() > before)
        # It has said hello by then; its resources follow at once.
        time.sleep(1)

    def _exported(self) -> int:
        log = self.folder / "exporter.log"
        return log.read_bytes().count(b"Exporter ready") if log.exists() else 0

    def _listens(self) -> bool:
        host, port = self.address.split(":")
        with socket.socket() as probe:
            return probe.connect_ex((host, int(port))) == 0

    def _start(self, log: str, program: str, *words: str) -> None:
        with (self.folder / log).open("ab") as f:
            env = {**os.environ, "PYTHONUNBUFFERED": "1"}
            command = [labgrid(program), *words]
            self._processes.append(
                subprocess.Popen(command, cwd=self.folder, stdout=f, stderr=subprocess.STDOUT, env=env)
            )

    def fall(self) -> None:
        """The coordinator dies; its exporter ends because of that."""
        self._processes[0].kill()
        for child in self._processes:
            child.wait(30)
        self._processes.clear()

    def client(self, *words: str, who: dict[str, str] = USER) -> str:
        """Runs labgrid-client as somebody; returns what it printed."""
        command = [labgrid("labgrid-client"), "-x", self.address, *words]
        env = {**os.environ, **who}
        return subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout

    def happened(self, place: str) -> list[str]:
        """Who took and gave back a place, in order."""
        lines = self.log.read_text().splitlines()
        mark = f"{place}: place "
        return [line.removeprefix(mark) for line in lines if line.startswith(mark)]

    def close(self) -> None:
        """Ends all of it."""
        for child in reversed(self._processes):
            child.terminate()
        for child in self._processes:
            child.wait(30)
