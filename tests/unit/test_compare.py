# SPDX-License-Identifier: Apache-2.0
"""Comparing two boots: times phase by phase, and what booted."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from bootscope.analysis.compare import compare, differences
from bootscope.analysis.views import View, comparison, view
from bootscope.capture.record import RunInfo, SourceFact
from bootscope.capture.store import Store
from bootscope.core.settings import Sourced
from bootscope.core.text import cut_beside
from tests.fixtures.stock_boot import unpack


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store with the recorded stock boot in it."""
    made = Store(tmp_path / "store")
    unpack(made)
    return made


@pytest.fixture
def stock(store: Store) -> View:
    return view(store, store.find("last"))


def changed(run: RunInfo, **fields: object) -> RunInfo:
    """The run with other fields."""
    return msgspec.structs.replace(run, **fields)


def test_a_boot_compared_with_itself_is_the_same(store: Store, stock: View) -> None:
    found = comparison(store, stock, stock)
    assert found.same_build
    assert found.differences == ()
    assert all(phase.change_ns == 0 and not any(phase.split.values()) for phase in found.phases)


def test_a_slower_card_shows_in_the_phases_that_read(store: Store, stock: View) -> None:
    board = stock.run.info.board
    slow = msgspec.structs.replace(board.card, bandwidth_bytes_per_s=Sourced(value=5_650_000, source="half"))
    slower = msgspec.structs.replace(board, card_classes={**board.card_classes, "slow-sd": slow})
    other = view(store, stock.run, board=slower)
    found = compare(stock.timeline, other.timeline, (), True)
    change = {phase.name: phase.change_ns for phase in found.phases}
    assert change["load"] > 400_000_000
    assert change["decompress"] == change["rom"] == 0
    assert sum(change.values()) == found.total_b_ns - found.total_a_ns
    for phase in found.phases:
        assert sum(phase.split.values()) == phase.change_ns


def test_a_part_with_other_bytes_of_the_same_size_is_a_difference(stock: View) -> None:
    run = stock.run.info
    parts = tuple(
        msgspec.structs.replace(part, sha256="0" * 64) if part.name == "rootfs/root.img" else part
        for part in run.parts
    )
    (difference,) = differences(run, changed(run, parts=parts), {})
    assert difference.what == "rootfs/root.img"
    assert difference.b is not None
    assert difference.b.endswith("bytes, 00000000")


def test_settings_symbols_sources_tools_and_board_are_compared(stock: View) -> None:
    run = stock.run.info
    source = SourceFact(version="2", origin="your own tree", sha256="ab" * 32)
    other = changed(
        run,
        system=msgspec.structs.replace(run.system, settings={**run.system.settings, "name": "mine"}),
        sources={"linux": source},
        tools={**run.tools, "qemu-system-arm": "11.0"},
        board=msgspec.structs.replace(run.board, name="other"),
    )
    configs = {"kernel-config": ({"SMP": "y", "FB": "y"}, {"SMP": "n", "FB": "y"})}
    found = {d.what: (d.a, d.b) for d in differences(run, other, configs)}
    assert found["name"] == ("stock", "mine")
    assert found["kernel-config: SMP"] == ("y", "n")
    assert found["source linux"] == (None, "2 (your own tree, abababab)")
    assert found["tool qemu-system-arm"][1] == "11.0"
    assert found["board profile"] == ("cubieboard", "other")
    assert len(found) == 5
    assert next(iter(found)) == "board profile"


def test_settings_that_differ_late_are_shown_where_they_differ() -> None:
    line = "console=ttyS0,115200 root=/dev/mmcblk0p2 rootwait rootfstype="
    a, b = cut_beside(f"{line}ext4 rw", f"{line}erofs ro", 40)
    assert a == "…rootfstype=ext4 rw"
    assert b == "…rootfstype=erofs ro"
    assert cut_beside("yes", "no", 40) == ("yes", "no")
