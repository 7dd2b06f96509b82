# SPDX-License-Identifier: Apache-2.0
"""The list that a search accepted is one that `try` takes, and gives the search's own figure."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.command import ROOT, Bootscope

pytestmark = pytest.mark.boot
SEARCHED: dict[str, Any] = json.loads((ROOT / "src/bootscope/techniques/optimized.json").read_text())


def test_try_takes_what_optimize_accepted(bootscope: Bootscope) -> None:
    told = bootscope.json("try", *SEARCHED["accepted"])
    assert told["works"]
    # Where the reference system comes out the same to the nanosecond, compiler and sources are the same.
    if told["base_ns"] == SEARCHED["base_ns"]:
        assert told["variant_ns"] == SEARCHED["final_ns"]
    else:
        assert told["variant_ns"] == pytest.approx(SEARCHED["final_ns"], rel=0.05)
