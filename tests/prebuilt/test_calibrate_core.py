# SPDX-License-Identifier: Apache-2.0
"""calibrate fits what an instruction and what memory take, on the counts of a real boot: boards that are made
of it with other figures are found again."""

from __future__ import annotations

import random
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bootscope.boards.profile import load_board
from bootscope.calibration.on_core import INSTRUCTION, scaled_memory, with_figures
from bootscope.capture import counted
from bootscope.capture.store import Store
from bootscope.capture.stored import StoredRun
from bootscope.cores.profile import Core, core_dir, load_core
from bootscope.timeline.core_time import Timing
from tests.command import Bootscope
from tests.unit.real_boards import heard, keep_measured, profile, varied

pytestmark = [pytest.mark.boot, pytest.mark.campaign]
A8 = "cortex-a8"
INSTRUCTION_TRUE, LATENCY_TRUE, POWER_TRUE_NS = 1400, 240, 350_000_000


@pytest.fixture(scope="module")
def counted_boot(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bootscope, StoredRun]:
    """A boot up to init with its counts for the Cortex-A8."""
    bootscope = Bootscope(tmp_path_factory.mktemp("calibrate"))
    made = bootscope.json("record", "debian", "--until", "init", "--timing", "--core", A8)
    return bootscope, Store(bootscope.store).load(made["run_id"])


def boots_on(bootscope: Bootscope, run: StoredRun, core: Core, seed: int) -> str:
    """Five boots of a board with this core, measured at its console; returns their run."""
    boot = run.boots[0]
    timing = Timing(core, partial(counted.read, boot.path, load_core(A8).geometry_id))
    board = profile(20_000_000, 900_000, 1_000_000, 100, POWER_TRUE_NS)
    found, drawn = heard(boot.records(), run.info, board, timing), random.Random(seed)
    return keep_measured(Store(bootscope.store), [varied(found, drawn) for _ in range(5)])


def by_name(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {figure["name"]: figure for figure in found["figures"]}


def test_a_core_with_other_figures_is_found_again(
    counted_boot: tuple[Bootscope, StoredRun], tmp_path: Path
) -> None:
    bootscope, run = counted_boot
    costs = load_core(A8).costs
    figures = {INSTRUCTION: INSTRUCTION_TRUE, **scaled_memory(costs, LATENCY_TRUE)}
    desk = boots_on(bootscope, run, with_figures(load_core(A8), figures, "the truth"), seed=3)
    like, output = ("--like", run.info.run_id), tmp_path / "desk.toml"
    found = bootscope.json("calibrate", desk, *like, "--core", A8, "-o", output)
    fitted = by_name(found)
    assert found["core"] == A8 and "cpu_scale_ppm" not in fitted
    for name, truth in (("instruction_millicycles", INSTRUCTION_TRUE), ("read_ns", LATENCY_TRUE)):
        figure = fitted[name]
        assert figure["how"] == "fitted" and figure["low"] <= truth <= figure["high"], figure
        assert figure["value"] == pytest.approx(truth, rel=0.04)
    power = fitted["power_on_ns"]
    assert power["low"] <= POWER_TRUE_NS <= power["high"]
    # One figure for all of the CPU's time does not do: much of the boot is left unexplained.
    plain = bootscope.json("calibrate", desk, *like)
    assert found["explained_ppm"] > 990_000 > 950_000 > plain["explained_ppm"]
    # Both profiles load, and the boot on them is the real one.
    core = load_core(str(tmp_path / "desk-core.toml"))
    assert core.costs.read_ns.value == fitted["read_ns"]["value"]
    assert desk in core.costs.instruction_millicycles.source
    assert core.geometry_id == load_core(A8).geometry_id
    assert load_board(str(output)).cpu_scale_ppm == load_board("cubieboard").cpu_scale_ppm
    on_both = ("--board", output, "--core", tmp_path / "desk-core.toml")
    shown = bootscope.json("show", run.info.run_id, *on_both)
    assert shown["core"] == "desk-core" and shown["phases"][0]["end_ns"] == power["value"]
    for phase in found["phases"]:
        assert phase["after_ns"] == pytest.approx(phase["board_ns"], rel=0.01), phase


def test_memory_that_takes_next_to_nothing_is_not_made_up(
    counted_boot: tuple[Bootscope, StoredRun], tmp_path: Path
) -> None:
    bootscope, run = counted_boot
    # By this profile nothing is waited for memory: how much more it would be nobody can tell.
    memory = r"^(read|stream_read|written_line|store_fill|uncached_\w+)_ns = \{ value = \d+"
    text = re.sub(memory, r"\1_ns = { value = 0", (core_dir() / f"{A8}.toml").read_text(), flags=re.M)
    path = tmp_path / "no-memory.toml"
    path.write_text(text)
    desk = boots_on(bootscope, run, load_core(str(path)), seed=4)
    found = by_name(bootscope.json("calibrate", desk, "--like", run.info.run_id, "--core", path))
    assert found["read_ns"]["how"] == "kept" and "take almost no time" in found["read_ns"]["why"]
    assert found["read_ns"]["low"] is found["read_ns"]["high"] is None
    instruction = found["instruction_millicycles"]
    true = load_core(A8).costs.instruction_millicycles.value
    assert instruction["low"] <= true <= instruction["high"]


def test_a_boot_without_counts_says_what_to_run(counted_boot: tuple[Bootscope, StoredRun]) -> None:
    bootscope, run = counted_boot
    desk = boots_on(bootscope, run, load_core(A8), seed=5)
    done = bootscope.run("calibrate", desk, "--like", run.info.run_id, "--core", "cortex-a9")
    assert done.returncode == 2 and "whose caches are not those of cortex-a9" in done.stderr
    assert "record debian --timing --core cortex-a9" in done.stderr
