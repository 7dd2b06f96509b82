# SPDX-License-Identifier: Apache-2.0
"""Statistics against what can be counted out by hand or is known from tables."""

from __future__ import annotations

import itertools
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bootscope.statistics import ranks
from bootscope.statistics.describe import describe, drift, median, outliers, quantile, trend_p, warm_up
from bootscope.statistics.planning import Noise, enough, stretch
from bootscope.statistics.ranks import least_p, rank_p
from bootscope.statistics.shift import ALPHA, RANKS, STUDENT, chosen_test, shift
from bootscope.statistics.student import student_limit

from .boot_noise import MS, Board

SMALL = st.lists(st.integers(0, 6), min_size=1, max_size=5)
VALUES = st.lists(st.integers(0, 20), min_size=1, max_size=20)


def counted_tails(a: list[int], b: list[int]) -> tuple[float, float]:
    """The tails of the rank sum by trying every split."""
    values = sorted(a + b)
    rank = {x: sum(y < x for y in values) + (values.count(x) + 1) / 2 for x in values}
    seen = sum(rank[x] for x in a)
    sums = [sum(rank[x] for x in chosen) for chosen in itertools.combinations(values, len(a))]
    return sum(s <= seen for s in sums) / len(sums), sum(s >= seen for s in sums) / len(sums)


# ---- ranks ----


@given(SMALL, SMALL)
def test_the_rank_test_is_what_counting_all_splits_gives(a: list[int], b: list[int]) -> None:
    assert ranks.tails(a, b) == pytest.approx(counted_tails(a, b))


def test_the_rank_test_agrees_with_published_tables() -> None:
    # 10 against 10 values: U = 23 is critical at 5 % on both sides, with p = 0.0433; U = 24 is not.
    tens = [10 * n for n in range(1, 11)]
    assert rank_p([1, 2, 3, 4, 5, 6, 7, 35, 101, 102], tens) == pytest.approx(0.0433, abs=5e-5)
    assert rank_p([1, 2, 3, 4, 5, 6, 7, 45, 101, 102], tens) == pytest.approx(0.0524, abs=5e-5)
    assert rank_p(list(range(10)), list(range(10, 20))) == pytest.approx(2 / 184756)


def test_many_values_agree_with_the_exact_test(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(3)
    a, b = Board(30).boots(rng, 30), Board(30).boots(rng, 30, 1.003)
    exact = rank_p(a, b)
    monkeypatch.setattr(ranks, "EXACT_UP_TO", 10)
    assert rank_p(a, b) == pytest.approx(exact, rel=0.2, abs=1e-4)


def test_equal_values_are_no_difference() -> None:
    assert rank_p([5] * 10, [5] * 10) == 1
    assert rank_p([5] * 100, [5] * 100) == 1
    assert shift([5] * 10, [5] * 10).shift_ns == 0


def test_three_and_three_boots_can_show_nothing_by_ranks() -> None:
    assert least_p(3, 3) == pytest.approx(0.1)
    assert least_p(4, 4) == pytest.approx(2 / 70)
    assert {chosen_test(3, n) for n in (3, 4, 5)} == {STUDENT}
    assert (chosen_test(3, 6), chosen_test(4, 4)) == (RANKS, RANKS)


# ---- one sample ----


@given(VALUES)
def test_the_median_is_the_standard_one(values: list[int]) -> None:
    assert median(values) == statistics.median(values) // 1


@given(VALUES, st.integers(1, 100))
def test_a_quantile_is_the_smallest_value_that_enough_do_not_exceed(values: list[int], part: int) -> None:
    found = quantile(values, part, 100)
    assert sum(x <= found for x in values) * 100 >= part * len(values)
    assert sum(x < found for x in values) * 100 < part * len(values)


def test_an_outlier_is_told_and_stays() -> None:
    values = [5000, 5003, 4998, 5001, 5100, 5002, 4999]
    found = describe([x * MS for x in values])
    assert found.outliers == (4,)
    assert (found.highest_ns, found.count) == (5100 * MS, 7)


def test_one_step_of_the_stamp_is_no_outlier() -> None:
    values = [5000] * 9 + [5016]
    assert outliers([x * MS for x in values], 16 * MS) == ()
    assert outliers([x * MS for x in values]) == (9,)
    assert outliers([5] * 10) == ()


def test_a_first_boot_that_differs_is_told() -> None:
    later = [5000, 5003, 4998, 5001, 5002, 4999]
    assert warm_up([5200, *later]) == 5200 - 5000
    assert warm_up([5004, *later]) == 0
    assert warm_up([4800, *later]) < 0


@given(st.lists(st.integers(0, 3), min_size=2, max_size=6))
def test_the_trend_test_is_what_counting_all_orders_gives(values: list[int]) -> None:
    def off(order: tuple[int, ...]) -> int:
        return abs(sum((y > x) - (y < x) for x, y in itertools.combinations(order, 2)))

    seen = off(tuple(values))
    orders = list(itertools.permutations(values))
    assert trend_p(values) == pytest.approx(sum(off(order) >= seen for order in orders) / len(orders))


def test_a_board_that_warms_up_drifts() -> None:
    found = drift([5000 + 7 * n for n in range(10)])
    assert found is not None
    assert (found.per_boot_ns, found.p < 1e-5) == (7, True)
    assert drift([5000, 5003, 4998, 5001, 5100, 5002, 4999]) is None


def test_drift_is_rarely_seen_where_there_is_none() -> None:
    rng = random.Random(8)
    false = sum(drift(Board(30).boots(rng, 10)) is not None for _ in range(1000))
    assert false <= 10 + 3 * 10**0.5


# ---- two samples ----


@given(
    st.lists(st.integers(0, 50), min_size=4, max_size=9), st.lists(st.integers(0, 50), min_size=4, max_size=9)
)
def test_the_interval_and_the_p_value_say_the_same(a: list[int], b: list[int]) -> None:
    found = shift(a, b)
    if found.low_ns > 0 or found.high_ns < 0:
        assert found.shown
    if found.low_ns < 0 < found.high_ns:
        assert not found.shown
    assert found.low_ns <= found.high_ns


@given(st.lists(st.integers(0, 50), min_size=4, max_size=9), st.integers(-100, 100))
def test_a_shift_of_all_values_is_found(a: list[int], by: int) -> None:
    found = shift(a, [x + by for x in a])
    assert found.low_ns <= by <= found.high_ns
    assert found.shift_ns == by


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    rng = random.Random(5)
    board = Board(40)
    held = 0
    for _ in range(500):
        found = shift(board.boots(rng, 8), [x + 50 * MS for x in board.boots(rng, 8)])
        held += found.low_ns <= 50 * MS <= found.high_ns
    assert held >= 500 * (1 - ALPHA) - 3 * (500 * ALPHA) ** 0.5


def test_three_boots_far_apart_are_told_apart() -> None:
    found = shift([5000, 5010, 5020], [2000, 2010, 2020])
    assert (found.shown, found.test, found.shift_ns) == (True, STUDENT, -3000)
    assert not shift([5000, 5010, 5020], [5020, 5030, 5040]).shown
    assert shift([5, 5, 5], [5, 5, 5]).p == 1
    assert shift([5, 5, 5], [6, 6, 6]).shown
    assert not shift([5000, 5000, 5000], [5016, 5016, 5016], 16).shown


def test_students_limit_is_that_of_the_tables() -> None:
    assert student_limit(0.05) == pytest.approx(4.3027, abs=1e-4)
    assert student_limit(0.10) == pytest.approx(2.9200, abs=1e-4)


def test_fewer_than_three_have_no_verdict() -> None:
    with pytest.raises(ValueError, match="3"):
        shift([1, 2], [3, 4, 5])


# ---- planning ----


def test_the_stretch_is_that_of_the_chi_square_tables() -> None:
    assert stretch(9) == pytest.approx((9 / 5.380) ** 0.5, rel=0.002)  # chi-square 0.2 at 9
    assert stretch(4) == pytest.approx((4 / 1.064) ** 0.5, rel=0.02)  # chi-square 0.1 at 4
    assert stretch(100) < 1.1


def test_more_noise_needs_more_boots_and_more_boots_show_less() -> None:
    quiet, loud = ([n * size * MS for n in range(10)] for size in (1, 5))
    less, more = Noise(quiet).boots_for(10 * MS), Noise(loud).boots_for(10 * MS)
    assert less is not None and more is not None
    assert less < more
    few, many = Noise(loud).smallest(5, 5), Noise(loud).smallest(50, 50)
    assert few is not None and many is not None
    assert few > many
    assert Noise(loud).boots_for(0) is None


def test_what_is_said_to_be_the_smallest_needs_no_more_boots_than_there_are() -> None:
    noise = Noise(Board(60).boots(random.Random(2), 10))
    smallest = noise.smallest(10, 10)
    assert smallest is not None
    enough, more = noise.boots_for(smallest + 1), noise.boots_for(smallest // 2)
    assert enough is not None and more is not None
    assert enough <= 10 < more


def test_values_that_do_not_overlap_need_four() -> None:
    assert [enough(n, n, 1.0) for n in (3, 4)] == [False, True]
    assert Noise([5, 5, 5], [5, 5, 5]).boots_for(1) == 4
    assert Noise([5, 5, 5], step_ns=16).smallest(10, 10) == 16


def test_three_and_three_boots_know_what_they_could_have_shown() -> None:
    smallest = Noise([1000, 1010, 1020], [1000, 1010, 1020]).smallest(3, 3)
    assert smallest is not None
    # Twice the t value's 5.6 standard errors of 8.2, since so few boots say so little about the noise.
    assert 80 < smallest < 160


# ---- what it is for ----


@pytest.mark.parametrize(("jitter_ms", "step_ms"), [(5, 1), (5, 16), (30, 1), (30, 16), (100, 1), (100, 16)])
@pytest.mark.parametrize("count", [3, 10])
def test_equal_builds_are_told_apart_in_at_most_5_of_100_pairs(
    jitter_ms: float, step_ms: int, count: int
) -> None:
    board, rng = Board(jitter_ms, step_ms), random.Random(1000 * count + 10 * int(jitter_ms) + step_ms)
    pairs = ((board.boots(rng, count), board.boots(rng, count)) for _ in range(1000))
    if count == 3:
        false = sum(shift(a, b, step_ms * MS).shown for a, b in pairs)
    else:
        false = sum(rank_p(a, b) <= ALPHA for a, b in pairs)
    assert false <= 50


@pytest.mark.parametrize(("jitter_ms", "step_ms"), [(20, 1), (40, 16), (60, 1), (100, 1), (100, 16)])
def test_two_percent_more_are_seen_with_the_number_of_boots_that_a_pilot_of_ten_asks_for(
    jitter_ms: float, step_ms: int
) -> None:
    board, rng = Board(jitter_ms, step_ms), random.Random(int(jitter_ms) + step_ms)
    seen, trials = 0, 200
    for _ in range(trials):
        pilot = board.boots(rng, 10)
        count = Noise(pilot, step_ns=step_ms * MS).boots_for(median(pilot) // 50)
        assert count is not None
        seen += rank_p(board.boots(rng, count), board.boots(rng, count, 1.02)) <= ALPHA
    assert seen >= 0.8 * trials


@pytest.mark.parametrize("count", [3, 5, 10])
@pytest.mark.parametrize(("jitter_ms", "step_ms"), [(5, 1), (30, 16)])
def test_what_so_many_boots_are_said_to_show_they_show_in_about_4_of_5_cases(
    jitter_ms: float, step_ms: int, count: int
) -> None:
    board, rng = Board(jitter_ms, step_ms), random.Random(count)
    shown, trials = 0, 200
    for _ in range(trials):
        smallest = Noise(board.boots(rng, count), board.boots(rng, count), step_ns=step_ms * MS).smallest(
            count, count
        )
        assert smallest is not None
        a, b = board.boots(rng, count), [x + smallest for x in board.boots(rng, count)]
        shown += shift(a, b, step_ms * MS).shown if count == 3 else rank_p(a, b) <= ALPHA
    assert 0.75 * trials <= shown <= 0.97 * trials
