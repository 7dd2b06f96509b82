# SPDX-License-Identifier: Apache-2.0
"""`debug`: a recorded boot stands still at a moment, and is looked at."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from bootscope.core.process import search_path
from tests.command import Bootscope

pytestmark = pytest.mark.boot
Recorded = tuple[Bootscope, dict[str, Any]]


def hook_address(recorded: dict[str, Any], name: str) -> int:
    """The address of the first hook of that name."""
    boot = Path(recorded["boots"][0]["path"])
    hooks = json.loads((boot.parents[1] / "run.json").read_text())["watch"]["hooks"]
    number = min(int(n) for n, known in hooks.items() if known == name)
    found = re.search(rf"^hook {number} (0x[0-9a-f]+) ", (boot / "watch.txt").read_text(), re.MULTILINE)
    assert found
    return int(found[1], 16)


def test_at_a_milestone_the_cpu_is_before_the_instruction_that_is_it(debian: Recorded) -> None:
    command, recorded = debian
    shown = command.json("debug", "last", "--at", "init")
    assert shown["at_ns"] == command.json("show")["milestones"]["init"]
    assert shown["phase"] == "init" and shown["exact"] and shown["inside"] is None
    (cpu,) = shown["cpus"]
    assert cpu["where"] == "kernel run_init_process" and cpu["who"] == "kernel_init[1]"
    assert cpu["registers"]["pc"] == hook_address(recorded, "kernel.init")
    assert shown["events"] > 1000 and shown["virtual_ns"] < shown["at_ns"]
    # Looking changes nothing of what is kept.
    assert [run["run_id"] for run in command.json("list")["runs"]] == [recorded["run_id"]]


def test_gdb_sees_calls_by_name_or_is_said_to_be_missing(debian: Recorded) -> None:
    done = debian[0].run("debug", "last", "--at", "init", "--run", "bt", "--run", "x/i $pc")
    if shutil.which("gdb-multiarch", path=search_path()):
        assert done.returncode == 0, done.stderr
        assert re.search(r"#0 +0x[0-9a-f]+ in run_init_process \(\)\n#1 .* in .*\(\)", done.stdout)
        assert "<run_init_process>" in done.stdout
        assert "each at the same nanosecond" in done.stdout
    else:
        assert done.returncode == 3
        assert "gdb-multiarch is missing" in done.stderr and "without --run" in done.stderr
