# SPDX-License-Identifier: Apache-2.0
"""Boards with another card, clock or core, by their names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import cast

import msgspec
import pytest

from bootscope.boards.changed import asks_for_core, clock_core_of, core_of, same_clock
from bootscope.boards.physical import is_real
from bootscope.boards.profile import CORE_VARIABLE, board_dir, load_board
from bootscope.core.errors import UserError
from bootscope.cores.counts import Count
from bootscope.cores.profile import load_core
from bootscope.emulator import core_clock, recording, timing_pass
from bootscope.emulator.subject import Subject

PLAIN = load_board("cubieboard")


def test_a_card_is_faster_in_bandwidth_and_latency() -> None:
    board = load_board("cubieboard:card=2x")
    assert board.name == "cubieboard:card=2x"
    assert board.card.bandwidth_bytes_per_s.value == 2 * PLAIN.card.bandwidth_bytes_per_s.value
    assert board.card.command_latency_ns.value * 2 == PLAIN.card.command_latency_ns.value
    assert load_board("cubieboard:card=ideal").card.title == PLAIN.card_classes["ideal"].title


def test_changes_come_one_upon_the_other() -> None:
    assert load_board("cubieboard:clock=0.5x").tick_ns == 2 * PLAIN.tick_ns
    assert load_board("cubieboard:clock=0.5x:clock=2x").tick_ns == PLAIN.tick_ns


def test_a_core_has_the_memory_that_is_said() -> None:
    plain, slow = (core_of(load_board(f"cubieboard:core=cortex-a8{more}")) for more in ("", ":dram=0.5x"))
    assert plain and slow
    assert slow.costs.read_ns.value == 2 * plain.costs.read_ns.value
    assert slow.geometry_id == plain.geometry_id


def test_the_clock_of_a_board_with_a_core_is_the_cores() -> None:
    board = load_board("cubieboard:core=cortex-a8:clock=2x")
    core, plain = core_of(board), core_of(load_board("cubieboard:core=cortex-a8"))
    assert core and plain
    assert board.tick_ns == PLAIN.tick_ns
    assert core.costs.clock_hz.value == 2 * plain.costs.clock_hz.value


def test_changes_of_a_core_come_one_upon_the_other() -> None:
    plain = core_of(load_board("cubieboard:core=cortex-a8"))
    twice = core_of(load_board("cubieboard:core=cortex-a8:clock=0.5x:dram=0.5x:clock=2x:dram=2x"))
    assert plain and twice
    assert twice.costs.clock_hz.value == plain.costs.clock_hz.value
    assert twice.costs.read_ns.value == plain.costs.read_ns.value
    other = core_of(load_board("cubieboard:core=cortex-a8:l2=off"))
    assert other and other.geometry_id != plain.geometry_id
    assert core_of(load_board("cubieboard:core=cortex-a8:l2=off:core=cortex-a8")) == plain


def test_a_board_with_changes_is_no_real_one() -> None:
    assert not is_real("cubieboard:card=2x")
    assert not is_real("boards/mine.toml:clock=0.5x")
    assert is_real("serial:/dev/ttyUSB0")
    with pytest.raises(UserError, match="unknown board 'cubybord'"):
        is_real("cubybord:card=2x")


def test_a_file_with_a_colon_in_its_path_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "my:boards" / "mine.toml"
    path.parent.mkdir()
    path.write_text((board_dir() / "cubieboard.toml").read_text())
    assert load_board(str(path)).card == PLAIN.card
    assert load_board(f"{path}:card=ideal").card.title == PLAIN.card_classes["ideal"].title


def test_a_board_with_other_caches_is_counted_for_these(tmp_path: Path) -> None:
    board = load_board("cubieboard:core=cortex-a8:l2=off")
    task = recording.Task(cast(Subject, None), board, tmp_path, "init")
    (counted,) = recording.counting(task).limits.timing
    assert counted == core_of(board)


def test_a_board_whose_guest_has_the_clock_of_a_core_is_not_counted(tmp_path: Path) -> None:
    board = load_board("cubieboard:core=cortex-a8:dram=2x:guest-clock=core")
    task = recording.Task(cast(Subject, None), board, tmp_path, "init")
    assert recording.counting(task).limits.timing == ()
    assert core_of(board) is None
    assert clock_core_of(board) == core_of(load_board("cubieboard:core=cortex-a8:dram=2x"))
    (price,) = (line for line in core_clock.lines(board, tmp_path, None) if line.startswith("price "))
    words = price.split()
    assert len(words) == 2 + len(Count) and int(words[1]) == 970
    assert int(words[2 + Count.FETCH_MEMORY]) == 92_000
    with pytest.raises(UserError, match="its boots are not counted"):
        timing_pass.check(board, load_core("cortex-a8"))


def test_caches_that_are_only_thought_of_are_in_no_clock(tmp_path: Path) -> None:
    board = load_board("cubieboard:core=cortex-a8:dcache=on-in-spl:guest-clock=core")
    with pytest.raises(UserError, match="cannot have one on or off in spl"):
        core_clock.lines(board, tmp_path, None)


def test_boots_with_another_clock_are_told_apart() -> None:
    clock, other, counted = (
        load_board(f"cubieboard:core=cortex-a8{more}")
        for more in (":guest-clock=core", ":dram=2x:guest-clock=core", "")
    )
    assert same_clock(clock, load_board("cubieboard:core=cortex-a8:guest-clock=core:card=2x"))
    assert same_clock(PLAIN, counted)
    assert not same_clock(clock, other) and not same_clock(clock, counted) and not same_clock(PLAIN, clock)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ('guest_clock = "core"', "guest_clock: expected instructions, as the board names no core"),
        ('guest_clock = "sundial"', "guest_clock: expected one of instructions, core"),
        (
            'core = "cortex-a8"\nguest_clock = "core"\n'
            'cpu_scale_ppm = { value = 1_100_000, source = "a test" }',
            "cpu_scale_ppm.value: expected 1000000",
        ),
    ],
)
def test_a_profile_with_a_clock_that_cannot_be_is_refused(lines: str, told: str, tmp_path: Path) -> None:
    text = (board_dir() / "cubieboard.toml").read_text()
    text = re.sub(r"^core = .*\n", "", text, flags=re.MULTILINE)
    path = tmp_path / "mine.toml"
    path.write_text(text.replace("schema = 1\n", f"schema = 1\n{lines}\n"))
    with pytest.raises(UserError, match=told):
        load_board(str(path))


def test_the_core_of_a_profile_is_left_out_where_the_user_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CORE_VARIABLE)
    board = load_board("cubieboard")
    assert (board.core, core_of(board)) == ("cortex-a8", load_core("cortex-a8"))
    without = load_board("cubieboard:core=none")
    assert (without.name, core_of(without)) == ("cubieboard:core=none", None)
    assert core_of(load_board("cubieboard:core=none:card=2x:core=cortex-a9")) == load_core("cortex-a9")
    monkeypatch.setenv(CORE_VARIABLE, "none")
    assert load_board("cubieboard") == msgspec.structs.replace(without, name="cubieboard")
    assert core_of(load_board("cubieboard:core=cortex-a8")) == load_core("cortex-a8")
    monkeypatch.setenv(CORE_VARIABLE, "cortex-a9")
    with pytest.raises(UserError, match="BOOTSCOPE_CORE is 'cortex-a9', and can only be 'none'"):
        load_board("cubieboard")


def test_a_clock_that_follows_a_core_does_not_lose_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = (board_dir() / "cubieboard.toml").read_text()
    path = tmp_path / "mine.toml"
    path.write_text(text.replace("schema = 1\n", 'schema = 1\nguest_clock = "core"\n'))
    monkeypatch.setenv(CORE_VARIABLE, "none")
    assert clock_core_of(load_board(str(path))) == load_core("cortex-a8")
    with pytest.raises(UserError, match="guest-clock=core needs a core: core=none cannot follow it"):
        load_board(f"{path}:core=none")


@pytest.mark.parametrize(
    ("name", "asks"),
    [
        ("cubieboard", False),
        ("cubieboard:card=2x", False),
        ("cubieboard:core=none", False),
        ("cubieboard:core=cortex-a9", True),
        ("cubieboard:card=2x:l2=off", True),
    ],
)
def test_which_names_ask_for_a_core(name: str, asks: bool) -> None:
    assert asks_for_core(name) == asks


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("cubieboard:", "unknown change of a board"),
        ("cubieboard:colour=red", "unknown change of a board 'colour'"),
        ("cubieboard:card=0x", "must be positive"),
        ("cubieboard:card=golden", "unknown card class 'golden'"),
        ("cubieboard:clock=3x", "cannot have clock=3x"),
        ("cubieboard:clock=2x", "without a core it can have 0.5x, 0.25x"),
        ("cubieboard:dram=2x", "modelled without one"),
        ("cubieboard:core=sifive-u54", "of architecture riscv64"),
        ("cubieboard:core=cortex-a8:dram=bananas", "bananas"),
        ("cubieboard:" + ":".join(["clock=0.25x"] * 5), "cannot have clock=0.25x"),
        ("cubieboard:core=cortex-a99", "unknown core"),
        ("cubieboard:core=cortex-a53", "of architecture arm64"),
        ("cubieboard:guest-clock=core", "needs a core, and cubieboard is modelled without one"),
        ("cubieboard:core=cortex-a8:guest-clock=sundial", "unknown guest clock 'sundial'"),
        ("nowhere:card=2x", "unknown board 'nowhere'"),
    ],
)
def test_what_a_board_cannot_be_is_refused(name: str, told: str) -> None:
    with pytest.raises(UserError, match=told):
        load_board(name)


@pytest.mark.parametrize("change", ["clock=2x", "dram=2x", "core=cortex-a53"])
def test_all_cores_that_a_board_may_have_are_named(change: str) -> None:
    with pytest.raises(UserError) as caught:
        load_board(f"cubieboard:{change}")
    hint = caught.value.hint or ""
    assert "cubieboard:core=CORE" in hint
    assert "cortex-a8," in hint
    assert "cortex-a53" not in hint
