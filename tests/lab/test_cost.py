# SPDX-License-Identifier: Apache-2.0
"""What recording may cost: the benchmark's bound, kept."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .conftest import Bootscope, environment

pytestmark = pytest.mark.boot
BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "plugin_cost.py"


def test_the_plugin_costs_at_most_twice_plain_qemu(built: dict[str, Any]) -> None:
    done = subprocess.run(
        [sys.executable, str(BENCHMARK), "1"], env=environment(), capture_output=True, text=True, check=False
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_recording_takes_less_than_three_minutes(stock: tuple[Bootscope, dict[str, Any]]) -> None:
    boots = [Path(boot["path"], "boot.json").read_text() for boot in stock[1]["boots"]]
    times_ms = [int(text.partition('"host_ms": ')[2].partition(",")[0]) for text in boots]
    assert max(times_ms) < 180_000
