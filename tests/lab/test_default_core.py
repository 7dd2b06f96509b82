# SPDX-License-Identifier: Apache-2.0
"""What users get who ask for nothing: times on the core of the board, and the same boot without it."""

from __future__ import annotations

import pytest

from bootscope.boards.profile import CORE_VARIABLE
from bootscope.core.text import seconds
from tests.command import Bootscope

pytestmark = pytest.mark.boot


def test_stock_is_shown_on_the_core_of_its_board(
    bootscope: Bootscope, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(CORE_VARIABLE, raising=False)
    made = bootscope.json("record", "stock")
    (counted,) = made["boots"]
    assert counted["core"] == "cortex-a8"
    shown = bootscope.json("show")
    assert (shown["core"], shown["total_ns"]) == ("cortex-a8", counted["reached_ns"])
    kinds = ("cpu_ns", "storage_ns", "console_ns", "idle_ns", "fixed_ns")
    assert sum(phase[kind] for phase in shown["phases"] for kind in kinds) == shown["total_ns"]
    without = bootscope.json("show", "--core", "none")
    assert without["core"] is None
    assert without["total_ns"] < shown["total_ns"] < 1.1 * without["total_ns"]

    # The old profile is the same boot with the same figures.
    old = bootscope.json("record", "stock", "--board", "cubieboard:core=none")
    (plain,) = old["boots"]
    assert (plain["core"], plain["reached_ns"]) == (None, without["total_ns"])
    assert plain["stream_sha256"] == counted["stream_sha256"]
    compared = bootscope.run("compare", made["run_id"], old["run_id"])
    assert "only A was counted for a core, so both are shown without one" in compared.stdout
    against = bootscope.json("compare", made["run_id"], old["run_id"])
    assert against["total_a_ns"] == against["total_b_ns"] == without["total_ns"]
    # So does a report of both.
    page = bootscope.store.parent / "both.html"
    bootscope.json("report", made["run_id"], old["run_id"], "-o", page)
    text = page.read_text()
    assert seconds(without["total_ns"]) in text and seconds(shown["total_ns"]) not in text
