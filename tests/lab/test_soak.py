# SPDX-License-Identifier: Apache-2.0
"""Power cuts of the reference system, whose root is an ext4 that is mounted for writing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bootscope.soak.card import regions
from tests.command import Bootscope

pytestmark = [pytest.mark.boot, pytest.mark.long]


def test_a_cut_leaves_a_journal_and_the_next_boot_replays_it(
    stock: tuple[Bootscope, dict[str, Any]], bootscope: Bootscope, tmp_path: Path
) -> None:
    card = tmp_path / "card.img"
    found = bootscope.json("soak", "stock", "-n", "1", "--from", "init", "-o", card)
    assert found["good"]
    # The card is another file, which is written to, and no function of the target is hooked. The boot is the
    # same: explaining one does not change it.
    command, explained = stock
    run = bootscope.store / "runs" / found["run_id"]
    assert found["reached_ns"] == explained["boots"][0]["reached_ns"]
    assert bootscope.json("show", f"{found['run_id']}/001")["phases"] == command.json("show")["phases"]
    assert len((run / "boots/001/stream.bin").read_bytes()) < len(command.stream(explained))
    (cut,) = found["cuts"]
    assert "the power was cut at" in cut["message"]
    left = {one["where"]: (one["kind"], one["state"], one["words"]) for one in cut["left"]}
    assert left == {"p1": ("FAT", "unchanged", ""), "p2": ("ext4", "pending", "journal to replay")}
    assert found["reached_ns"] < cut["next_reached_ns"] < found["reached_ns"] + 2_000_000_000
    assert "EXT4-fs (mmcblk0p2): recovery complete" in (run / "boots/003/console.txt").read_text()
    assert [one.kind for one in regions(card)] == ["FAT", "ext4"]
    assert bootscope.json("list")["runs"][0]["boots"] == 3


@pytest.mark.campaign
def test_the_same_seed_gives_the_same_soak(bootscope: Bootscope) -> None:
    first, second = (bootscope.json("soak", "stock", "-n", "2", "--seed", "7") for _ in range(2))
    assert first.pop("run_id") != second.pop("run_id")
    assert first == second
