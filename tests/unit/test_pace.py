# SPDX-License-Identifier: Apache-2.0
"""How far a build is and how long it still takes, on a clock of the test's own."""

from __future__ import annotations

from bootscope.builder.pace import Pace
from bootscope.builder.workload import Basis, Bound, Work, Workload

S = 10**9
SMALL = Work("busybox", "BusyBox", 600, 60 * S, Basis.HERE)
LARGE = Work("kernel", "the kernel", 1_700, 600 * S, Basis.HERE)
CARD = Work("card")


def pace(*works: Work) -> Pace:
    return Pace(Workload(works, 2), 0)


def test_a_build_as_fast_as_expected_takes_as_long_as_expected() -> None:
    p = pace(SMALL, LARGE, CARD)
    assert p.begin("busybox", 0)
    p.update(300, 29 * S)
    first = p.standing(29 * S)
    assert (first.number, first.steps, first.units, first.all_units) == (1, 3, 300, 2_300)
    assert first.percent == 4
    assert 625 * S <= first.left_ns <= 635 * S
    p.finish(60 * S)
    p.begin("kernel", 60 * S)
    assert abs(p.standing(60 * S).left_ns - 600 * S) < S
    p.update(850, 360 * S)
    half = p.standing(360 * S)
    assert (half.number, half.units, half.percent, half.elapsed_ns) == (2, 1_450, 53, 360 * S)
    assert 300 * S <= half.left_ns <= 325 * S
    assert half.bound == Bound.ABOUT


def test_a_slower_computer_is_seen_from_its_own_pace() -> None:
    p = pace(SMALL, LARGE)
    p.begin("busybox", 0)
    p.finish(180 * S)  # three times what was expected
    p.begin("kernel", 180 * S)
    # 20 s of work were given to the estimate: (180 + 20) / (60 + 20) of 600 s.
    assert p.standing(180 * S).left_ns == 1_500 * S
    for units in range(0, 1_701, 17):
        p.update(units, 180 * S + units * 1_800 * S // 1_700)
    at_end = 1_980 * S
    assert p.standing(at_end).percent == 97
    assert p.standing(at_end).left_ns < 60 * S


def test_the_remaining_time_follows_when_the_compiler_suddenly_is_faster() -> None:
    """As when the second half comes out of the compiler's cache."""
    p = pace(LARGE)
    p.begin("kernel", 0)
    for units in range(0, 851, 10):
        p.update(units, units * 1_200 * S // 850)
    slow_ns = p.standing(1_200 * S).left_ns
    assert slow_ns > 900 * S
    for units in range(850, 1_501, 10):
        p.update(units, 1_200 * S + (units - 850) * 65 * S // 650)
    assert p.standing(1_265 * S).left_ns < slow_ns / 3


def test_the_remaining_time_does_not_jump_with_one_slow_object() -> None:
    p = pace(LARGE)
    p.begin("kernel", 0)
    p.update(1_000, 353 * S)
    before_ns = p.standing(353 * S).left_ns
    p.update(1_001, 383 * S)
    assert before_ns < p.standing(383 * S).left_ns < 1.15 * before_ns


def test_a_step_that_somebody_else_did_is_done_and_says_nothing_of_our_pace() -> None:
    p = pace(SMALL, LARGE)
    p.begin("kernel", 500 * S)
    standing = p.standing(500 * S)
    assert (standing.number, standing.units, standing.percent) == (2, 600, 9)
    assert standing.left_ns == 600 * S


def test_a_step_of_no_plan_counts_nothing() -> None:
    p = pace(LARGE)
    assert not p.begin("plugin", 0)
    p.update(10, 5 * S)
    p.finish(300 * S)
    assert p.begin("kernel", 300 * S)
    assert p.standing(300 * S).left_ns == 600 * S


def test_more_objects_than_expected_never_make_a_hundred_percent() -> None:
    p = pace(LARGE)
    p.begin("kernel", 0)
    p.update(1_900, 600 * S)
    standing = p.standing(600 * S)
    assert (standing.units, standing.all_units, standing.percent) == (1_900, 1_900, 97)
    assert standing.left_ns > 0
    p.finish(620 * S)
    assert p.standing(620 * S).percent == 99
    assert p.standing(620 * S).left_ns == 0


def test_what_goes_on_from_an_earlier_build_is_an_upper_bound() -> None:
    p = pace(Work("kernel", "the kernel", 1_700, 600 * S, Basis.HERE, continued=True), SMALL)
    p.begin("kernel", 0)
    p.update(17, 6 * S)
    assert p.standing(6 * S).bound == Bound.AT_MOST
    p.finish(8 * S)
    p.begin("busybox", 8 * S)
    standing = p.standing(8 * S)
    assert standing.bound == Bound.ABOUT
    # The kernel's 600 s that were not needed are no pace.
    assert 59 * S <= standing.left_ns <= 65 * S


def test_what_nobody_knows_makes_a_lower_bound_or_none() -> None:
    musl = Work("libc", "musl", basis=Basis.UNKNOWN)
    most = Work("kernel", "the kernel", 1_700, 600 * S, Basis.HERE, continued=True)
    assert Workload((musl, SMALL), 2).bound == Bound.AT_LEAST
    assert Workload((musl, most), 2).bound == Bound.UNKNOWN
    p = pace(musl, SMALL)
    p.begin("libc", 0)
    p.finish(40 * S)
    p.begin("busybox", 40 * S)
    assert (p.standing(40 * S).bound, p.standing(40 * S).left_ns) == (Bound.ABOUT, 60 * S)
