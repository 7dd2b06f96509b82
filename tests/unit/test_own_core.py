# SPDX-License-Identifier: Apache-2.0
"""A recording whose board names a core, without counts of it: shown without, which is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bootscope.analysis.views import view
from bootscope.capture.record import RUN
from bootscope.capture.store import Store
from bootscope.core.errors import UserError
from bootscope.cores.profile import load_core
from bootscope.runs.run import common_core
from tests.fixtures import stock_boot

from .conftest import Command

RUN_ID = "20261121-084914-stock"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store with the recorded stock boot, as if its board had named a core."""
    store = Store(tmp_path / "store")
    path = store.load(stock_boot.unpack(store)).path / RUN
    run = json.loads(path.read_text())
    run["board"]["core"] = "cortex-a8"
    path.write_text(json.dumps(run))
    return store


def test_a_boot_without_counts_is_shown_without_a_core(store: Store) -> None:
    seen = view(store, store.load(RUN_ID))
    assert (seen.core, seen.counted) == (None, False)
    plain = view(store, store.load(RUN_ID), core="none")
    assert seen.timeline.total_ns == plain.timeline.total_ns
    assert common_core(store, [RUN_ID, RUN_ID], None) is None


def test_a_board_without_a_core_has_nothing_to_count(tmp_path: Path) -> None:
    store = Store(tmp_path / "other")
    assert view(store, store.load(stock_boot.unpack(store))).counted is None


def test_show_says_so(store: Store, main_here: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOOTSCOPE_STORE", str(store.runs.parent))
    why = "its caches were not counted"
    said = f"without core cortex-a8 ({why}): each instruction takes 2 ns, memory access is free"
    for arguments in (("show",), ("show", "--core", "none")):
        assert said in " ".join(main_here(*arguments).stdout.split())
    refused = main_here("show", "--core", "cortex-a8")
    assert refused.returncode == 2
    assert "was recorded without --timing" in refused.stderr
    assert main_here("show", "--board", "cubieboard:card=2x").returncode == 0
    refused = main_here("show", "--board", "cubieboard:core=cortex-a8")
    assert "was recorded without --timing" in refused.stderr
    assert json.loads(main_here("show", "--json").stdout)["core"] is None
    told = json.loads(main_here("what-if", "last", "quiet", "--core", "none", "--json").stdout)
    assert told["core"] is None
    refused = main_here("record", "stock", "--core", "none")
    assert (refused.returncode, "core=none records without one" in refused.stderr) == (2, True)


def test_none_is_no_core_that_can_be_loaded() -> None:
    with pytest.raises(UserError, match="unknown core 'none'"):
        load_core("none")
