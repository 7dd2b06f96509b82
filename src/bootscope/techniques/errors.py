# SPDX-License-Identifier: Apache-2.0
"""How far predictions were off: what was predicted of techniques against what was measured."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from bootscope.techniques.model import Measured


def error_percent(row: Measured) -> float | None:
    """How many percent of the measured saving the prediction is too high (negative: too low).

    None where one of the two is missing, or nothing was saved or lost.
    """
    if row.predicted_ns is None or not row.saving_ns or row.error:
        return None
    return (row.predicted_ns - row.saving_ns) * 100 / abs(row.saving_ns)


def median_error_percent(rows: Iterable[Measured], strict: bool = False) -> tuple[float, int] | None:
    """(the median of the absolute errors, their number); None when there are none. When `strict`, a technique
    that saved or cost something without a prediction is off by 100 percent, as if zero had been predicted.
    Predictions are for the whole boot: recipes with another milestone are not counted."""
    measured = [row for row in rows if row.saving_ns and not row.error and not row.milestone]
    found = (100.0 if strict and row.predicted_ns is None else error_percent(row) for row in measured)
    errors = [abs(error) for error in found if error is not None]
    return (median(errors), len(errors)) if errors else None
