# SPDX-License-Identifier: Apache-2.0
"""Least squares without negative figures, and what outliers and few equations do to them."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bootscope.calibration.robust import Row, fit, known
from bootscope.calibration.solve import dot, gram, inverse, solve
from bootscope.statistics.student import student_975

NUMBERS = st.floats(-100, 100)
COLUMNS = st.floats(0, 1000)


@given(st.lists(st.tuples(st.tuples(COLUMNS, COLUMNS, COLUMNS), NUMBERS, st.floats(0.01, 10)), min_size=1))
@example([((0.0, 0.0, 5.923831266450263e-160), 1.0, 1.0)])
def test_no_step_to_another_allowed_solution_is_better(
    equations: list[tuple[tuple[float, float, float], float, float]],
) -> None:
    rows = [row for row, _, _ in equations]
    wanted = [y for _, y, _ in equations]
    weights = [w for _, _, w in equations]
    found = solve(rows, wanted, weights)

    def off(figures: tuple[float, ...]) -> float:
        return sum(w * (y - dot(row, figures)) ** 2 for row, y, w in zip(rows, wanted, weights, strict=True))

    assert min(found) >= 0
    best = off(found)
    for column in range(3):
        for step in (-1e-3, -1e-2, 1e-3, 1e-2):
            other = list(found)
            other[column] = max(0.0, other[column] + step)
            assert off(tuple(other)) >= best - 1e-6 * (1 + best)


@given(st.tuples(*[st.floats(0.1, 1e6)] * 3))
def test_what_equations_say_exactly_is_found(truth: tuple[float, float, float]) -> None:
    rows = [(1.0, 2.0, 0.0), (0.0, 1.0, 5.0), (3.0, 0.0, 1.0), (1.0, 1.0, 1.0)]
    found = solve(rows, [dot(row, truth) for row in rows], [1.0] * 4)
    assert found == pytest.approx(truth, rel=1e-6)


def test_columns_of_all_sizes_are_solved_side_by_side() -> None:
    truth = (1.5, 500_000.0, 88.5)
    rows = [(1e9, 2.0, 1e6), (1e6, 40.0, 2e4), (3e7, 1.0, 6e6), (5e8, 0.0, 0.0)]
    assert solve(rows, [dot(row, truth) for row in rows], [1.0] * 4) == pytest.approx(truth, rel=1e-6)


def test_a_matrix_whose_columns_depend_on_each_other_has_no_inverse() -> None:
    assert inverse(gram([(1.0, 2.0), (2.0, 4.0)], [1.0, 1.0], 2)) is None
    assert inverse([[0.0]]) is None
    turned = inverse([[4.0, 0.0], [0.0, 2.0]])
    assert turned is not None
    assert [x for line in turned for x in line] == pytest.approx([0.25, 0, 0, 0.5])


@pytest.mark.parametrize(
    ("freedom", "t"),
    [(1, 12.706), (2, 4.303), (3, 3.182), (5, 2.571), (10, 2.228), (30, 2.042), (1e9, 1.960)],
)
def test_students_limit_is_that_of_the_tables(freedom: float, t: float) -> None:
    assert student_975(freedom) == pytest.approx(t, rel=0.015)


@given(st.floats(1, 100), st.floats(1, 100))
def test_more_freedom_never_widens_an_interval(a: float, b: float) -> None:
    low, high = sorted((a, b))
    assert student_975(high) <= student_975(low) + 0.07


def line(at: float, off: float = 0.0) -> Row:
    """A stretch of `at` ms at 2 ns a ns, `off` ms longer than that."""
    took = (2 * at + off) * 1e6
    return Row((at * 1e6,), took, took, 10_000)


def test_outliers_do_not_bend_the_line() -> None:
    rows = [line(at) for at in range(5, 45)] + [line(at, 500) for at in (7, 9, 20, 33, 40, 41)]
    figures, weights = fit(rows, (1.0,))
    assert figures[0] == pytest.approx(2, rel=1e-3)
    assert all(w == 0 for w in weights[-6:])
    (figure,) = known(rows, weights, figures) or []
    assert figure.half < 0.05
    assert figure.stretches > 10


def test_a_figure_that_one_stretch_tells_rests_on_one() -> None:
    rows = [Row((at * 1e6, 0.0), at * 1e6, at * 1e6, 10_000) for at in range(5, 45)]
    rows[10] = Row((15e6, 6e6), 615e6, 615e6, 10_000)
    figures, weights = fit(rows, (1.0, 50.0))
    cpu, lone = known(rows, weights, figures) or []
    assert lone.value == pytest.approx(100, rel=0.01)
    assert lone.stretches == pytest.approx(1, abs=0.01)
    assert cpu.stretches > 10


def test_what_is_not_known_of_others_widens_an_interval() -> None:
    rows = [line(at) for at in range(5, 45)]
    figures, weights = fit(rows, (1.0,))
    (alone,) = known(rows, weights, figures) or []
    other = tuple(row.amounts[0] / 10 for row in rows)
    (beside,) = known(rows, weights, figures, [(other, 1.0)]) or []
    assert beside.half == pytest.approx(0.2, rel=0.05)
    assert alone.half < 0.05
