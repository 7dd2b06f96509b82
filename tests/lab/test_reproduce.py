# SPDX-License-Identifier: Apache-2.0
"""A published table, run for real."""

from __future__ import annotations

import pytest

from tests.command import Bootscope

pytestmark = [pytest.mark.boot, pytest.mark.campaign]


def test_the_table_of_quiet_kernels_comes_out_as_it_was_kept(bootscope: Bootscope) -> None:
    found = bootscope.json("reproduce", "quiet")
    runs = bootscope.json("list")["runs"]
    assert {row["run_id"] for row in found["rows"].values()} == {run["run_id"] for run in runs}
    assert len(runs) == 4
    kernel = next(f for f in found["figures"] if f["figure"] == "000:354")
    assert (kernel["row"], kernel["measure"], kernel["verdict"]) == ("quiet", "kernel", "agrees")
    # All of it is the serial line, less what the CPU does in the meantime.
    split = {name: row["values"]["total"]["split"]["console_ns"] for name, row in found["rows"].items()}
    total = next(f for f in found["figures"] if f["figure"] == "002:661")
    assert total["own_change"] == pytest.approx(split["small-quiet"] - split["small"], rel=0.1)
    # Asked again, it is taken from the store.
    again = bootscope.json("reproduce", "quiet")
    assert again["rows"] == found["rows"]
    assert len(bootscope.json("list")["runs"]) == 4
