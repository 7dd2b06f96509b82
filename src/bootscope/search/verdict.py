# SPDX-License-Identifier: Apache-2.0
"""The verdict on a variant: is it faster, and does it still work? From two recordings."""

from __future__ import annotations

from dataclasses import dataclass

from bootscope.analysis.compare import Comparison
from bootscope.analysis.views import View, comparison
from bootscope.capture.store import Store
from bootscope.capture.stored import StoredRun
from bootscope.search.outcome import faults, outcome_of


@dataclass(frozen=True)
class Verdict:
    """What a variant (`b`) is worth beside its base (`a`).

    `faults` says what does not work any more; `sizes` maps image -> (bytes in a, bytes in b), 0 where
    there is no such image, and only where they differ.
    """

    run_a: str
    run_b: str
    faults: tuple[str, ...]
    sizes: dict[str, tuple[int, int]]
    comparison: Comparison | None

    @property
    def works(self) -> bool:
        """Whether all that was checked still works."""
        return not self.faults

    @property
    def saving_ns(self) -> int | None:
        """What the variant saves; negative when it costs; None when it did not get that far."""
        c = self.comparison
        return c.total_a_ns - c.total_b_ns if c else None


def verdict(store: Store, a: View, b: View) -> Verdict:
    """The verdict on boot `b` beside boot `a`, which must have reached its milestone."""
    found = faults(outcome_of(a), outcome_of(b))
    reached = b.boot.info.complete
    return Verdict(
        a.run.info.run_id,
        b.run.info.run_id,
        found,
        _sizes(a.run, b.run),
        comparison(store, a, b) if reached else None,
    )


def _sizes(a: StoredRun, b: StoredRun) -> dict[str, tuple[int, int]]:
    one, other = ({p.name: p.size_bytes for p in run.info.parts} for run in (a, b))
    return {
        name: (one.get(name, 0), other.get(name, 0))
        for name in sorted({*one, *other})
        if one.get(name) != other.get(name)
    }
