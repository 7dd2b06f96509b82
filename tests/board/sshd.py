# SPDX-License-Identifier: Apache-2.0
"""Another computer: an ssh server of our own on the loopback, with its own keys and its own programs."""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from .farm import free_port, wait_for

SYSTEM_PYTHON = "/usr/bin/python3"
CLOCK = """import sys, time
real = time.monotonic_ns
time.monotonic_ns = lambda: (real() + {ahead_ns}) * (1_000_000 + {fast_ppm}) // 1_000_000
exec(sys.argv[1])
"""


def _server() -> str:
    found = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    assert found, "sshd is missing: run tools/setup.sh test"
    return found


@dataclass
class FarComputer:
    """A computer that ssh reaches as `lab1`, and as 127.0.0.1, with the `command` of ssh."""

    folder: Path
    _child: subprocess.Popen[bytes] | None = None
    pids: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folder.mkdir()
        self.programs = self.folder / "bin"
        self.programs.mkdir()
        self._pids = self.folder / "pids"
        self.port, f = free_port(), self.folder
        for name in ("host", "user"):
            words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(f / name)]
            subprocess.run(words, check=True)
        public = " ".join((f / "host.pub").read_text().split()[:2])
        (f / "known").write_text(f"[127.0.0.1]:{self.port} {public}\n")
        (f / "sshd_config").write_text(
            f"ListenAddress 127.0.0.1\nPort {self.port}\nHostKey {f}/host\nAuthorizedKeysFile {f}/user.pub\n"
            f"StrictModes no\nUsePAM no\nPidFile none\nPasswordAuthentication no\n"
            # Whatever a shell's start-up files put into the PATH.
            f'ForceCommand exec env PATH={self.programs} /bin/sh -c "$SSH_ORIGINAL_COMMAND"\n'
        )
        (f / "config").write_text(
            f"Host lab1 127.0.0.1\n  HostName 127.0.0.1\n  Port {self.port}\n  User {getpass.getuser()}\n"
            f"  IdentityFile {f}/user\n  IdentitiesOnly yes\n  UserKnownHostsFile {f}/known\n"
            f"Host lab2\n  HostName 127.0.0.1\n  Port {free_port()}\n"
        )
        self.has_python()
        self.start()

    @property
    def command(self) -> str:
        """For BOOTSCOPE_SSH."""
        return f"ssh -F {self.folder}/config"

    def start(self) -> None:
        """The server is there."""
        if os.geteuid() == 0:
            # Where no service has made it, the server of a distribution does not start without.
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        with (self.folder / "log").open("wb") as log:
            command = [_server(), "-D", "-e", "-f", str(self.folder / "sshd_config")]
            self._child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log)
        wait_for("the ssh server", lambda: b"Server listening" in (self.folder / "log").read_bytes())

    def has_python(self, ahead_ns: int = 0, fast_ppm: int = 0) -> None:
        """It has a python3, whose clock is ahead of ours and runs fast."""
        clock = self.folder / "clock.py"
        clock.write_text(CLOCK.format(ahead_ns=ahead_ns, fast_ppm=fast_ppm))
        script = self.programs / "python3"
        # Called as `python3 -I -c CODE`.
        script.write_text(f'#!/bin/sh\necho $$ >> {self._pids}\nexec {SYSTEM_PYTHON} -I {clock} "$3"\n')
        script.chmod(0o755)

    def lacks_python(self) -> None:
        """It has no python3."""
        (self.programs / "python3").unlink()

    @property
    def running(self) -> list[int]:
        """The processes there that listen."""
        pids = map(int, self._pids.read_text().split()) if self._pids.exists() else []
        return [pid for pid in pids if _lives(pid)]

    def close(self) -> None:
        """Takes it away."""
        assert self._child
        self._child.terminate()
        self._child.wait(30)
        for pid in self.running:
            os.kill(pid, signal.SIGKILL)


def _lives(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def gone(far: FarComputer, most_s: float = 10.0) -> float:
    """Waits until nobody listens there any more; returns how long that took, in s."""
    begun = time.monotonic()
    wait_for("the end of the program there", lambda: not far.running, most_s)
    return time.monotonic() - begun
