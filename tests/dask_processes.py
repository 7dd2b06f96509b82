# SPDX-License-Identifier: Apache-2.0
"""A Dask scheduler and workers in processes of their own, as a team starts them."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.command import environment

_PATIENCE_S = 120.0


@dataclass
class Dask:
    """A scheduler at `address`, and the workers that were started for it. `env` is for all of them."""

    folder: Path
    env: Mapping[str, str] = field(default_factory=dict)
    protocol: str = "tcp"
    program: tuple[str, ...] = (sys.executable, "-P", "-m", "dask")
    address: str = ""
    _processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self) -> None:
        """Starts the scheduler, and waits until it says where it is."""
        told = self.folder / "scheduler.json"
        told.unlink(missing_ok=True)
        words = ("--host", "127.0.0.1", "--port", "0", "--protocol", self.protocol, "--no-dashboard")
        self._run("scheduler", *words, "--scheduler-file", str(told))
        until = time.monotonic() + _PATIENCE_S
        while not told.exists() or not told.read_text().endswith("}"):
            assert time.monotonic() < until, self.log
            time.sleep(0.05)
        self.address = json.loads(told.read_text())["address"]

    def worker(self, *words: str, **env: str) -> subprocess.Popen[bytes]:
        """Starts a worker, with a cache of its own unless told otherwise."""
        own = {"BOOTSCOPE_CACHE": str(self.folder / f"cache-{len(self._processes)}"), **env}
        return self._run("worker", self.address, "--nthreads", "1", "--no-dashboard", *words, **own)

    def _run(self, *words: str, **env: str) -> subprocess.Popen[bytes]:
        whole = {**environment(), **self.env, **env}
        with (self.folder / "dask.log").open("ab") as log:
            made = subprocess.Popen(
                [*self.program, *words],
                cwd=self.folder,
                env=whole,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )
        self._processes.append(made)
        return made

    @property
    def scheduler(self) -> subprocess.Popen[bytes]:
        """Its process."""
        return self._processes[0]

    @property
    def log(self) -> str:
        """What scheduler and workers have said."""
        return (self.folder / "dask.log").read_text(errors="replace")

    def close(self) -> None:
        """Ends all of it."""
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(30)
            process.kill()
            process.wait()


@contextlib.contextmanager
def dask(folder: Path, protocol: str = "tcp", **env: str) -> Iterator[Dask]:
    """A scheduler that runs inside the block."""
    folder.mkdir(parents=True, exist_ok=True)
    made = Dask(folder, env, protocol)
    try:
        made.start()
        yield made
    finally:
        made.close()
