# SPDX-License-Identifier: Apache-2.0
"""How far predictions were off: what was predicted of techniques against what was measured."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from bootscope.techniques.model import Measured


def error_percent(row: Measured) -> float | None:
    """By how many percent of the measured saving the prediction lies above it (negative: below).

    None where one of the two is missing, or nothing was saved or lost.
    """
    if row.predicted_ns is None or not row.saving_ns or row.error:
        return None
    return (row.predicted_ns - row.saving_ns) * 100 / abs(row.saving_ns)


def strict_median_percent(rows: Iterable[Measured]) -> tuple[float, int] | None:
    """The same over all rows that saved or cost something: one without a prediction is off by 100 percent,
    as if none of it had been foreseen."""
    measured = [row for row in rows if row.saving_ns and not row.error]
    errors = [100.0 if (found := error_percent(row)) is None else abs(found) for row in measured]
    return (median(errors), len(errors)) if errors else None


def median_error_percent(rows: Iterable[Measured]) -> tuple[float, int] | None:
    """(the median of the errors without their signs, of how many); None when there are none."""
    errors = [abs(e) for e in map(error_percent, rows) if e is not None]
    return (median(errors), len(errors)) if errors else None
