# SPDX-License-Identifier: Apache-2.0
"""Real searches on a cluster of local processes: the same system on any number of them, whatever happens."""

from __future__ import annotations

import json
import re
import signal
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.command import Bootscope

pytestmark = [pytest.mark.boot, pytest.mark.campaign]

ONLY = ("--only", "init-app-first,init-single-script,kernel-printk-diet")
"""What needs no compiling: one that changes the picture, one that saves, one that saves nothing here."""


def search(bootscope: Bootscope, where: str, *more: str) -> tuple[dict[str, Any], str]:
    """What a search prints, and what it tells."""
    done = bootscope.run("optimize", "debian", *ONLY, *more, "--cluster", where, "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found, done.stderr


def decided(found: dict[str, Any]) -> list[object]:
    """What a search decided, without the names of recordings."""
    tried = [(e["technique"], e["on"], e["accepted"], e["saving_ns"]) for e in found["experiments"]]
    return [found["accepted"], found["final_ns"], tried]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """What is decided without a cluster."""
    bootscope = Bootscope(tmp_path_factory.mktemp("alone") / "store")
    return decided(bootscope.json("optimize", "debian", *ONLY))


def test_workers_with_caches_of_their_own_end_with_the_same(
    bootscope: Bootscope, tmp_path: Path, alone: list[object]
) -> None:
    found, told = search(bootscope, f"local:2:{tmp_path / 'caches'}")
    assert decided(found) == alone
    words = r"cluster: 2 workers; \d+ steps built, 0 twice; \d+ boots, 0 twice; (\d+) results"
    counts = re.search(words, told)
    assert counts, told
    assert int(counts[1]) > 0
    assert {path.name for path in (tmp_path / "caches").iterdir()} == {"0", "1"}
    again, told = search(bootscope, f"local:2:{tmp_path / 'caches'}")
    assert decided(again) == alone
    assert "0 steps built, 0 twice; 0 boots, 0 twice" in told


def workers(of: int) -> list[psutil.Process]:
    """The workers of a search that still run."""
    # A process that ended, or is a zombie, has no words.
    children = psutil.Process(of).children()
    return [child for child in children if any("multiprocessing.spawn" in word for word in _words(child))]


def _boots(worker: psutil.Process) -> bool:
    # A boot, or the worker itself, may end between two looks.
    try:
        return any(child.name().startswith("qemu") for child in worker.children())
    except psutil.NoSuchProcess:
        return False


def _words(process: psutil.Process) -> list[str]:
    # It may end between two looks.
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []


def wait_for_boot(of: int) -> psutil.Process:
    """A worker that boots something just now."""
    until = time.monotonic() + 600
    while time.monotonic() < until:
        for worker in workers(of):
            if _boots(worker):
                return worker
        time.sleep(0.1)
    raise AssertionError("nothing was booted")


def test_a_worker_that_is_killed_costs_its_task_only(
    bootscope: Bootscope, tmp_path: Path, alone: list[object]
) -> None:
    words = ("optimize", "debian", *ONLY, "--cluster", f"local:2:{tmp_path / 'caches'}", "--json")
    with bootscope.start(*words) as child:
        for _ in range(2):
            wait_for_boot(child.pid).kill()
        out, err = child.communicate(timeout=3600)
    assert child.returncode == 0, err
    assert decided(json.loads(out)) == alone


def test_a_search_whose_client_was_killed_is_resumed(
    bootscope: Bootscope, tmp_path: Path, alone: list[object]
) -> None:
    where = f"local:1:{tmp_path / 'caches'}"
    journal = bootscope.store / "searches" / "debian.jsonl"
    words = ("optimize", "debian", *ONLY, "--cluster", where, "--json")
    with bootscope.start(*words) as child:
        until = time.monotonic() + 600
        while not (journal.exists() and '"outcome"' in journal.read_text()) and time.monotonic() < until:
            time.sleep(0.1)
        left = workers(child.pid)
        child.send_signal(signal.SIGKILL)
        child.communicate()
    assert not psutil.wait_procs(left, timeout=60)[1], "workers outlive their client"
    before = journal.read_text()
    found, told = search(bootscope, where, "--resume")
    assert decided(found) == alone
    assert journal.read_text().startswith(before)
    assert "steps built, 0 twice" in told
