# SPDX-License-Identifier: Apache-2.0
"""Techniques on real boots: what the audit predicts is what a try measures."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.command import Bootscope

pytestmark = pytest.mark.boot
TECHNIQUE = "init-replace-by-app"


def test_what_the_audit_predicts_is_what_a_try_measures(
    stock: tuple[Bootscope, dict[str, Any]], tmp_path: Path
) -> None:
    """Within a fifth of the saving; the picture and the milestone stay; asked again, nothing is booted."""
    bootscope = Bootscope(shutil.copytree(stock[0].store, tmp_path / "store"))
    tried = bootscope.json("try", TECHNIQUE)
    assert tried["base"] == stock[1]["run_id"]
    assert tried["works"], tried["faults"]
    assert tried["base_ns"] - tried["variant_ns"] == tried["saving_ns"] > 2_000_000_000
    findings = {f["technique"]: f for f in bootscope.json("audit", tried["base"])["techniques"]}
    assert findings[TECHNIQUE]["saving_ns"] == pytest.approx(tried["saving_ns"], rel=0.2)
    # A system that has it is not told to do it.
    assert TECHNIQUE in bootscope.json("audit", tried["variant"])["not_applicable"]
    assert bootscope.json("try", TECHNIQUE) == tried
    assert len(bootscope.json("list")["runs"]) == 2
    found = bootscope.json("optimize", "stock", "--only", TECHNIQUE)
    assert found["accepted"] == [TECHNIQUE]
    assert (found["run_id"], found["ended"]) == (tried["variant"], "nothing is left to try")
    assert found["base_ns"] - found["final_ns"] == tried["saving_ns"]
    assert found["floor"]["floor_ns"] < found["final_ns"]
    # All of it was known from the tries, and is so from now on.
    out = tmp_path / "shorter"
    again = bootscope.json("optimize", "stock", "--resume", "-o", out)
    assert {**again, "host_s": 0} == {**found, "host_s": 0}
    assert again["measured"] == 0
    written = ["README.md", "command-line-words.txt", "command-line.txt", "report.html"]
    assert sorted(path.name for path in out.iterdir()) == written
    assert len(bootscope.json("list")["runs"]) == 2
