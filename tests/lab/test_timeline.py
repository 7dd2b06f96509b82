# SPDX-License-Identifier: Apache-2.0
"""A real boot, understood: phases, splits, milestones, picture."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.command import Bootscope

pytestmark = pytest.mark.boot
PARTS = ("cpu_ns", "storage_ns", "console_ns", "idle_ns", "fixed_ns")
PHASES = ["rom", "spl", "bootloader", "load", "decompress", "kernel", "init", "application"]


def assert_adds_up(shown: dict[str, Any]) -> None:
    """Phases tile the boot without a gap, and parts add up to their phase, exactly."""
    at_ns = 0
    for phase in shown["phases"]:
        assert phase["start_ns"] == at_ns
        assert sum(phase[part] for part in PARTS) == phase["end_ns"] - phase["start_ns"]
        assert all(phase[part] >= 0 for part in PARTS)
        at_ns = phase["end_ns"]
    assert at_ns == shown["total_ns"]


def test_phases_and_their_parts_add_up_exactly(stock: tuple[Bootscope, dict[str, Any]]) -> None:
    shown = stock[0].json("show")
    assert [phase["name"] for phase in shown["phases"]] == PHASES
    assert_adds_up(shown)
    assert shown["milestones"]["first-frame"] == shown["total_ns"]


def test_consumers_account_for_the_whole_boot(stock: tuple[Bootscope, dict[str, Any]]) -> None:
    shown = stock[0].json("show", "--top", "100000")
    assert sum(consumer["ns"] for consumer in shown["consumers"]) == shown["total_ns"]


def test_the_boot_delay_is_seen_in_the_boot_loader(stock: tuple[Bootscope, dict[str, Any]]) -> None:
    """The board's U-Boot waits two seconds for a key: a figure that is known beforehand."""
    lines = Path(stock[1]["boots"][0]["path"], "console.txt").read_bytes().splitlines()
    stamps = {
        name: float(line[1:13])
        for line in lines
        for name in (b"Hit any key", b"switch to partitions")
        if name in line
    }
    assert stamps[b"switch to partitions"] - stamps[b"Hit any key"] == pytest.approx(2.0, abs=0.05)


def test_the_picture_is_the_test_card(stock: tuple[Bootscope, dict[str, Any]]) -> None:
    data = Path(stock[1]["boots"][0]["path"], "screen.png").read_bytes()
    width, height = struct.unpack(">II", data[16:24])
    assert (width, height) == (800, 480)
    at = data.index(b"IDAT")
    (size,) = struct.unpack(">I", data[at - 4 : at])
    rows = zlib.decompress(data[at + 4 : at + 4 + size])

    def pixel(x: int, y: int) -> tuple[int, ...]:
        start = y * (1 + 3 * width) + 1 + 3 * x
        return tuple(rows[start : start + 3])

    bars = [pixel(100 * bar + 30, 20) for bar in range(8)]
    assert bars == [
        (255, 255, 255), (255, 255, 0), (0, 255, 255), (0, 255, 0),
        (255, 0, 255), (255, 0, 0), (0, 0, 255), (16, 16, 16),
    ]  # fmt: skip
    assert pixel(410, 420) == (130, 130, 130)


def test_costs_can_be_counted_anew_for_another_card(
    stock: tuple[Bootscope, dict[str, Any]], tmp_path: Path
) -> None:
    command = stock[0]
    slow = command.json("show")
    board = Path(__file__).parents[2] / "src/bootscope/boards.d/cubieboard.toml"
    ideal = tmp_path / "ideal.toml"
    ideal.write_text(board.read_text().replace('card_class = "slow-sd"', 'card_class = "ideal"'))
    fast = command.json("show", "--board", str(ideal))
    assert_adds_up(fast)
    storage_ns = sum(phase["storage_ns"] for phase in slow["phases"])
    left_ns = sum(phase["storage_ns"] for phase in fast["phases"])
    assert storage_ns > 500_000_000 > 1_000_000 > left_ns
    console_ns = [sum(phase["console_ns"] for phase in shown["phases"]) for shown in (slow, fast)]
    assert slow["total_ns"] - fast["total_ns"] == storage_ns - left_ns + console_ns[0] - console_ns[1]


@pytest.mark.campaign
def test_a_silent_kernel_is_split_as_well(bootscope: Bootscope, variant: Callable[..., Path]) -> None:
    quiet = variant(("rootwait rw", "rootwait rw quiet loglevel=0"))
    recorded = bootscope.json("record", quiet)
    shown = bootscope.json("show")
    assert recorded["complete"]
    assert [phase["name"] for phase in shown["phases"]] == PHASES
    assert_adds_up(shown)
    console = Path(recorded["boots"][0]["path"], "console.bin").read_bytes()
    assert b"Linux version" not in console
    kernel = shown["phases"][PHASES.index("kernel")]
    assert kernel["console_ns"] == 0
