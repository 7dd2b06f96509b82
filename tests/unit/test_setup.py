# SPDX-License-Identifier: Apache-2.0
"""tools/setup.sh on computers where it cannot succeed: it says why before anything is installed.

The script is the real one; the programs that tell it about the computer are stand-ins that write down how
they are called.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
REAL = (
    "sh",
    "dirname",
    "grep",
    "awk",
    "sed",
    "cat",
    "sha256sum",
    "cut",
    "head",
    "mktemp",
    "env",
    "tr",
    "mkdir",
    "chmod",
)
GOOD = {
    "id": "echo 0",
    "df": "echo header; echo 'disk 99999 1 99998 1% /'",
    "dpkg-query": "exit 1",
    "dpkg": "echo riscv64",
    "apt-cache": 'for name; do echo "Package: $name"; done',
    "apt-get": "exit 0",
    "python3": "exit 0",
    "qemu-system-arm": "echo QEMU emulator version 10.0.2",
}


class Computer:
    """A checkout and a PATH with stand-ins: name -> shell text."""

    def __init__(self, folder: Path) -> None:
        self.checkout, self._bin, self.log = folder / "checkout", folder / "bin", folder / "calls"
        (self.checkout / "tools").mkdir(parents=True)
        self._bin.mkdir()
        shutil.copy(ROOT / "tools/setup.sh", self.checkout / "tools")
        for name in ("requirements.lock", "requirements-dev.lock"):
            (self.checkout / name).write_text("some==1\n")
        for name in REAL:
            (self._bin / name).symlink_to(shutil.which(name) or name)
        for name, text in GOOD.items():
            self.stand_in(name, text)

    def stand_in(self, name: str, text: str) -> None:
        """Has a program do this instead."""
        path = self._bin / name
        path.unlink(missing_ok=True)
        path.write_text(f'#!/bin/sh\necho "{name} $*" >> "{self.log}"\n{text}\n')
        path.chmod(0o755)

    def without(self, name: str) -> None:
        """Takes a program away."""
        (self._bin / name).unlink(missing_ok=True)

    def set_up(self, what: str = "demo", **extra: str) -> tuple[int, str]:
        """Runs the script; (status, all that it printed)."""
        env = {"PATH": str(self._bin), "HOME": str(self.checkout.parent), **extra}
        done = subprocess.run(
            ["/bin/sh", "tools/setup.sh", what],
            cwd=self.checkout, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    def installs(self) -> list[str]:
        """The calls that would have installed something."""
        calls = self.log.read_text().splitlines() if self.log.exists() else []
        return [call for call in calls if " install " in call and "--simulate" not in call]


@pytest.fixture
def computer(tmp_path: Path) -> Computer:
    return Computer(tmp_path)


def _refused(computer: Computer, *words: str, **extra: str) -> None:
    status, said = computer.set_up(**extra)
    assert status == 3, said
    for word in words:
        assert word in said
    assert computer.installs() == []
    assert not (computer.checkout / ".venv").exists()


def test_where_all_is_well_it_says_what_it_installs_and_installs_it(computer: Computer) -> None:
    status, said = computer.set_up()
    assert "setup: will install these system packages" in said and "gcc-arm-linux-gnueabihf" in said, status
    assert len(computer.installs()) == 1
    # For the demo nothing is installed that only compiling a kernel needs.
    assert "bison" not in computer.installs()[0]


def test_no_right_to_install(computer: Computer) -> None:
    computer.stand_in("id", "echo 1000")
    _refused(computer, "needs root to install", "run as root, or install sudo")


def test_no_cross_compiler_for_this_architecture(computer: Computer) -> None:
    computer.stand_in(
        "apt-cache",
        'for name; do case $name in *gnueabihf) ;; *) echo "Package: $name" ;; esac; done; exit 100',
    )
    _refused(computer, "riscv64 has no package gcc-arm-linux-gnueabihf", "no cross compiler")


def test_no_network_and_no_index(computer: Computer) -> None:
    computer.stand_in("apt-get", 'case "$*" in *update*) echo "E: no network" >&2; exit 100;; esac')
    computer.stand_in("apt-cache", "exit 100")
    _refused(computer, "E: no network", "is the network there")


def test_packages_that_do_not_go_together(computer: Computer) -> None:
    computer.stand_in(
        "apt-get", 'case "$*" in *--simulate*) echo "E: held broken packages" >&2; exit 100;; esac'
    )
    _refused(computer, "held broken packages", "nothing was changed")


def test_no_room(computer: Computer) -> None:
    computer.stand_in("df", "echo header; echo 'disk 99999 1 1200 1% /'")
    _refused(computer, "2500 MB are needed", "has 1200 MB left", "nothing was changed")


def test_no_apt(computer: Computer) -> None:
    computer.without("apt-get")
    _refused(computer, "this set-up knows apt only", "gcc-arm-linux-gnueabihf")


def test_a_word_that_it_does_not_know(computer: Computer) -> None:
    status, said = computer.set_up("everything")
    assert status == 2
    assert said.startswith("usage: tools/setup.sh demo")


# venv does not make a folder that is there already; it fails where another program makes it meanwhile, as the
# one for labgrid did, whose environment is inside.
VENV = """
[ "$1 $2" = "-m venv" ] || exit 0
if [ "$3" = .venv ] && [ ! -d "$3" ]; then echo "Error: File exists: $3"; exit 1; fi
[ "$3" = .venv ] || sleep 1
mkdir -p "$3/bin"
printf '#!/bin/sh\\n' > "$3/bin/python"
chmod +x "$3/bin/python"
"""


def test_two_environments_are_made_at_once(computer: Computer) -> None:
    for name in ("requirements-dev.lock", "requirements-labgrid.lock"):
        (computer.checkout / name).write_text("some==1\n")
    computer.stand_in("python3", VENV)
    computer.stand_in("dpkg-query", "echo installed")
    status, said = computer.set_up("test")
    assert "File exists" not in said
    assert status == 0, said
    assert (computer.checkout / ".venv/labgrid/bootscope-lock").exists()
    assert (computer.checkout / ".venv/bootscope-lock").exists()
