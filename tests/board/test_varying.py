# SPDX-License-Identifier: Apache-2.0
"""Boots of boards vary: measured runs compared and checked."""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import HELLO, Bootscope, FakeBoard, Make

PANIC = b"\r\nU-Boot SPL 2025.01 (Nov 21 2026)\r\nKernel panic - not syncing: VFS: no root\r\n"


def test_a_slower_build_is_told_from_the_same_one(bootscope: Bootscope, fake: Make, tmp_path: Path) -> None:
    # 12 lines: about 0.25 s for the first four boots, about 0.6 s for the others, of which one panics.
    def plan(board: FakeBoard) -> None:
        pause_s = 0.02 if board.switched_on <= 4 else 0.05
        board.says(PANIC if board.switched_on == 7 else HELLO, pause_s)

    board = fake(plan)
    before = bootscope.record(board, "-n", "4", "--power-off", "true")["run_id"]
    after = bootscope.record(board, "-n", "5", "--power-off", "true", status=3)["run_id"]
    found = bootscope.json("compare", before, after)
    assert found["kind"] == "compare-boots"
    assert (found["goal"]["name"], found["goal"]["verdict"]) == ("login", "slower")
    assert found["goal"]["low_ns"] > 100_000_000
    assert [boot["complete"] for boot in found["b"]["boots"]] == [True, True, False, True, True]
    assert "B: 1 of 5 boots did not reach login: excluded from all figures" in found["notes"]
    bootscope("compare", before, before, status=2)

    (tmp_path / "check.toml").write_text(
        '[budget]\nlogin = "10 s"\n[baseline]\nfile = "b.json"\nmax_regression = "5 %"\n'
    )
    check = str(tmp_path / "check.toml")
    bootscope("check", before, "--save-baseline", str(tmp_path / "b.json"))
    assert json.loads((tmp_path / "b.json").read_text())["until"] == "login"
    kept = bootscope.json("check", before, "-f", check)
    assert kept["kept"]
    missed = bootscope.json("check", after, "-f", check, status=3)
    statuses = {f["what"]: (f["status"], f["words"].partition(" (")[0]) for f in missed["findings"]}
    assert statuses["boots"] == ("missed", "4 of 5 boots reached login")
    assert statuses["budget"][0] == "ok"
    assert statuses["baseline"][0] == "missed"


def test_boots_until_a_silence_are_complete_and_judged_by_their_last_milestone(
    bootscope: Bootscope, fake: Make
) -> None:
    board = fake(lambda b: b.says(HELLO.replace(b"login: ", b"ready\n")))
    how = ("-n", "3", "--power-off", "true", "--until-silence", "0.5")
    before, after = (bootscope.record(board, *how)["run_id"] for _ in range(2))
    found = bootscope.json("compare", before, after)
    assert [boot["complete"] for boot in found["a"]["boots"]] == [True] * 3
    assert found["goal"]["name"] == "init"
