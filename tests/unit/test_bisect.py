# SPDX-License-Identifier: Apache-2.0
"""Taking away as much as possible in few attempts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bootscope.search.bisect import Attempt, Bisection


class Bench:
    """Works as long as nothing of `needed` is taken away; `tells` of these the failure names."""

    def __init__(self, needed: set[int], tells: set[int] | None = None) -> None:
        self.needed, self.tells = needed, tells or set()
        self.gone: list[int] = []
        self.tried: list[tuple[int, ...]] = []
        self.stays: dict[int, str] = {}

    def attempt(self, items: Sequence[int]) -> Attempt:
        self.tried.append(tuple(items))
        broken = self.needed & {*items, *self.gone}
        if not broken:
            self.gone += items
            return Attempt()
        told = broken & self.tells
        return Attempt(f"needs {min(broken)}", tuple(p for p, item in enumerate(items) if item in told))

    def refuse(self, item: int, reason: str) -> None:
        assert item not in self.stays
        self.stays[item] = reason


@pytest.mark.parametrize(
    "needed", [set(), {0}, {15}, {7, 8}, {0, 5, 15}, set(range(16)), {3}, {2, 3}, {1, 6, 11, 12}]
)
def test_what_is_needed_stays_and_all_else_goes(needed: set[int]) -> None:
    bench = Bench(needed)
    Bisection(bench.attempt, bench.refuse).run(range(16))
    assert set(bench.stays) == needed
    assert sorted(bench.gone) == sorted(set(range(16)) - needed)
    assert all(bench.stays.values())


def test_one_culprit_among_many_is_found_in_few_attempts() -> None:
    bench = Bench({37})
    Bisection(bench.attempt, bench.refuse).run(range(64))
    # The whole, then per halving one or two: what is known to break is not tried again.
    assert len(bench.tried) <= 1 + 6 * 2
    assert len(bench.tried) == len(set(bench.tried))


def test_nothing_costs_nothing() -> None:
    bench = Bench(set())
    Bisection(bench.attempt, bench.refuse).run([])
    assert bench.tried == []


def test_culprits_that_the_failure_names_are_not_searched_for() -> None:
    bench = Bench({3, 9}, tells={3, 9})
    Bisection(bench.attempt, bench.refuse).run(range(16))
    assert set(bench.stays) == {3, 9}
    assert len(bench.tried) == 2


def test_named_culprits_in_a_half_are_believed_too() -> None:
    bench = Bench({3, 9, 12}, tells={9})
    Bisection(bench.attempt, bench.refuse).run(range(16))
    assert set(bench.stays) == {3, 9, 12}
    assert sorted(bench.gone) == sorted(set(range(16)) - {3, 9, 12})


def test_what_is_not_worth_it_is_not_halved() -> None:
    bench = Bench({1})
    Bisection(bench.attempt, bench.refuse, worth=lambda items: len(items) >= 4).run(range(8))
    assert set(bench.stays) == {0, 1}
    assert sorted(bench.gone) == [2, 3, 4, 5, 6, 7]
