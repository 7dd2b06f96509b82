# SPDX-License-Identifier: Apache-2.0
"""bootscope as a user runs it: a process of its own, with a store and a cache that a test names."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


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
        result: dict[str, Any] = json.loads(done.stdout)
        return result

    def stream(self, recorded: dict[str, Any], boot: int = 1) -> bytes:
        """The raw stream of a boot, from what `record --json` printed."""
        return Path(recorded["boots"][boot - 1]["path"], "stream.bin").read_bytes()


def recorded_once(
    name: str, folder: Path, *arguments: str, cache: Path | None = None
) -> tuple[Bootscope, dict[str, Any]]:
    """A store for looking only with one run in it, and what `record --json` printed of that. All processes of
    a test run look at the same one; `folder` is pytest's own."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    store, told = folder / name, folder / f"{name}.json"
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not told.exists():
            shutil.rmtree(store, ignore_errors=True)
            told.write_text(json.dumps(Bootscope(store, cache).json("record", *arguments)))
    return Bootscope(store, cache, shared=True), json.loads(told.read_text())
