# SPDX-License-Identifier: Apache-2.0
"""What recording may cost: the benchmark's bound, kept."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.command import environment

pytestmark = [pytest.mark.boot, pytest.mark.alone]
BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "plugin_cost.py"


def test_the_plugin_costs_at_most_twice_plain_qemu_and_a_boot_three_minutes(built: dict[str, Any]) -> None:
    done = subprocess.run(
        [sys.executable, str(BENCHMARK), "1"], env=environment(), capture_output=True, text=True, check=False
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    (took,) = re.findall(r"recorded ([\d.]+) s", done.stdout)
    assert float(took) < 180
