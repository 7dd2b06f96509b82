# SPDX-License-Identifier: Apache-2.0
"""Boards of published tables: which differ in their costs alone, and which need boots of their own."""

from __future__ import annotations

import pytest

from bootscope.boards.profile import load_board
from bootscope.core.errors import UserError
from bootscope.core.settings import Sourced
from bootscope.published.reproduce import boards, core_of
from bootscope.published.tables import OtherBoard


def test_another_card_needs_no_boot_of_its_own() -> None:
    board = load_board("cubieboard")
    other = OtherBoard(title="quick", bandwidth_bytes_per_s=Sourced(value=10**9, source="made up"))
    boots_on, looks_on = boards(board, other)
    assert boots_on == board
    assert looks_on.card.bandwidth_bytes_per_s.value == 10**9
    assert looks_on.card.command_latency_ns == board.card.command_latency_ns
    assert boards(board, None) == (board, board)


def test_another_cpu_needs_one() -> None:
    board = load_board("cubieboard")
    other = OtherBoard(title="slow", icount_shift=Sourced(value=3, source="made up"))
    boots_on, looks_on = boards(board, other)
    assert (boots_on.tick_ns, looks_on.tick_ns, board.tick_ns) == (8, 8, 2)
    assert boots_on.card == board.card


def test_the_core_of_another_board_may_have_another_clock() -> None:
    plain, quick = (
        core_of(OtherBoard(title="it", core="arm926ej-s", core_changes=changes))
        for changes in ((), ("clock=400MHz",))
    )
    assert plain
    assert quick
    assert (plain.costs.clock_hz.value, quick.costs.clock_hz.value) == (200_000_000, 400_000_000)
    assert plain.geometry_id == quick.geometry_id
    assert core_of(OtherBoard(title="no core")) is None
    with pytest.raises(UserError, match="is not a valid clock"):
        core_of(OtherBoard(title="it", core="arm926ej-s", core_changes=("clock=fast",)))
