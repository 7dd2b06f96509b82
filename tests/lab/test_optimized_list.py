# SPDX-License-Identifier: Apache-2.0
"""The list that a search accepted is one that `try` takes, and gives the search's own figure."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.command import ROOT, Bootscope

pytestmark = [pytest.mark.boot, pytest.mark.campaign]
FILES = {
    "stock": "optimized.json",
    "debian-arm64": "optimized-arm64.json",
    "debian-riscv64": "optimized-riscv64.json",
    "debian-systemd": "optimized-systemd.json",
}
AT_LEAST = {"stock": 30, "debian-arm64": 25, "debian-riscv64": 25, "debian-systemd": 5}
"""How many times as fast, from the first instruction that is seen."""


@pytest.mark.parametrize("system", FILES)
def test_try_takes_what_optimize_accepted(bootscope: Bootscope, system: str) -> None:
    path = ROOT / "src/bootscope/techniques" / FILES[system]
    searched: dict[str, Any] = json.loads(path.read_text())
    told = bootscope.json("try", *searched["accepted"], "--system", system)
    # The picture is compared as well; with systemd, login and network are asked for, too.
    assert told["works"], told["faults"]
    rom_ns = next(phase["a_ns"] for phase in told["phases"] if phase["name"] == "rom")
    assert (told["base_ns"] - rom_ns) / (told["variant_ns"] - rom_ns) > AT_LEAST[system]
    # Where the system itself comes out the same to the nanosecond, compiler and sources are the same.
    if told["base_ns"] == searched["base_ns"]:
        assert told["variant_ns"] == searched["final_ns"]
    else:
        assert told["variant_ns"] == pytest.approx(searched["final_ns"], rel=0.05)
