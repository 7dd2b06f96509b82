# SPDX-License-Identifier: Apache-2.0
"""bootscope as users have it: from its wheel, in a virtual environment of its own, outside a checkout."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bootscope.boards.profile import CORE_VARIABLE
from tests.board.conftest import FakeBoard, Make, fake
from tests.prebuilt.conftest import debian

ROOT = Path(__file__).resolve().parents[2]
NOT_IN_AN_ARCHIVE = (".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", "*.egg-info")


def run(*command: str | Path, **options: Any) -> str:
    """Runs a program to its end, which must be good; returns what it printed."""
    done = subprocess.run(
        [str(word) for word in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
        **options,
    )
    said: str = done.stdout
    assert done.returncode == 0, said
    return said


def copied(folder: Path) -> Path:
    """A copy of the checkout as an archive of it would be, without git and what was made in it."""
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*NOT_IN_AN_ARCHIVE))
    return folder


def built(source: Path, out: Path, *targets: str) -> dict[str, Path]:
    """What hatchling makes of sources: file name -> path."""
    wanted = [word for target in targets for word in ("-t", target)]
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    env["SOURCE_DATE_EPOCH"] = "1767225600"
    run(sys.executable, "-m", "hatchling", "build", "-d", out, *wanted, cwd=source, env=env)
    return {path.name: path for path in out.iterdir()}


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """A folder that is made once for all processes of a test run."""
    base = factory.getbasetemp()
    shared = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    folder, done = shared / name, shared / f"{name}.done"
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            folder.mkdir()
            make(folder)
            done.touch()
    return folder


@pytest.fixture(scope="session")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist of this checkout."""

    def make(folder: Path) -> None:
        built(copied(folder / "source"), folder / "out", "sdist", "wheel")

    return once(tmp_path_factory, "dist", make) / "out"


@pytest.fixture(scope="session")
def prefix(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment that holds the wheel and the locked packages it needs, and nothing else."""

    def make(folder: Path) -> None:
        run(sys.executable, "-m", "venv", "--without-pip", folder)
        pip: list[str | Path] = [
            sys.executable,
            "-m",
            "pip",
            "--disable-pip-version-check",
            "--python",
            folder / "bin/python",
        ]
        run(*pip, "install", "--require-hashes", "-r", ROOT / "requirements.lock", cwd=folder)
        run(*pip, "install", "--no-deps", "--no-index", *dist.glob("*.whl"), cwd=folder)
        run(*pip, "check", cwd=folder)

    return once(tmp_path_factory, "prefix", make)


@dataclass(frozen=True)
class Installed:
    """The command of the virtual environment, for a user whose home is empty."""

    prefix: Path
    home: Path
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def env(self) -> dict[str, str]:
        """The whole environment: a login's, without a network."""
        nowhere = "http://127.0.0.1:9"
        return {
            "HOME": str(self.home),
            "PATH": f"{self.prefix / 'bin'}:/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "http_proxy": nowhere,
            "https_proxy": nowhere,
            # As for all tests: it is compared with a checkout's.
            CORE_VARIABLE: os.environ.get(CORE_VARIABLE, ""),
            **self.extra,
        }

    def run(self, *words: str | Path, status: int = 0) -> subprocess.CompletedProcess[str]:
        """Runs it, in the home folder."""
        done = subprocess.run(
            [self.prefix / "bin/bootscope", *map(str, words)],
            cwd=self.home,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
        return done

    def __call__(self, *words: str | Path, status: int = 0) -> str:
        """Runs it; returns what it prints."""
        return self.run(*words, status=status).stdout

    def json(self, *words: str | Path, status: int = 0) -> dict[str, Any]:
        """Runs it with --json."""
        found: dict[str, Any] = json.loads(self(*words, "--json", status=status))
        return found


@pytest.fixture
def installed(prefix: Path, tmp_path: Path) -> Installed:
    """The installed command with an empty home."""
    home = tmp_path / "home"
    home.mkdir()
    return Installed(prefix, home)


__all__ = ["FakeBoard", "Make", "debian", "fake"]
