# SPDX-License-Identifier: Apache-2.0
"""The application, compiled with a profile that was counted in a boot: it computes for a shorter time."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.command import Bootscope

pytestmark = pytest.mark.boot

TECHNIQUE = "app-profile-hot-code"
LEAST_SAVING_NS = 50_000_000
"""Stock's application computes for 82 ms."""


def test_a_profile_of_a_boot_makes_the_application_faster(
    stock: tuple[Bootscope, dict[str, Any]], tmp_path: Path
) -> None:
    bootscope = Bootscope(shutil.copytree(stock[0].store, tmp_path / "store"))
    tried = bootscope.json("try", TECHNIQUE)
    assert tried["base"] == stock[1]["run_id"]
    assert tried["works"], tried["faults"]
    assert tried["saving_ns"] > LEAST_SAVING_NS
    shorter = {phase["name"] for phase in tried["phases"] if phase["a_ns"] - phase["b_ns"] > 1_000_000}
    assert shorter == {"application"}
    # The profile is kept: nothing is built or booted again, by a search neither.
    runs = bootscope.json("list")["runs"]
    assert [run["system"] for run in runs] == ["stock", "stock.training", "stock.try"]
    found = bootscope.json("optimize", "stock", "--only", TECHNIQUE)
    assert (found["accepted"], found["run_id"]) == ([TECHNIQUE], tried["variant"])
    assert bootscope.json("list")["runs"] == runs
