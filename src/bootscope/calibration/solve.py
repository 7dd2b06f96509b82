# SPDX-License-Identifier: Apache-2.0
"""Weighted least squares for a few non-negative figures, robust against outliers and few equations.

Everything is in floats: these are statistics of times, not times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

Vector = tuple[float, ...]
Matrix = list[list[float]]

_SINGULAR = 1e-10
_TINY = 1e-250
"""A column whose sum of squares is not above this is empty: dividing by it would overflow floats."""


def gram(rows: Sequence[Vector], weights: Sequence[float], count: int) -> Matrix:
    """The sums of weight * x_i * x_j over all rows, for `count` columns."""
    total = [[0.0] * count for _ in range(count)]
    for row, weight in zip(rows, weights, strict=True):
        for i in range(count):
            scaled = weight * row[i]
            if scaled:
                line = total[i]
                for j in range(i, count):
                    line[j] += scaled * row[j]
    for i in range(count):
        for j in range(i):
            total[i][j] = total[j][i]
    return total


def inverse(matrix: Matrix) -> Matrix | None:
    """The inverse of a positive definite matrix; None where columns depend on one another."""
    size = len(matrix)
    # Columns differ in size: millions of bytes beside single commands.
    scale = [math.sqrt(matrix[i][i]) if matrix[i][i] > _TINY else 0.0 for i in range(size)]
    if not all(scale):
        return None
    work = [
        [matrix[i][j] / scale[i] / scale[j] for j in range(size)] + [float(i == j) for j in range(size)]
        for i in range(size)
    ]
    for column in range(size):
        pivot = max(range(column, size), key=lambda row: abs(work[row][column]))
        if abs(work[pivot][column]) < _SINGULAR:
            return None
        work[column], work[pivot] = work[pivot], work[column]
        head = work[column][column]
        work[column] = [value / head for value in work[column]]
        for row in range(size):
            factor = work[row][column]
            if row != column and factor:
                work[row] = [x - factor * y for x, y in zip(work[row], work[column], strict=True)]
    return [[work[i][size + j] / scale[i] / scale[j] for j in range(size)] for i in range(size)]


def solve(rows: Sequence[Vector], wanted: Sequence[float], weights: Sequence[float]) -> Vector:
    """The non-negative figures with which the rows come closest to `wanted`.

    With so few columns, all choices of positive figures can be tried; the best valid one is the solution. A
    column that depends on others comes out as 0.
    """
    count = len(rows[0]) if rows else 0
    total = gram(rows, weights, count)
    right = [
        sum(w * row[i] * y for row, w, y in zip(rows, weights, wanted, strict=True)) for i in range(count)
    ]
    best: Vector = (0.0,) * count
    most = 0.0
    for size in range(1, count + 1):
        for chosen in combinations(range(count), size):
            inverted = inverse([[total[i][j] for j in chosen] for i in chosen])
            if inverted is None:
                continue
            part = [sum(a * right[j] for a, j in zip(line, chosen, strict=True)) for line in inverted]
            # The reduction of the sum of squares by a solution of the normal equations.
            gain = sum(x * right[i] for x, i in zip(part, chosen, strict=True))
            if min(part) >= 0 and gain > most:
                most = gain
                by_column = dict(zip(chosen, part, strict=True))
                best = tuple(by_column.get(i, 0.0) for i in range(count))
    return best


def dot(a: Sequence[float], b: Sequence[float]) -> float:
    """The dot product."""
    return sum(x * y for x, y in zip(a, b, strict=True))
