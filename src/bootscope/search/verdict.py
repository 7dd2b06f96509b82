# SPDX-License-Identifier: Apache-2.0
"""The verdict on a variant on the emulated board, where boots are exact: is it faster, does it still work?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bootscope.analysis.compare import Comparison
from bootscope.analysis.views import View, comparison
from bootscope.capture.store import Store
from bootscope.core.text import span
from bootscope.search.experiment import Verdict
from bootscope.search.outcome import Outcome, changed_sizes, faults, outcome_of


@dataclass(frozen=True)
class ExactVerdict(Verdict):
    """How a variant compares with its base; `comparison` has the details if they were asked for."""

    base: Outcome
    variant: Outcome
    comparison: Comparison | None = None

    @property
    def faults(self) -> tuple[str, ...]:
        """What does not work in the variant."""
        return faults(self.base, self.variant)

    @property
    def works(self) -> bool:
        return not self.faults

    @property
    def saving_ns(self) -> int | None:
        if c := self.comparison:
            return c.total_a_ns - c.total_b_ns
        return self.base.total_ns - self.variant.total_ns if self.variant.reached else None

    @property
    def total_ns(self) -> int:
        return self.variant.total_ns

    @property
    def phases(self) -> Mapping[str, int]:
        return self.variant.phases

    @property
    def no_slower(self) -> bool:
        return self.works and self.variant.total_ns <= self.base.total_ns

    @property
    def parts_may_help(self) -> bool:
        # Several effects will not cancel each other to the nanosecond.
        return not self.variant.reached or self.variant.total_ns != self.base.total_ns

    @property
    def symbols(self) -> tuple[str, ...]:
        return self.variant.symbols

    @property
    def sizes(self) -> dict[str, tuple[int, int]]:
        """Image -> (bytes in the base, bytes in the variant), only where they differ."""
        return changed_sizes(self.base.sizes, self.variant.sizes)

    def refusal(self, replaced: Sequence[str]) -> str:
        """Why the variant is not accepted instead of those `replaced`; empty if it is."""
        saving_ns = self.base.total_ns - self.variant.total_ns
        if self.faults:
            return "; ".join(self.faults)
        if saving_ns > 0:
            return ""
        if replaced:
            place = " and ".join(replaced)
            return f"no better than {place}, which it would replace: {span(-saving_ns)} more"
        return f"it costs {span(-saving_ns)}" if saving_ns else "it saves nothing"


def verdict(store: Store, a: View, b: View) -> ExactVerdict:
    """The verdict on boot `b` compared with boot `a`, which must have reached its milestone."""
    details = comparison(store, a, b) if b.boot.info.complete else None
    return ExactVerdict(outcome_of(a), outcome_of(b), details)
