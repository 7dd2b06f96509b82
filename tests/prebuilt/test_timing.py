# SPDX-License-Identifier: Apache-2.0
"""The counting pass, on a short real boot: the same counts each time, and times that add up."""

from __future__ import annotations

import multiprocessing
import re
import shutil
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bootscope.analysis.views import view
from bootscope.capture import counted
from bootscope.capture.store import Store
from bootscope.cores.counts import Count
from bootscope.cores.profile import core_dir, load_core
from bootscope.inventory.indicators import INDICATORS
from bootscope.inventory.recorded import facts
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


def slower_memory(folder: Path) -> str:
    """The Cortex-A8 with memory half as fast; returns its path."""
    text = (core_dir() / "cortex-a8.toml").read_text()
    path = folder / "slower.toml"
    path.write_text(re.sub(r"^(read_ns = \{ value =) \d+", r"\1 368", text, flags=re.MULTILINE))
    return str(path)


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
        again = bootscope.json(*TIMING)
    second = boot_of(again)
    digests = [recorded["boots"][0]["counts_sha256"] for recorded in (counted_once[1], again)]
    assert digests[0] == digests[1] and len(digests[0]) == 1
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


def test_stalls_are_drawn_and_add_up_to_the_memory_time(
    counted_once: tuple[Bootscope, dict[str, Any]], tmp_path: Path
) -> None:
    bootscope, recorded = counted_once
    run = recorded["run_id"]
    phases = bootscope.json("show", run, "--core", "cortex-a8")["phases"]
    folded = tmp_path / "stalls.folded"
    bootscope.json("export", run, "--core", "cortex-a8", "--stalls", "-o", folded)
    found: dict[str, int] = defaultdict(int)
    for line in folded.read_text().splitlines():
        path, _, ns = line.rpartition(" ")
        found[path.partition(";")[0]] += int(ns)
    assert found == {phase["name"]: phase["memory_ns"] for phase in phases if phase["memory_ns"]}
    page = tmp_path / "boot.html"
    bootscope.json("report", run, "--core", "cortex-a8", "-o", page)
    told = page.read_text()
    assert "Flame graph of waiting for memory" in told and "Functions: waiting for memory" in told
    picture = tmp_path / "stalls.svg"
    options = ("--core", "cortex-a8", "--stalls", "--view", "flame", "-o", picture)
    bootscope.json("report", run, *options)
    assert "<svg" in picture.read_text()
    assert "no core is modelled" in refused(bootscope, "export", run, "--stalls", "-o", str(folded))


def test_two_boots_are_compared_by_issue_and_memory(
    counted_once: tuple[Bootscope, dict[str, Any]], tmp_path: Path
) -> None:
    store = tmp_path / "store"
    shutil.copytree(counted_once[0].store, store)
    both, first = Bootscope(store), counted_once[1]["run_id"]
    slower = slower_memory(tmp_path)
    second = both.json(*TIMING)["run_id"]
    same = both.json("compare", first, second, "--core", "cortex-a8")
    assert same["core"] == "cortex-a8" and same["total_a_ns"] == same["total_b_ns"]
    for phase in same["phases"]:
        assert phase["split"]["issue_ns"] + phase["split"]["memory_ns"] == phase["split"]["cpu_ns"] == 0
    on_slower = both.json("compare", first, second, "--core", slower)
    assert on_slower["total_a_ns"] > same["total_a_ns"]
    assert "--core CORE" in refused(both, "compare", first, second, "--view", "memory")
    rows = both.json("compare", first, second, "--core", "cortex-a8", "--view", "memory")["tables"][0]
    assert rows["rows"] == []


def test_caches_that_are_off_are_a_sign(counted_once: tuple[Bootscope, dict[str, Any]]) -> None:
    bootscope, recorded = counted_once
    store = Store(bootscope.store)
    run = store.load(recorded["run_id"])
    shown = INDICATORS["caches-off"].evidence(facts(store, view(store, run, core=load_core("cortex-a8"))))
    assert shown
    assert re.fullmatch(r"accesses past caches that are off: spl \d+\.\d+ ms(, \w+ [\d.]+ .?s)*", shown)
    assert INDICATORS["caches-off"].evidence(facts(store, view(store, run))) == ""


def test_an_audit_tells_what_was_counted(
    counted_once: tuple[Bootscope, dict[str, Any]], tmp_path: Path
) -> None:
    shutil.copytree(counted_once[0].store, tmp_path / "store")
    bootscope, run = Bootscope(tmp_path / "store"), counted_once[1]["run_id"]
    found = bootscope.json("audit", run)["counted"]
    shown = bootscope.json("show", run, "--core", "cortex-a8")
    assert found["core"] == "cortex-a8" and found["total_ns"] == shown["total_ns"]
    costs = {cost["what_if"]: cost for cost in found["costs"]}
    spl = costs["dcache=on-in-spl"]
    assert spl["technique"] == "hw-cache-config" and spl["saving_ns"] is None
    assert 50_000_000 < spl["most_ns"] <= sum(phase["memory_ns"] for phase in shown["phases"])
    for change in ("dram=1.25x", "clock=1.25x"):
        if change in costs:
            told = bootscope.json("what-if", run, change)
            assert costs[change]["saving_ns"] == told["saving_ns"] <= costs[change]["most_ns"]
    counted_now = bootscope.json("what-if", run, "dcache=on-in-spl")["saving_ns"]
    again = {cost["what_if"]: cost for cost in bootscope.json("audit", run)["counted"]["costs"]}
    # What it saves is known now, and lies below the bound.
    assert again["dcache=on-in-spl"]["saving_ns"] == counted_now <= spl["most_ns"]
    plain = bootscope.json(*RECORD)["run_id"]
    assert bootscope.json("audit", plain)["counted"] is None
    assert "recorded without --timing" in refused(bootscope, "audit", plain, "--core", "cortex-a8")


def test_what_cannot_be_told_is_refused_with_what_to_run(bootscope: Bootscope) -> None:
    run = bootscope.json(*RECORD)["run_id"]
    without = refused(bootscope, "show", run, "--core", "cortex-a8")
    assert "recorded without --timing" in without
    assert "bootscope record debian --timing --core cortex-a8" in without
    assert "is of architecture arm64" in refused(bootscope, *TIMING[:-1], "cortex-a53")
    assert "name one" in refused(bootscope, "show", run, "--view", "memory")
    assert "goes with --timing" in refused(bootscope, *RECORD, "--core", "cortex-a8")
