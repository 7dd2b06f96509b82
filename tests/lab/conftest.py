# SPDX-License-Identifier: Apache-2.0
"""Real builds and real boots, driven as a user would: through the command line.

The first test that needs it builds the stock system into the ordinary cache (minutes when that is
empty). Every test has a store of its own.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
STOCK = ROOT / "src" / "bootscope" / "systems.d" / "stock.toml"


def environment(store: Path | None = None, cache: Path | None = None) -> dict[str, str]:
    """The environment of a bootscope with this store and cache (None: the user's own)."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    if store:
        env["BOOTSCOPE_STORE"] = str(store)
    if cache:
        env["BOOTSCOPE_CACHE"] = str(cache)
    return env


@dataclass(frozen=True)
class Bootscope:
    """The command, with a store of its own; shared: nothing may be added to that store."""

    store: Path
    cache: Path | None = None
    shared: bool = False

    def start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        """Starts it; output is piped."""
        assert not (self.shared and arguments[0] == "record"), "tests would see another last run"
        return subprocess.Popen(
            [sys.executable, "-m", "bootscope", *map(str, arguments)],
            env=environment(self.store, self.cache),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # A test run in the background of a shell ignores Ctrl-C, and children inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def run(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Runs it to its end, whatever the status."""
        with self.start(*arguments) as child:
            out, err = child.communicate(timeout=3600)
        return subprocess.CompletedProcess(list(map(str, arguments)), child.returncode, out, err)

    def json(self, *arguments: str | Path, status: int = 0) -> dict[str, Any]:
        """Runs it with --json and returns what it printed; the exit status must be `status`."""
        done = self.run(*arguments, "--json")
        assert done.returncode == status, done.stderr
        return json.loads(done.stdout)

    def stream(self, recorded: dict[str, Any], boot: int = 1) -> bytes:
        """The raw stream of a boot, from what `record --json` printed."""
        return Path(recorded["boots"][boot - 1]["path"], "stream.bin").read_bytes()


@pytest.fixture(scope="session")
def built() -> dict[str, Any]:
    """The stock system, built in the ordinary cache; what `build --json` printed."""
    done = subprocess.run(
        [sys.executable, "-m", "bootscope", "build", "stock", "--json"],
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.fixture
def bootscope(built: dict[str, Any], tmp_path: Path) -> Bootscope:
    """The command, with the stock system built and an empty store."""
    return Bootscope(tmp_path / "store")


@pytest.fixture(scope="session")
def stock(
    built: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Bootscope, dict[str, Any]]:
    """Two boots of the stock system up to first-frame, for many tests to look at.

    Its store is for looking only: tests take "the last run" of it to be this one. All processes of a test
    run look at the same two boots.
    """
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    store, told = folder / "stock", folder / "stock.json"
    with (folder / "stock.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not told.exists():
            shutil.rmtree(store, ignore_errors=True)
            told.write_text(json.dumps(Bootscope(store).json("record", "stock", "-n", "2")))
    return Bootscope(store, shared=True), json.loads(told.read_text())


@pytest.fixture
def variant(tmp_path: Path) -> Callable[..., Path]:
    """Makes a changed copy of the stock system: variant(("old text", "new text"), ...) -> its path."""

    def make(*changes: tuple[str, str]) -> Path:
        text = STOCK.read_text()
        for old, new in changes:
            assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in stock.toml"
            text = text.replace(old, new)
        for folder in ("stock/app", "stock/rootfs"):
            text = text.replace(f'"{folder}"', f'"{STOCK.parent / folder}"')
        path = tmp_path / "variant.toml"
        path.write_text(text)
        return path

    return make
