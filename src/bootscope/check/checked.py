# SPDX-License-Identifier: Apache-2.0
"""The result of a check file: one outcome for each of its products."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bootscope.analysis.samples import PHASE, TOTAL, Quantity
from bootscope.check.decide import Outcome
from bootscope.statistics.describe import median

MISSED, NO_VERDICT, KEPT = VERDICTS = ("missed", "no verdict", "kept")
"""Verdicts on a product, the worst first."""


@dataclass(frozen=True)
class Checked:
    """The check of a product; `product` is empty if the check file has only one."""

    product: str
    outcome: Outcome

    @property
    def verdict(self) -> str:
        """One of VERDICTS."""
        if self.outcome.refused:
            return NO_VERDICT
        return MISSED if self.outcome.missed else KEPT


@dataclass(frozen=True)
class Beside:
    """A figure of a run beside that of its baseline: medians in ns."""

    quantity: Quantity
    now_ns: int
    before_ns: int

    @property
    def change_ns(self) -> int:
        """The change in ns: above 0 if slower."""
        return self.now_ns - self.before_ns


def all_kept(checked: Sequence[Checked]) -> bool:
    """Whether nothing was missed and nothing is without a verdict."""
    return all(each.verdict == KEPT for each in checked)


def beside_baseline(outcome: Outcome) -> Iterator[Beside]:
    """What the run and its baseline both have: milestones first, then phases, then the total."""
    if outcome.baseline is None or outcome.refused:
        return
    rank = {PHASE: 1, TOTAL: 2}
    there = set(outcome.baseline.quantities())
    both = [quantity for quantity in outcome.boots.quantities() if quantity in there]
    for quantity in sorted(both, key=lambda q: rank.get(q.kind, 0)):
        now, before = outcome.boots.values(quantity), outcome.baseline.values(quantity)
        if now and before:
            yield Beside(quantity, median(now), median(before))
