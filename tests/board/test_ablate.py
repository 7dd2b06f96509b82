# SPDX-License-Identifier: Apache-2.0
"""At the end of a search on a user's own board, what was accepted is taken away again, one at a time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import HELLO, Bootscope, FakeBoard, Make
from .desk import FAST, SLOW, Desk, desk

THUMB = SLOW
ONLY = "kernel-thumb2,uboot-bootdelay"
SEARCH = ("optimize", "mine", "--only", ONLY, "-n", "5", "--ablate")


@pytest.fixture
def mine(bootscope: Bootscope, fake: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A user's desk, with a board on which one of two techniques is worth nothing beside the other."""
    monkeypatch.setenv("BOOTSCOPE_CACHE", str(tmp_path / "cache"))
    found = desk(bootscope, fake, tmp_path)
    found.imported("--product", "images/card.img")

    def plan(board: FakeBoard) -> None:
        image = found.card.read_text()
        thumb, fast = THUMB in image, FAST in image
        board.says(HELLO, (0.05 if thumb else 0.005) if fast else 0.09 if thumb else 0.13)

    found.board.plan = plan
    return found


def test_what_is_worth_nothing_beside_the_others_goes(mine: Desk, tmp_path: Path) -> None:
    folder = tmp_path / "shorter"
    found = json.loads(mine.bootscope(*SEARCH, "-o", str(folder), "--json")[0])
    came = [e["technique"] for e in found["experiments"] if e["accepted"]]
    assert came == ["kernel-thumb2", "uboot-bootdelay"]
    worth = {w["technique"]: w for w in found["ablation"]}
    thumb = worth["kernel-thumb2"]
    assert thumb["dropped"]
    assert thumb["worth_ns"] < 0
    assert thumb["high_ns"] < 0
    assert thumb["run_id"]
    # What is left alone was measured alone, and need not be taken away.
    assert worth.keys() == {"kernel-thumb2"} or not worth["uboot-bootdelay"]["dropped"]
    assert found["accepted"] == ["uboot-bootdelay"]
    # What the rest is worth together was measured without what went.
    assert found["whole"]["techniques"] == ["uboot-bootdelay"]
    assert found["final_ns"] < found["base_ns"]
    assert (folder / "uboot.config").exists()
    assert not (folder / "kernel.config").exists()
    assert mine.at_base


def test_what_the_others_need_stays(mine: Desk) -> None:
    def plan(board: FakeBoard) -> None:
        image = mine.card.read_text()
        thumb, fast = THUMB in image, FAST in image
        # Without it, the fast one does not come up.
        if fast and not thumb:
            board.says(b"U-Boot SPL 2025.01\r\nKernel panic - not syncing: no\r\n")
        else:
            board.says(HELLO, 0.005 if fast else 0.05 if thumb else 0.09)

    mine.board.plan = plan
    out, err = mine.bootscope(*SEARCH)
    assert "without kernel-thumb2: it did not boot, twice: panic" in err
    assert "without kernel-thumb2: it did not boot, twice: panic" in out
    assert "without uboot-bootdelay: " in out
    assert "taken out" not in out
    assert "accepted: kernel-thumb2 uboot-bootdelay" in out
