# SPDX-License-Identifier: Apache-2.0
"""The list that a search accepted is one that `try` takes, and gives the search's own figure."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.command import ROOT, Bootscope

pytestmark = [pytest.mark.boot, pytest.mark.long]


@pytest.mark.parametrize(
    ("system", "kept"), [("stock", "optimized"), ("debian-systemd", "optimized-systemd")]
)
def test_try_takes_what_optimize_accepted(bootscope: Bootscope, system: str, kept: str) -> None:
    """With systemd that asks for login and network, too."""
    searched: dict[str, Any] = json.loads((ROOT / f"src/bootscope/techniques/{kept}.json").read_text())
    told = bootscope.json("try", *searched["accepted"], "--system", system)
    assert told["works"]
    # Where the reference system comes out the same to the nanosecond, compiler and sources are the same.
    if told["base_ns"] == searched["base_ns"]:
        assert told["variant_ns"] == searched["final_ns"]
    else:
        assert told["variant_ns"] == pytest.approx(searched["final_ns"], rel=0.05)
