# SPDX-License-Identifier: Apache-2.0
"""`record --probe`: every call and return of functions that the user names, in a boot that stays the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.command import Bootscope

pytestmark = pytest.mark.boot
Recorded = tuple[Bootscope, dict[str, Any]]
AN_INSTRUCTION_NS = 2
LONGEST_RETURN_NS = 20 * AN_INSTRUCTION_NS
"""From the instruction that returns to the first one after the call; it may take registers off the stack."""


def tables(command: Bootscope, *words: str) -> dict[str, list[dict[str, Any]]]:
    """The rows of a view's tables, by the tables' names."""
    shown = command.json("show", "--view", *words, "--top", "100000")
    return {table["name"]: table["rows"] for table in shown["tables"]}


def test_the_boot_is_the_same_to_the_nanosecond(debian: Recorded, probed: Recorded) -> None:
    assert probed[0].json("show")["milestones"] == debian[0].json("show")["milestones"]


def test_calls_are_those_that_the_recorder_sees_by_itself(probed: Recorded) -> None:
    """The recorder has hooks of its own where drivers are probed: the same calls, and the same ends."""
    calls = [row for row in tables(probed[0], "probes")["calls"] if row["what"] == "kernel:really_probe"]
    seen = [row for row in tables(probed[0], "initcalls")["initcalls"] if row["kind"] == "probe"]
    assert len(calls) == len(seen) > 10
    for call, known in zip(calls, sorted(seen, key=lambda row: row["start_ns"]), strict=True):
        assert call["start_ns"] == known["start_ns"] and call["task"] == known["task"]
        assert 0 <= call["end_ns"] - known["end_ns"] <= LONGEST_RETURN_NS
        assert call["caller"] == "__driver_probe_device" and call["arguments"].startswith("0xc")


def test_a_call_that_sleeps_returns_to_the_task_that_made_it(probed: Recorded) -> None:
    found = tables(probed[0], "probes")
    calls = [row for row in found["calls"] if row["what"] == "kernel:schedule"]
    returned = [row for row in calls if row["result"] != "not returned"]
    assert len(returned) > 500
    assert all(row["cpu_ns"] <= row["total_ns"] for row in returned)
    # Somebody else has the CPU meanwhile.
    assert any(row["total_ns"] > 100 * row["cpu_ns"] > 0 for row in returned)
    sums = {row["what"]: row for row in found["probes"]}
    assert sums["kernel:schedule"]["times"] == len(calls)
    assert sums["kernel:kobject_put"]["times"] > 0
    # Calls of one task lie in each other or follow each other.
    ends: list[tuple[str, int]] = []
    for row in (row for row in returned if row["task"] == "kernel_init[1]"):
        while ends and ends[-1][1] <= row["start_ns"]:
            ends.pop()
        assert not ends or row["end_ns"] <= ends[-1][1]
        ends.append((row["task"], row["end_ns"]))


def test_calls_are_in_the_trace_for_other_programs(probed: Recorded, tmp_path: Path) -> None:
    out = tmp_path / "boot.json"
    probed[0].run("export", "--format", "chrome", "-o", str(out))
    assert "kernel:really_probe" in out.read_text()


def test_a_function_that_is_not_there_is_named(bootscope: Bootscope) -> None:
    done = bootscope.run("record", "debian", "--probe", "really_prob")
    assert done.returncode == 2
    assert "no function really_prob in" in done.stderr and "really_probe" in done.stderr
    done = bootscope.run("record", "debian", "--probe", "kernl:really_probe")
    assert done.returncode == 2
    assert "unknown program 'kernl'" in done.stderr and "kernel" in done.stderr
    done = bootscope.run("record", "debian", "--probe", "really probe\n1")
    assert done.returncode == 2
    assert "not the name of a function" in done.stderr
    # Nothing of it was kept.
    assert bootscope.json("list")["runs"] == []


def test_a_recording_of_no_functions_says_how_to_make_one(debian: Recorded) -> None:
    done = debian[0].run("show", "--view", "probes")
    assert done.returncode == 2
    assert "--probe SYMBOL" in done.stderr
