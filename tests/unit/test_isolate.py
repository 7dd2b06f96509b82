# SPDX-License-Identifier: Apache-2.0
"""Which of many differences cost the time: the search over combinations, on costs that are known."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import pytest

from bootscope.regression.find import GONE
from bootscope.regression.isolate import Isolation, splits
from bootscope.regression.units import Chosen, Unit, Units, together, united

MS = 1_000_000
BASE_NS = 9_000 * MS


@dataclass
class Board:
    """Measures combinations by a function; what was measured, in order. Refuses those that are not closed."""

    units: Units
    figure: Callable[[Chosen], int | None]
    known: dict[Chosen, int | None] = field(default_factory=dict)

    def at(self, chosen: Chosen, ahead: Iterable[Chosen] = ()) -> int | None:
        assert self.units.down(chosen) == chosen, "units without what they need"
        for each in ahead:
            assert self.units.down(each) == each
        if chosen not in self.known:
            self.known[chosen] = self.figure(chosen)
        return self.known[chosen]


def of(*places: int) -> Chosen:
    """A set of units."""
    return frozenset(places)


def named(count: int, needs: Mapping[int, Iterable[int]] | None = None) -> Units:
    """So many units; `needs` by place."""
    return Units([Unit(f"u{n}", "n -> y", (), frozenset((needs or {}).get(n, ()))) for n in range(count)])


def board(units: Units, costs: Mapping[tuple[int, ...], int]) -> Board:
    """A board where sets of units cost so much once all of them are there."""

    def figure(chosen: Chosen) -> int:
        return BASE_NS + sum(ns for places, ns in costs.items() if chosen.issuperset(places))

    return Board(units, figure)


@pytest.mark.parametrize("guilty", [0, 1, 31, 150, 298, 299])
def test_one_of_300_is_found_by_a_dozen_figures(guilty: int) -> None:
    lab = board(named(300), {(guilty,): 5 * MS})
    cause = Isolation(lab.units, lab).largest()
    assert (cause.gap.units, cause.company, cause.sure) == (of(guilty), of(), True)
    # The boots that show it are the good one, and the good one with that alone.
    assert (cause.before, cause.after) == (of(), of(guilty))
    assert len(lab.known) <= 2 + 9 + 1


def test_the_larger_part_of_the_difference_is_followed() -> None:
    lab = board(named(64), {(3,): 2 * MS, (40,): 7 * MS, (41,): MS})
    assert Isolation(lab.units, lab).largest().gap.units == {40}


def test_all_that_cost_or_save_enough_are_found() -> None:
    rng = random.Random(5)
    for _ in range(50):
        slow, slower, saves = rng.sample(range(300), 3)
        costs: dict[tuple[int, ...], int] = {(slow,): 200_000, (slower,): 5 * MS, (saves,): -9 * MS}
        lab = board(named(300), costs)
        found = Isolation(lab.units, lab).every(100_000)
        assert {place for cause in found for place in cause.gap.units} == {slow, slower, saves}
        assert all(cause.sure and not cause.company for cause in found)
        assert len(lab.known) <= 40


def test_two_that_cost_only_together_are_both_named() -> None:
    rng = random.Random(7)
    for _ in range(50):
        first, second = sorted(rng.sample(range(300), 2))
        lab = board(named(300), {(first, second): 5 * MS, (rng.randrange(300),): 300_000})
        cause = Isolation(lab.units, lab).largest()
        assert (cause.gap.units, cause.company, cause.sure) == (of(second), of(first), True)
        # With the first in both boots, the second alone makes the difference.
        assert (cause.before, cause.after) == (of(first), of(first, second))
        assert len(lab.known) <= 40


def test_three_that_cost_only_together_are_all_named() -> None:
    lab = board(named(64), {(5, 20, 50): 5 * MS})
    cause = Isolation(lab.units, lab).largest()
    assert (cause.gap.units, cause.company, cause.sure) == (of(50), of(5, 20), True)


def test_more_than_are_looked_for_together_is_said_to_be_unsure() -> None:
    lab = board(named(64), {(5, 9, 20, 33, 50): 5 * MS})
    cause = Isolation(lab.units, lab).largest()
    assert (cause.gap.units, cause.sure) == (of(50), False)
    assert cause.company < {5, 9, 20, 33}
    assert (lab.at(cause.before), lab.at(cause.after)) == (BASE_NS, BASE_NS + 5 * MS)


def test_a_cost_that_another_takes_away_is_found_where_it_is() -> None:
    # 10 costs 5 ms unless 4 is there; 4 saves nothing by itself. The bad one has both, and 30 beside them.
    lab = board(named(64), {(10,): 5 * MS, (4, 10): -5 * MS, (30,): 3 * MS})
    assert Isolation(lab.units, lab).largest().gap.units == {30}


# ---- units that need others ----


def test_what_a_unit_needs_is_with_it_in_both_boots() -> None:
    # A chain: 0 <- 10 <- 20 <- 30; the others are free.
    units = named(64, {10: [0], 20: [10], 30: [20]})
    lab = board(units, {(30,): 5 * MS})
    cause = Isolation(units, lab).largest()
    assert cause.gap.units == {30}
    assert (cause.before, cause.after) == (of(0, 10, 20), of(0, 10, 20, 30))


def test_random_needs_never_make_a_set_that_lacks_something() -> None:
    rng = random.Random(3)
    for _ in range(100):
        needs = {n: rng.sample(range(n), min(n, rng.randrange(3))) for n in range(40)}
        units = named(40, needs)
        guilty = rng.randrange(40)
        lab = board(units, {(guilty,): MS})
        cause = Isolation(units, lab).largest()
        assert (cause.gap.units, cause.sure) == (of(guilty), True)
        middles = list(splits(units, frozenset(), units.all))
        assert len(middles) == len(set(middles))
        assert all(units.down(middle) == middle for middle in middles)


def test_names_that_need_one_another_are_one_unit_and_order_follows_needs() -> None:
    needs = {"a": ["b"], "b": ["c"], "c": ["b", "elsewhere"], "d": ["a"]}
    assert list(together("abcd", needs)) == [["b", "c"], ["a"], ["d"]]
    units, groups = united("abcd", needs, dict.fromkeys("abcd", "n -> y"))
    assert groups == [["b", "c"], ["a"], ["d"]]
    assert units[0].more == ("c: n -> y",)
    assert [unit.needs for unit in units] == [frozenset(), {0}, {1}]
    # Far deeper than Python calls itself.
    deep = [str(n) for n in range(20_000)]
    chain = {str(n): [str(n + 1)] for n in range(20_000)}
    assert [group[0] for group in together(deep, chain)] == deep[::-1]


# ---- what does not build, or does not boot ----


def with_gaps(units: Units, inner: Board, untold: Callable[[Chosen], bool], as_what: int | None) -> Board:
    """The same board where some combinations tell nothing."""
    return Board(units, lambda chosen: as_what if untold(chosen) else inner.figure(chosen))


@pytest.mark.parametrize("as_what", [None, GONE])
def test_two_that_must_go_together_are_found_past_all_that_does_not_work(as_what: int | None) -> None:
    units = named(32)
    inner = board(units, {(20,): 5 * MS})
    # A program (25) and its library (3), of which each breaks without the other: nobody told of that.
    lab = with_gaps(units, inner, lambda chosen: (3 in chosen) != (25 in chosen), as_what)
    cause = Isolation(units, lab).largest()
    assert (cause.gap.units, cause.sure) == (of(20), True)
    assert (cause.before, cause.after) == (of(), of(20))


def test_where_nothing_between_works_all_are_named() -> None:
    units = named(16)
    inner = board(units, {(9,): 5 * MS})
    lab = with_gaps(units, inner, lambda chosen: 0 < len(chosen & {8, 9, 10}) < 3, None)
    cause = Isolation(units, lab).largest()
    assert cause.gap.units == {8, 9, 10}
    assert (cause.before, cause.after) == (of(), of(8, 9, 10))


def test_one_that_does_not_boot_by_itself_is_shown_beside_the_others() -> None:
    units = named(16)
    inner = board(units, {(12,): 5 * MS})
    lab = with_gaps(units, inner, lambda chosen: 12 in chosen and 2 not in chosen, GONE)
    cause = Isolation(units, lab).largest()
    assert (cause.gap.units, cause.sure) == (of(12), False)
    assert cause.before == cause.gap.low and cause.after == cause.gap.high


@pytest.mark.parametrize("guilty", [0, 13, 31])
def test_what_breaks_the_boot_is_found(guilty: int) -> None:
    units = named(32, {13: [1]})
    lab = Board(units, lambda chosen: GONE if guilty in chosen else BASE_NS)
    cause = Isolation(units, lab).breaking()
    assert (cause.gap.units, cause.sure) == (of(guilty), True)
    assert (cause.before, cause.after) == (units.down({guilty}) - {guilty}, units.down({guilty}))


def test_two_that_break_the_boot_together_are_not_said_to_do_so_alone() -> None:
    units = named(32)
    lab = Board(units, lambda chosen: GONE if chosen >= {4, 21} else BASE_NS)
    cause = Isolation(units, lab).breaking()
    assert (cause.gap.units, cause.sure) == (of(21), False)
    assert (lab.at(cause.before), lab.at(cause.after)) == (BASE_NS, GONE)


# ---- looking ahead ----


@pytest.mark.parametrize("hands", [1, 2, 3, 7])
def test_several_hands_need_fewer_rounds_and_find_the_same(hands: int) -> None:
    """A board that measures as many at once as it has hands for: what is asked for, and what comes next."""
    units = named(256)
    inner = board(units, {(97, 180): 5 * MS})
    rounds = 0
    known: dict[Chosen, int | None] = {}

    class Several:
        def at(self, chosen: Chosen, ahead: Iterable[Chosen] = ()) -> int | None:
            nonlocal rounds
            if chosen not in known:
                rounds += 1
                wanted = list(dict.fromkeys([chosen, *(each for each in ahead if each not in known)]))
                known.update({each: inner.figure(each) for each in wanted[:hands]})
            return known[chosen]

    cause = Isolation(units, Several()).largest()
    assert (cause.gap.units, cause.company) == (of(180), of(97))
    # Two ends, eight halvings, one by itself, sixteen for its company, which is pairs.
    assert rounds <= {1: 40, 2: 26, 3: 20, 7: 14}[hands]
