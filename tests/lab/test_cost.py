# SPDX-License-Identifier: Apache-2.0
"""What recording may cost: the benchmark's bound, kept."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .conftest import Bootscope, environment

pytestmark = [pytest.mark.boot, pytest.mark.alone]
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
BENCHMARK = BENCHMARKS / "plugin_cost.py"


def test_the_plugin_costs_at_most_twice_plain_qemu(built: dict[str, Any]) -> None:
    done = subprocess.run(
        [sys.executable, str(BENCHMARK), "1"], env=environment(), capture_output=True, text=True, check=False
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_recording_takes_less_than_three_minutes(bootscope: Bootscope) -> None:
    boots = bootscope.json("record", "stock")["boots"]
    text = Path(boots[0]["path"], "boot.json").read_text()
    assert int(text.partition('"host_ms": ')[2].partition(",")[0]) < 180_000


def test_what_was_recorded_is_shown_and_audited_at_once(stock: tuple[Bootscope, dict[str, Any]]) -> None:
    """From the first call on: `record` has left nothing to be worked out."""
    bootscope, recorded = stock
    assert len(list(Path(recorded["boots"][0]["path"], "index").iterdir())) > 10
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "startup.py"), "--check"],
        env=environment(bootscope.store),
        capture_output=True,
        text=True,
        check=False,
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("times python -c pass") == 12
