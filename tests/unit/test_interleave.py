# SPDX-License-Identifier: Apache-2.0
"""The order of boots: every variant as often, no variant later than another, the same for the same seed."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bootscope.core.errors import UserError
from bootscope.search.interleave import interleaved
from bootscope.statistics.ranks import rank_p
from bootscope.statistics.shift import ALPHA

from .boot_noise import MS, Board

NAMES = st.lists(st.text(min_size=1, max_size=4), min_size=1, max_size=6, unique=True)


@given(NAMES, st.integers(1, 12), st.integers(0, 99))
def test_every_block_has_every_variant_once(names: list[str], boots: int, seed: int) -> None:
    turns = interleaved(names, boots, seed)
    assert len(turns) == len(names) * boots
    for block in range(1, boots + 1):
        assert Counter(t.variant for t in turns if t.block == block) == Counter(names)


@given(NAMES, st.integers(1, 6), st.integers(0, 99))
def test_what_rises_evenly_meets_all_variants_alike(names: list[str], pairs: int, seed: int) -> None:
    turns = interleaved(names, 2 * pairs, seed)
    places = {name: sum(at for at, t in enumerate(turns) if t.variant == name) for name in names}
    assert len(set(places.values())) == 1


def test_the_order_is_that_of_the_seed() -> None:
    assert interleaved(["a", "b", "c"], 5, 7) == interleaved(["a", "b", "c"], 5, 7)
    assert len({interleaved(["a", "b", "c"], 5, seed) for seed in range(20)}) > 10
    first = Counter(interleaved(["a", "b"], 1, seed)[0].variant for seed in range(400))
    assert 160 < first["a"] < 240


@pytest.mark.parametrize(("names", "boots"), [([], 3), (["a", "a"], 3), (["a"], 0)])
def test_what_is_no_plan_is_refused(names: list[str], boots: int) -> None:
    with pytest.raises(UserError):
        interleaved(names, boots)


def test_a_board_that_warms_up_does_not_make_one_of_two_equal_builds_faster() -> None:
    board, rng, trials = Board(20), random.Random(5), 200

    def false_alarms(order: list[str]) -> int:
        alarms = 0
        for _ in range(trials):
            took: dict[str, list[int]] = {"a": [], "b": []}
            for at, name in enumerate(order):
                took[name].append(board.boot(rng) + at * 5 * MS)
            alarms += rank_p(took["a"], took["b"]) <= ALPHA
        return alarms

    in_turns = [turn.variant for turn in interleaved(["a", "b"], 10, 1)]
    assert false_alarms(in_turns) <= 0.05 * trials
    assert false_alarms(["a"] * 10 + ["b"] * 10) > 0.5 * trials
