# SPDX-License-Identifier: Apache-2.0
"""Workers of a local cluster that are killed, also while they start, are replaced."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator

import psutil

from bootscope.cluster.connect import connected

SPAWNED = "from multiprocessing.spawn import"
LONGEST_S, SLOW_START_S = 60, 18


def workers() -> Iterator[psutil.Process]:
    """The processes of workers, also of those that only start."""
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.Error):  # one that ends meanwhile
            if any(SPAWNED in word for word in child.cmdline()):
                yield child


def next_worker(but: set[int]) -> psutil.Process:
    """A worker that was not there before."""
    until = time.monotonic() + LONGEST_S
    while time.monotonic() < until:
        for worker in workers():
            if worker.pid not in but:
                return worker
        time.sleep(0.01)
    raise AssertionError(f"no new worker within {LONGEST_S} s")


def test_a_worker_that_is_killed_while_it_starts_is_replaced() -> None:
    seen: set[int] = set()
    with connected("local:1") as client:
        for _ in range(3):
            worker = next_worker(seen)
            seen.add(worker.pid)
            worker.kill()
        assert client.submit(os.getpid).result(timeout=LONGEST_S) not in seen


def test_a_worker_that_comes_back_late_is_waited_for() -> None:
    """As on a busy computer. Dask's own limit is 15 s; then it would have no worker any more."""
    with connected("local:1") as client:
        first = next_worker(set())
        first.kill()
        second = next_worker({first.pid})
        second.suspend()
        time.sleep(SLOW_START_S)
        second.resume()
        assert client.submit(os.getpid).result(timeout=LONGEST_S) != first.pid
