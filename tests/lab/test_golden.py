# SPDX-License-Identifier: Apache-2.0
"""The reference system's figures are those of earlier versions, to the nanosecond."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.command import ROOT, Bootscope
from tests.golden.figures import figures

STOCK = ROOT / "tests/golden/stock.json"
Stock = tuple[Bootscope, dict[str, Any]]


@pytest.fixture(scope="module")
def kept() -> dict[str, Any]:
    """What was kept: `build`, the id of the card that was booted, and its `figures`."""
    found: dict[str, Any] = json.loads(STOCK.read_text())
    return found


def test_the_figures_are_those_that_were_kept(
    stock: Stock, built: dict[str, Any], kept: dict[str, Any]
) -> None:
    bootscope, recorded = stock
    found = figures(bootscope.json, recorded["run_id"])
    # What was kept was recorded before anybody looked for it.
    lit_ns, reached = found["milestones"].pop("first-light"), found["milestones"]
    assert reached["application"] < lit_ns < reached["first-frame"]
    if built["build_id"] == kept["build"]:
        # What goes with a kernel's symbols is read off its sources, which a cache need not have any more.
        savings, known = found.pop("savings_ns"), kept["figures"].pop("savings_ns")
        assert found == kept["figures"]
        # Techniques and models that came later have no figure that was kept.
        predicted = {name: ns for name, ns in savings.items() if name in known}
        assert {n: ns for n, ns in known.items() if n in savings or not n.startswith("kernel-")} == predicted
        return
    # Other compilers make another kernel: its boot takes about as long, and is told in the same words.
    assert found["milestones"].keys() == kept["figures"]["milestones"].keys()
    assert found["phases"].keys() == kept["figures"]["phases"].keys()
    frame = kept["figures"]["milestones"]["first-frame"]
    assert found["milestones"]["first-frame"] == pytest.approx(frame, rel=0.02)
