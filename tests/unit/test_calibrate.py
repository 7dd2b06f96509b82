# SPDX-License-Identifier: Apache-2.0
"""bootscope calibrate, from boots in the store to a profile that other verbs take."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bootscope.boards.profile import Board, load_board
from bootscope.capture.store import Store
from bootscope.capture.stored import StoredRun
from bootscope.capture.stream import Record
from tests.fixtures import stock_boot

from .conftest import Command
from .real_boards import Bytes, heard, keep_measured, profile, varied

pytestmark = pytest.mark.long

TRUTH = {
    "cpu_scale_ppm": 1_600_000,
    "bandwidth_bytes_per_s": 20_000_000,
    "command_latency_ns": 900_000,
    "line_baud": 461_536,
    "power_on_ns": 350_000_000,
}


def its_board(line_percent: int = 400) -> Board:
    return profile(20_000_000, 900_000, 1_600_000, line_percent, 350_000_000)


@dataclass
class Desk:
    """A store with the recorded stock boot in it, and boots of a board that is like it and yet not."""

    store: Store
    main: Command
    like: StoredRun
    records: list[Record]

    def boots(self, count: int = 5, seed: int = 1, board: Board | None = None) -> list[Bytes]:
        found = heard(self.records, self.like.info, board or its_board())
        rng = random.Random(seed)
        return [varied(found, rng) for _ in range(count)]

    def calibrate(self, *arguments: str | Path) -> dict[str, Any]:
        done = self.main("calibrate", *arguments, "--json")
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def refused(self, *arguments: str | Path) -> str:
        done = self.main("calibrate", *arguments)
        assert done.returncode == 2, done.stderr
        return str(done.stderr)


@pytest.fixture
def desk(main_here: Command, tmp_path: Path) -> Desk:
    store = Store(tmp_path / "store")
    run = store.load(stock_boot.unpack(store))
    return Desk(store, main_here, run, run.boots[0].records())


def by_name(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {figure["name"]: figure for figure in found["figures"]}


def test_a_board_with_other_figures_is_found_again(desk: Desk, tmp_path: Path) -> None:
    run_id = keep_measured(desk.store, desk.boots(), rate=0, kind="pipe")
    file = tmp_path / "desk-board.toml"
    found = desk.calibrate(run_id, "--board", "cubieboard", "-o", file)
    figures = by_name(found)
    for name, truth in TRUTH.items():
        figure = figures[name]
        assert figure["how"] == "fitted"
        assert figure["low"] <= truth <= figure["high"], figure
        assert figure["value"] == pytest.approx(truth, rel=0.03)
    assert (found["board"], found["like"]) == ("cubieboard", f"{desk.like.info.run_id}/001")
    assert len(found["boots"]) == 5
    assert found["explained_ppm"] > 990_000 > found["explained_before_ppm"]
    assert found["median_off_ns"] <= found["p95_off_ns"] < 2_000_000
    took = sum(stretch["board_ns"] for stretch in found["stretches"])
    assert took == sum(phase["board_ns"] for phase in found["phases"])
    # The profile loads, says whence its figures are, and counts the recording anew.
    board = load_board(str(file))
    assert (board.name, board.card_class) == ("desk-board", "calibrated")
    assert board.power_on_ns.value == figures["power_on_ns"]["value"]
    assert run_id in board.power_on_ns.source
    assert board.qemu == load_board("cubieboard").qemu
    assert board.addresses == load_board("cubieboard").addresses
    text = file.read_text()
    assert "# before 11_300_000; 95 %: " in text
    assert "# line rate in baud: before 115_386; 95 %: " in text
    shown = json.loads(desk.main("show", "stock", "--board", file, "--json").stdout)
    real = json.loads(desk.main("show", run_id, "--json").stdout)
    assert shown["milestones"]["init"] == pytest.approx(real["milestones"]["init"], rel=0.03)
    predicted = json.loads(desk.main("what-if", "stock", "card=2x", "--board", file, "--json").stdout)
    assert predicted["now_ns"] == shown["total_ns"]
    assert 0 < predicted["saving_ns"] < sum(phase["storage_ns"] for phase in shown["phases"])
    # What was fitted before is where the next calibration begins.
    again = by_name(desk.calibrate(run_id, "--board", file, "-o", file))
    assert load_board(str(file)).title == board.title
    assert load_board(str(file)).card.title == board.card.title
    for name in TRUTH:
        assert again[name]["before"] == pytest.approx(figures[name]["value"], rel=1e-4)
        assert again[name]["value"] == pytest.approx(figures[name]["value"], rel=0.01)


def test_the_rate_at_which_the_line_was_listened_to_is_that_of_the_line(desk: Desk, tmp_path: Path) -> None:
    run_id = keep_measured(desk.store, desk.boots(3), rate=460_800)
    file = tmp_path / "b.toml"
    line = by_name(desk.calibrate(run_id, "-o", file))["line_baud"]
    assert (line["how"], line["value"]) == ("told", 460_800)
    assert line["low"] < TRUTH["line_baud"] < line["high"]
    assert "was read at 460800 baud" in line["why"]
    assert "was read at 460800 baud" in file.read_text()


def test_the_rate_that_divisors_make_is_not_mended(desk: Desk, tmp_path: Path) -> None:
    run_id = keep_measured(desk.store, desk.boots(2, board=its_board(100)), rate=115_200)
    file = tmp_path / "b.toml"
    line = by_name(desk.calibrate(run_id, "-o", file))["line_baud"]
    assert (line["how"], line["value"], line["before"]) == ("told", 115_386, 115_386)
    assert load_board(str(file)).devices["uart0"] == load_board("cubieboard").devices["uart0"]


def test_without_a_switch_nobody_knows_how_long_power_took(desk: Desk) -> None:
    run_id = keep_measured(desk.store, desk.boots(2), switched=False, rate=0, kind="pipe")
    power = by_name(desk.calibrate(run_id))["power_on_ns"]
    assert (power["how"], power["value"], power["low"]) == ("kept", 200_000_000, None)
    assert "the moment of power-on is unknown" in power["why"]


def test_a_console_log_that_somebody_has_will_do(desk: Desk, tmp_path: Path) -> None:
    log, text, begun = tmp_path / "console.log", b"", 0
    for at_ns, value in desk.boots(1)[0]:
        if not text:
            begun = at_ns
        text += bytes([value])
        if value == 0x0A:
            with log.open("ab") as f:
                f.write(f"[{begun / 1e9:.6f} 0.000000] ".encode() + text)
            text = b""
    imported = json.loads(desk.main("import", log, "--json").stdout)
    found = desk.calibrate(imported["run_id"])
    figures = by_name(found)
    assert figures["cpu_scale_ppm"]["low"] <= TRUTH["cpu_scale_ppm"] <= figures["cpu_scale_ppm"]["high"]
    assert figures["line_baud"]["how"] == "fitted"
    assert figures["power_on_ns"]["how"] == "kept"


def test_boots_of_several_runs_are_taken_together_and_one_can_be_named(desk: Desk) -> None:
    first = keep_measured(desk.store, desk.boots(2), rate=460_800)
    second = keep_measured(desk.store, desk.boots(2, seed=2), rate=460_800)
    assert len(desk.calibrate(first, second, first)["boots"]) == 4
    assert desk.calibrate(f"{first}/2", "--like", "stock/1")["boots"] == [f"{first}/002"]


def test_the_terminal_says_what_fits_and_what_does_not(desk: Desk, tmp_path: Path) -> None:
    boots = desk.boots(3)
    # A driver that waits for hardware which the emulator does not have: 700 ms, in every boot.
    waits = bytes(value for _, value in boots[0]).index(b"Starting syslogd")
    late = [[(at + 700_000_000 * (n > waits), value) for n, (at, value) in enumerate(b)] for b in boots]
    run_id = keep_measured(desk.store, late, rate=460_800)
    done = desk.main("calibrate", run_id, "--top", "1")
    assert done.returncode == 0, done.stderr
    assert "CPU time, against the emulator" in done.stdout
    assert "% of their time is explained" in done.stdout
    worst = done.stdout.partition("Largest deviations")[2].splitlines()[2]
    assert worst.startswith("*")
    assert "syslogd" in worst
    assert "record the system again" in done.stdout
    assert "nothing was written" in done.stdout
    cpu = by_name(desk.calibrate(run_id))["cpu_scale_ppm"]
    assert cpu["low"] <= TRUTH["cpu_scale_ppm"] <= cpu["high"]


def test_lines_of_a_board_cannot_act_on_a_terminal(desk: Desk) -> None:
    run_id = keep_measured(desk.store, desk.boots(1), rate=460_800)
    out = desk.main("calibrate", run_id, "--top", "1000").stdout
    assert "Hit any key" in out
    assert not {c for c in out if not c.isprintable()} - {"\n"}


# ---- what cannot be done ----


def test_each_mistake_has_its_words(desk: Desk, tmp_path: Path) -> None:
    stock = desk.like.info.run_id
    run_id = keep_measured(desk.store, desk.boots(1))
    assert "is of an emulated board; calibrate takes boots of a real one" in desk.refused(stock)
    assert "is of a real board; this needs a recording of an emulated board" in desk.refused(
        run_id, "--like", run_id
    )
    assert "unknown run 'nowhere'" in desk.refused("nowhere")
    assert "unknown board 'nothing'" in desk.refused(run_id, "--board", "nothing")
    assert "no boot 7" in desk.refused(f"{run_id}/7")
    assert "must be named *.toml" in desk.refused(run_id, "-o", "board.txt")
    assert "--top must be above 0" in desk.refused(run_id, "--top", "0")
    assert not list(tmp_path.glob("*.toml"))


def test_boots_that_came_to_nothing_are_none(desk: Desk) -> None:
    run_id = keep_measured(desk.store, desk.boots(1), ended="timeout")
    assert "no boot that completed" in desk.refused(run_id)


def test_another_system_is_told(desk: Desk) -> None:
    other = [
        (n * 1_000_000, value) for n, value in enumerate(b"hello world\n" * 30 + b"and more to say\n" * 30)
    ]
    run_id = keep_measured(desk.store, [other])
    said = desk.refused(run_id)
    assert "not one of the" in said
    assert "must be of the system that the board boots" in said


def test_a_silent_boot_says_too_little(desk: Desk) -> None:
    run_id = keep_measured(desk.store, [desk.boots(1)[0][:120]])
    assert "6 is the least" in desk.refused(run_id)


@pytest.mark.parametrize("size", [300, 600, 2_000])
def test_of_a_boot_that_breaks_off_is_told_what_it_tells(desk: Desk, size: int) -> None:
    found = desk.calibrate(keep_measured(desk.store, [desk.boots(1)[0][:size]], rate=460_800))
    for figure in found["figures"]:
        if figure["how"] == "kept":
            assert figure["value"] == figure["before"]
            assert figure["why"]
        else:
            assert figure["low"] <= figure["value"]


def test_a_log_of_the_kernels_own_clock_is_none_of_a_console(desk: Desk, tmp_path: Path) -> None:
    log = tmp_path / "dmesg.txt"
    log.write_text("".join(f"[    {n / 10:.6f}] driver number {n} is ready\n" for n in range(40)))
    run_id = json.loads(desk.main("import", log, "--json").stdout)["run_id"]
    assert "the kernel's own clock" in desk.refused(run_id)


def test_a_profile_of_another_speed_of_the_emulator_is_refused(desk: Desk, tmp_path: Path) -> None:
    run_id = keep_measured(desk.store, desk.boots(1), rate=460_800)
    file = tmp_path / "slow.toml"
    desk.calibrate(run_id, "-o", file)
    file.write_text(file.read_text().replace("icount_shift = { value = 1", "icount_shift = { value = 3"))
    said = desk.refused(run_id, "--board", file)
    assert "2 ns an instruction, board slow has 8" in said


def test_without_an_emulated_run_there_is_nothing_to_compare_with(main_here: Command, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    run_id = keep_measured(store, [[(0, 10)]])
    done = main_here("calibrate", run_id)
    assert done.returncode == 2
    assert "no emulated run" in done.stderr
