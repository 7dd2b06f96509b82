# SPDX-License-Identifier: Apache-2.0
"""The guest's clock as on a board: what goes on while the card reads or the line prints."""

from __future__ import annotations

from typing import Any

import pytest

from bootscope.boards.profile import load_board
from bootscope.capture.store import Store
from tests.command import Bootscope
from tests.prebuilt.test_timing import busy

pytestmark = [pytest.mark.boot, pytest.mark.long]
CORE = "cubieboard:core=cortex-a8"
BOARD = f"{CORE}:guest-clock=board"
RECORD = ("record", "debian", "--until", "kernel-entry", "--board")
KINDS = ("cpu_ns", "idle_ns", "storage_ns", "console_ns", "fixed_ns")
BYTE_NS = 86_805
IMX = "imx8mp-evk:core=none:guest-clock=board"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bootscope, str]:
    """A store with a boot whose clock passed with its devices."""
    bootscope = Bootscope(tmp_path_factory.mktemp("clocks"))
    run = bootscope.json(*RECORD, BOARD)["run_id"]
    return Bootscope(bootscope.store, shared=True), run


def _phases(bootscope: Bootscope, run: str) -> dict[str, dict[str, Any]]:
    return {phase["name"]: phase for phase in bootscope.json("show", run)["phases"]}


def _reads(bootscope: Bootscope, run: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = bootscope.json("show", run, "--view", "storage")["tables"][0]["rows"]
    return rows


def test_fetching_words_and_reading_the_card_go_on_together(recorded: tuple[Bootscope, str]) -> None:
    bootscope, run = recorded
    load = _phases(bootscope, run)["load"]
    length_ns = load["end_ns"] - load["start_ns"]
    # The kernel and its initramfs are read in this phase; every word of them is fetched by the CPU.
    names = ("kernel", "initramfs")
    size = sum(row["size_bytes"] for row in _reads(bootscope, run) if row["what"] in names)
    card_ns = load_board(BOARD).card.cost_ns(size)
    assert size > 5_000_000
    assert length_ns > card_ns, "nothing is read faster than the card can"
    assert load["cpu_ns"] > 0.8 * card_ns
    assert load["storage_ns"] < 0.2 * card_ns, "the CPU fetches words while the card reads"


def test_no_line_is_printed_faster_than_the_line_can(recorded: tuple[Bootscope, str]) -> None:
    bootscope, run = recorded
    lines = bootscope.json("show", run, "--view", "console")["tables"][0]["rows"]
    assert len(lines) > 20
    first, last = (f(lines, key=lambda row: row["start_ns"]) for f in (min, max))
    size = sum(row["bytes"] for row in lines) - last["bytes"]
    queued = load_board(BOARD).console_called("uart0").fifo_bytes.value
    assert last["start_ns"] - first["start_ns"] > (size - queued) * BYTE_NS


def test_kinds_and_transfers_add_up(recorded: tuple[Bootscope, str]) -> None:
    bootscope, run = recorded
    phases = _phases(bootscope, run)
    for phase in phases.values():
        assert sum(phase[kind] for kind in KINDS) == phase["end_ns"] - phase["start_ns"]
    storage_ns = sum(phase["storage_ns"] for phase in phases.values())
    assert sum(row["cost_ns"] for row in _reads(bootscope, run)) == storage_ns


def test_what_another_boot_would_tell_is_refused(recorded: tuple[Bootscope, str]) -> None:
    bootscope, run = recorded
    for arguments, told in (
        (("show", run, "--board", f"{BOARD}:card=ideal"), "of uart0 and of mmc0 with storage that costs"),
        (("show", run, "--board", f"{CORE}:guest-clock=core"), "of uart0 and of mmc0 with slow SD card"),
        (("show", run, "--core", "cortex-a8"), "was recorded with the clock of core cortex-a8"),
        (("what-if", run, "card=2x"), "another card cannot be predicted"),
    ):
        done = bootscope.run(*arguments)
        assert done.returncode == 2 and told in done.stderr, (arguments, done.stderr)


def test_a_board_whose_devices_are_not_modelled_so_is_named(bootscope: Bootscope) -> None:
    done = bootscope.run("record", "debian-riscv64", "--board", "virt-riscv64:guest-clock=board")
    assert done.returncode == 2 and "guest-clock=board is not modelled for sd0, a sdhci-pci" in done.stderr


@pytest.fixture(scope="module")
def recorded_on_imx(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bootscope, str]:
    """The same with other devices, another architecture and no core: a port and a controller of NXP's."""
    bootscope = Bootscope(tmp_path_factory.mktemp("imx"))
    run = bootscope.json("record", "debian-imx8mp", "--board", IMX)["run_id"]
    return Bootscope(bootscope.store, shared=True), run


def test_other_devices_take_their_time_too(recorded_on_imx: tuple[Bootscope, str]) -> None:
    bootscope, run = recorded_on_imx
    phases, reads = _phases(bootscope, run), _reads(bootscope, run)
    for phase in phases.values():
        assert sum(phase[kind] for kind in KINDS) == phase["end_ns"] - phase["start_ns"]
    # The kernel tests its ciphers while the card reads: most of what the card takes is waited for by nobody.
    card = load_board(IMX).card
    read_ns = sum(card.cost_ns(row["size_bytes"]) for row in reads)
    waited_ns = sum(phase["storage_ns"] for phase in phases.values())
    assert 0 < waited_ns < 0.5 * read_ns
    printed = sum(r["bytes"] for r in bootscope.json("show", run, "--view", "console")["tables"][0]["rows"])
    assert phases["application"]["end_ns"] > printed * BYTE_NS > 1_000_000_000


def test_such_a_boot_can_be_stopped_at_a_milestone(recorded_on_imx: tuple[Bootscope, str]) -> None:
    bootscope, run = recorded_on_imx
    done = bootscope.run("debug", run, "--at", "init")
    assert done.returncode == 0 and "the same boot: " in done.stdout, done.stderr


@pytest.mark.campaign
def test_two_boots_are_equal_under_load(bootscope: Bootscope, recorded: tuple[Bootscope, str]) -> None:
    looks, run = recorded
    with busy():
        again = bootscope.json(*RECORD, BOARD)["boots"][0]["stream_sha256"]
    assert Store(looks.store).load(run).boots[0].info.stream_sha256 == again
