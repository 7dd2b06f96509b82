# SPDX-License-Identifier: Apache-2.0
"""The guest's clock as on a core: the same boot each time, and the time that counts tell of the same core."""

from __future__ import annotations

from typing import Any

import pytest

from bootscope.capture.store import Store
from bootscope.capture.stored import StoredBoot
from tests.command import Bootscope
from tests.prebuilt.test_timing import busy

pytestmark = [pytest.mark.boot, pytest.mark.long]
CORE = "cubieboard:core=cortex-a8"
CLOCK = f"{CORE}:guest-clock=core"
RECORD = ("record", "debian", "--until", "kernel-entry", "--board")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bootscope, str, str]:
    """A store, a boot with the clock of a core in it, and one that was counted for the same core."""
    bootscope = Bootscope(tmp_path_factory.mktemp("clocks"))
    clock, counts = (bootscope.json(*RECORD, board)["run_id"] for board in (CLOCK, CORE))
    return Bootscope(bootscope.store, shared=True), clock, counts


def _phases(bootscope: Bootscope, run: str) -> dict[str, dict[str, Any]]:
    shown = bootscope.json("show", run)
    return {phase["name"]: phase for phase in shown["phases"]}


def _boot(bootscope: Bootscope, run: str) -> StoredBoot:
    return Store(bootscope.store).load(run).boots[0]


@pytest.mark.campaign
def test_two_boots_are_equal_under_load(bootscope: Bootscope, recorded: tuple[Bootscope, str, str]) -> None:
    looks, clock, _ = recorded
    with busy():
        again = bootscope.json(*RECORD, CLOCK)["boots"][0]["stream_sha256"]
    assert _boot(looks, clock).info.stream_sha256 == again


@pytest.mark.campaign
def test_code_that_looks_at_no_clock_takes_what_counts_tell(recorded: tuple[Bootscope, str, str]) -> None:
    bootscope, clock, counts = recorded
    in_clock, by_counts = _phases(bootscope, clock), _phases(bootscope, counts)
    unpacking = in_clock["decompress"]["cpu_ns"]
    assert unpacking == pytest.approx(by_counts["decompress"]["cpu_ns"], rel=1e-4)
    assert unpacking > 1_000_000_000


@pytest.mark.campaign
def test_waits_for_a_clock_are_as_long_as_they_are_meant(recorded: tuple[Bootscope, str, str]) -> None:
    bootscope, clock, counts = recorded
    in_clock, by_counts = _phases(bootscope, clock), _phases(bootscope, counts)
    # A turn of U-Boot's loop takes longer than a tick of its timer, as on the chip: docs/time-model.md.
    assert in_clock["spl"]["cpu_ns"] < by_counts["spl"]["cpu_ns"] - 5_000_000


def test_it_is_not_counted_as_well(bootscope: Bootscope) -> None:
    done = bootscope.run(*RECORD, CLOCK, "--timing", "--core", "cortex-a8")
    assert done.returncode == 2 and "already: its boots are not counted" in done.stderr


@pytest.mark.campaign
def test_the_time_of_another_core_is_refused(recorded: tuple[Bootscope, str, str]) -> None:
    bootscope, clock, counts = recorded
    for arguments, told in (
        (
            ("show", clock, "--core", "cortex-a8"),
            "was recorded with the clock of core cortex-a8: its times are",
        ),
        (("show", clock, "--board", "cubieboard"), "was recorded with the clock of core cortex-a8"),
        (("show", counts, "--board", CLOCK), "was recorded with 2 ns an instruction"),
        (("show", clock, "--board", f"{CLOCK}:dram=2x"), "was recorded with the clock of core cortex-a8"),
    ):
        done = bootscope.run(*arguments)
        assert done.returncode == 2 and told in done.stderr, (arguments, done.stderr)
    other_card = bootscope.json("show", clock, "--board", f"{CLOCK}:card=ideal")
    assert other_card["total_ns"] < bootscope.json("show", clock)["total_ns"]
