# SPDX-License-Identifier: Apache-2.0
"""The counting pass, on a short real boot: the same counts each time, and times that add up."""

from __future__ import annotations

import multiprocessing
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bootscope.capture import counted
from bootscope.cores.counts import Count
from tests.command import Bootscope

pytestmark = pytest.mark.boot
RECORD = ("record", "debian", "--until", "bootloader")
TIMING = (*RECORD, "--timing", "--core", "cortex-a8")


def _burn() -> None:
    while True:
        pass


@contextmanager
def busy() -> Iterator[None]:
    """Other processes that want the processor."""
    burners = [multiprocessing.Process(target=_burn, daemon=True) for _ in range(3)]
    for burner in burners:
        burner.start()
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.join()


def boot_of(recorded: dict[str, Any]) -> Path:
    """The folder of a run's first boot."""
    return Path(recorded["boots"][0]["path"])


def refused(bootscope: Bootscope, *arguments: str) -> str:
    """What a command says that is refused as the user's mistake."""
    done = bootscope.run(*arguments)
    assert done.returncode == 2, done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def counted_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bootscope, dict[str, Any]]:
    """A boot with its pass, in a store for looking only, and what `record --json` said of it."""
    folder = tmp_path_factory.mktemp("counted")
    recorded = Bootscope(folder).json(*TIMING)
    return Bootscope(folder, shared=True), recorded


def test_two_passes_count_the_same_under_load(
    bootscope: Bootscope, counted_once: tuple[Bootscope, dict[str, Any]]
) -> None:
    first = boot_of(counted_once[1])
    with busy():
        second = boot_of(bootscope.json(*TIMING))
    (name,) = counted.kept(first)
    files = [folder / counted.FOLDER / f"{name}.bin" for folder in (first, second)]
    assert files[0].read_bytes() == files[1].read_bytes()
    found = counted.read(first, name)
    sums = [sum(column) for column in zip(*(entry.counts for entry in found.entries), strict=True)]
    # Each phase's blocks have counted what the whole has. The SPL runs from memory inside the chip.
    blocks = [block.counts for part in found.parts for block in part]
    everywhere = [sum(column) for column in zip(*blocks, strict=True)]
    for kind in set(Count) - {Count.LOADS, Count.STORES, Count.FETCHES}:
        assert everywhere[kind] == pytest.approx(sums[kind], abs=300), kind
    assert sums[Count.LOADS] > 1_000_000 and sums[Count.SRAM] > 10_000


def test_times_on_a_core_add_up(counted_once: tuple[Bootscope, dict[str, Any]]) -> None:
    bootscope, recorded = counted_once
    run = recorded["run_id"]
    plain = bootscope.json("show", run)
    shown = bootscope.json("show", run, "--core", "cortex-a8")
    assert plain["core"] is None and shown["core"] == "cortex-a8"
    assert plain["total_ns"] < shown["total_ns"]
    for before, phase in zip(plain["phases"], shown["phases"], strict=True):
        parts = ("cpu_ns", "storage_ns", "console_ns", "idle_ns", "fixed_ns")
        assert sum(phase[part] for part in parts) == phase["end_ns"] - phase["start_ns"]
        assert phase["storage_ns"] == before["storage_ns"]
        assert before["memory_ns"] is None and 0 <= phase["memory_ns"] <= phase["cpu_ns"]
        assert 0 <= phase["clocked_ns"] <= phase["cpu_ns"] - phase["memory_ns"]
    assert plain["uncertainty"] is None
    error = shown["uncertainty"]
    told = error["clocked_ns"] + error["known_ns"] + error["unknown_ns"]
    assert told == sum(phase["cpu_ns"] for phase in shown["phases"])
    view = bootscope.json("show", run, "--core", "cortex-a8", "--view", "memory")
    tables = {table["name"]: table["rows"] for table in view["tables"]}
    functions: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for row in tables["memory-functions"]:
        functions[row["phase"]][0] += row["issue_ns"]
        functions[row["phase"]][1] += row["memory_ns"]
    for row in tables["memory-phases"]:
        assert row["cpu_ns"] == row["issue_ns"] + row["memory_ns"]
        assert functions[row["phase"]] == [row["issue_ns"], row["memory_ns"]]
        waits = ("l2_ns", "read_ns", "written_ns", "walk_ns", "uncached_ns", "device_ns")
        assert sum(row[wait] for wait in waits) == row["memory_ns"]
    processes = sum(row["cpu_ns"] for row in tables["memory-processes"])
    assert processes == sum(row["cpu_ns"] for row in tables["memory-phases"])


def test_what_cannot_be_told_is_refused_with_what_to_run(bootscope: Bootscope) -> None:
    run = bootscope.json(*RECORD)["run_id"]
    without = refused(bootscope, "show", run, "--core", "cortex-a8")
    assert "recorded without --timing" in without
    assert "bootscope record debian --timing --core cortex-a8" in without
    assert "is of architecture arm64" in refused(bootscope, *TIMING[:-1], "cortex-a53")
    assert "name one" in refused(bootscope, "show", run, "--view", "memory")
    assert "goes with --timing" in refused(bootscope, *RECORD, "--core", "cortex-a8")
