# SPDX-License-Identifier: Apache-2.0
"""A search on a user's own board that was cut off goes on: nothing that was measured is measured again."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from .conftest import Bootscope, Make
from .desk import Desk, desk

PRODUCT = ("--product", "images/card.img")
ONLY = "uboot-bootdelay,kernel-no-smp"
SEARCH = ("optimize", "mine", "--only", ONLY, "-n", "3")
RESUME = ("optimize", "mine", "--resume")


@pytest.fixture
def mine(bootscope: Bootscope, fake: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A user's desk."""
    monkeypatch.setenv("BOOTSCOPE_CACHE", str(tmp_path / "cache"))
    found = desk(bootscope, fake, tmp_path)
    found.imported(*PRODUCT)
    return found


def said(mine: Desk, *words: str) -> dict[str, Any]:
    """A search as JSON."""
    found: dict[str, Any] = json.loads(mine.bootscope(*words, "--json")[0])
    return found


def runs(mine: Desk) -> dict[str, int]:
    """The recordings, and how many boots each has."""
    return {run["run_id"]: run["boots"] for run in mine.bootscope.json("list")["runs"]}


def results(found: dict[str, Any]) -> dict[str, Any]:
    """What a search came to, but for how much of it was measured now."""
    return {key: value for key, value in found.items() if key != "measured"}


def test_a_search_that_was_whole_is_found_again_whole(mine: Desk) -> None:
    first = said(mine, *SEARCH)
    assert first["measured"] == 1
    kept, switched = runs(mine), mine.board.switched_on
    again = said(mine, *RESUME)
    assert again["measured"] == 0
    assert results(again) == results(first)
    assert (runs(mine), mine.board.switched_on) == (kept, switched)
    # A build that failed is not made again either: only the system without changes, to know what is there.
    assert mine.builds[-1] == "base"
    assert mine.at_base
    # Whoever does not ask to go on gets new boots.
    assert said(mine, *SEARCH)["measured"] == 1
    assert len(runs(mine)) > len(kept)


def test_what_was_measured_otherwise_is_measured_again(mine: Desk) -> None:
    said(mine, *SEARCH)
    assert said(mine, *RESUME, "--rounds", "2", "--until-text", "login")["measured"] == 1
    # Options are those of the last search, where they are not given.
    assert said(mine, *RESUME)["measured"] == 0
    mine.imported(*PRODUCT, "--check", "true")
    assert said(mine, *RESUME)["measured"] == 1


def test_a_tree_that_has_changed_is_measured_again(mine: Desk) -> None:
    said(mine, *SEARCH)
    with (mine.tree / "u-boot/.config").open("a") as config:
        config.write("# new\n")
    _, err = mine.bootscope(*RESUME)
    assert "images without changes differ from last time" in err
    assert "already measured" not in err


def test_a_recording_that_is_gone_is_made_again(mine: Desk) -> None:
    first = said(mine, *SEARCH)
    (gone,) = [e["variant"] for e in first["experiments"] if e["variant"]]
    mine.bootscope("rm", gone)
    again = said(mine, *RESUME)
    assert again["measured"] == 1
    assert gone not in [e["variant"] for e in again["experiments"]]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_boots_of_a_comparison_that_was_cut_off_are_kept(mine: Desk, how: signal.Signals) -> None:
    search = mine.bootscope.start(*SEARCH, "--json")
    until = time.monotonic() + 60
    while mine.board.switched_on < 4:
        assert time.monotonic() < until
        assert search.poll() is None
        time.sleep(0.01)
    search.send_signal(how)
    search.communicate(timeout=30)
    before = runs(mine)
    whole = {run["run_id"]: run["complete"] for run in mine.bootscope.json("list")["runs"]}
    switched = mine.board.switched_on
    found = said(mine, *RESUME)
    assert found["measured"] == 1
    after = {run["run_id"]: run["complete"] for run in mine.bootscope.json("list")["runs"]}
    assert before.keys() <= after.keys()
    # One first boot, and a comparison of three boots each; each of them once, whatever came between.
    assert sum(after.values()) == 1 + 2 * 3
    assert mine.board.switched_on - switched == sum(after.values()) - sum(whole.values())


def test_what_cannot_be_gone_on_with_is_told(
    bootscope: Bootscope, fake: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOOTSCOPE_CACHE", str(tmp_path / "cache"))
    mine = desk(bootscope, fake, tmp_path)
    mine.imported()
    assert "there is no search of mine to continue" in mine.bootscope(*RESUME, status=2)[1]
    mine.bootscope("optimize", "mine", "--only", "kernel-no-smp", "-n", "3")
    assert "--resume needs to know which images were booted" in mine.bootscope(*RESUME, status=2)[1]
