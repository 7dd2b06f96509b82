# SPDX-License-Identifier: Apache-2.0
"""Two runs of several boots compared: what differs, how surely, and what these boots could have shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bootscope.analysis.ground import Ground, common_ground
from bootscope.analysis.joined import joined
from bootscope.analysis.samples import MILESTONE, PHASE, TOTAL, Quantity, SampleSet, goal
from bootscope.core.text import between
from bootscope.statistics.describe import Description, describe
from bootscope.statistics.planning import Noise
from bootscope.statistics.shift import ALPHA, FEWEST, Shift, shift

FASTER, SLOWER, NOT_SHOWN, SAME = "faster", "slower", "no difference shown", "the same"
ADVISED = 10
"""Boots of each side that most boards need to show a change of a few percent."""
PLANNED_PERCENT = 2
"""The change for which boots are planned, whatever was found."""


@dataclass(frozen=True)
class ComparedQuantity:
    """A quantity in both runs. `a` and `b` are None if a run does not have it; the rest is None if there are
    too few boots for a verdict.

    `p` is the p value, corrected if several quantities were tested together. These boots would have shown a
    change of `smallest_ns` in 4 of 5 cases; `needed` boots of each side would show the change found, and
    `needed_planned` a change of :data:`PLANNED_PERCENT`, in 4 of 5 cases.
    """

    quantity: Quantity
    a: Description | None
    b: Description | None
    shift: Shift | None = None
    p: float | None = None
    smallest_ns: int | None = None
    needed: int | None = None
    needed_planned: int | None = None

    @property
    def same(self) -> bool:
        """Whether all boots of both runs have the same value."""
        if not (self.a and self.b):
            return False
        return self.a.lowest_ns == self.a.highest_ns == self.b.lowest_ns == self.b.highest_ns

    @property
    def word(self) -> str:
        """The verdict: faster, slower, no difference shown, the same; empty if there is none."""
        if self.shift is None or self.p is None:
            return ""
        if self.same:
            return SAME
        if self.p > ALPHA or not self.shift.shift_ns:
            return NOT_SHOWN
        return SLOWER if self.shift.shift_ns > 0 else FASTER


@dataclass(frozen=True)
class BootComparison:
    """Run B against run A. `goal` is the quantity of the verdict, `details` the rest, corrected as one
    family.

    `refused` says why there is no verdict, and is empty if there is one.
    """

    a: SampleSet
    b: SampleSet
    goal: ComparedQuantity
    details: tuple[ComparedQuantity, ...]
    refused: str
    notes: tuple[str, ...]


def against(a: SampleSet, b: SampleSet, milestone: str | None = None) -> BootComparison:
    """Compares two runs, at least one of them not exact, by `milestone` or by the one that they were made
    for.

    Raises UserError if they do not have that milestone.
    """
    # An exact boot's clock differs from all others: they cannot be put on common ground.
    ground = common_ground((a, b)) if a.exact == b.exact else Ground((a, b))
    a, b = ground.sets
    wanted = goal((a, b), milestone)
    first = _versus(a, b, wanted)
    refused = ground.refused or _refusal(a, b, wanted)
    like_a, like_b = joined(a, b)
    others = [q for q in dict.fromkeys((*like_a.quantities(), *like_b.quantities())) if q != wanted]
    # If there are phases, the other milestones are only sums of them, and each further test takes more boots.
    kind = MILESTONE if all(q.kind != PHASE for q in others) else PHASE
    return BootComparison(
        a,
        b,
        _planned(a, b, first),
        holm([_versus(like_a, like_b, q) for q in others if q.kind in (kind, TOTAL)]),
        refused,
        (*ground.notes, *notes("A", a, first.a, wanted), *notes("B", b, first.b, wanted)),
    )


def _versus(a: SampleSet, b: SampleSet, quantity: Quantity) -> ComparedQuantity:
    in_a, in_b = a.values(quantity), b.values(quantity)
    enough = min(len(in_a), len(in_b)) >= FEWEST and not (a.exact or b.exact)
    found = shift(in_a, in_b, max(a.step_ns, b.step_ns)) if enough else None
    described = [describe(v, of.step_ns) if v else None for v, of in ((in_a, a), (in_b, b))]
    return ComparedQuantity(quantity, described[0], described[1], found, found.p if found else None)


def _planned(a: SampleSet, b: SampleSet, found: ComparedQuantity) -> ComparedQuantity:
    """Adds what these boots could have shown, and how many boots are needed."""
    if not (found.shift and found.a):
        return found
    in_a, in_b = a.values(found.quantity), b.values(found.quantity)
    noise = Noise(in_a, in_b, step_ns=max(a.step_ns, b.step_ns))
    return replace(
        found,
        smallest_ns=noise.smallest(len(in_a), len(in_b)),
        needed=noise.boots_for(found.shift.shift_ns),
        needed_planned=noise.boots_for(abs(found.a.median_ns) * PLANNED_PERCENT // 100),
    )


def holm(found: Sequence[ComparedQuantity]) -> tuple[ComparedQuantity, ...]:
    """The same with p values corrected for multiple tests (Holm, 1979): the chance that any of them is a
    false alarm stays that of a single test. Quantities that never vary cannot cause one and are not
    counted."""
    ranked = sorted((v.p, at) for at, v in enumerate(found) if v.p is not None and not v.same)
    corrected: dict[int, float] = {}
    so_far = 0.0
    for place, (p, at) in enumerate(ranked):
        so_far = max(so_far, min(1.0, p * (len(ranked) - place)))
        corrected[at] = so_far
    return tuple(replace(v, p=corrected.get(at, v.p)) for at, v in enumerate(found))


def _refusal(a: SampleSet, b: SampleSet, quantity: Quantity) -> str:
    """Why there can be no verdict; empty if there can."""
    if a.exact != b.exact:
        exact, other = ("A", "B") if a.exact else ("B", "A")
        return f"{exact} is exact (emulated board) and {other} is not: their clocks differ"
    few = [
        f"{side} has {count}"
        for side, count in (("A", len(a.of(quantity))), ("B", len(b.of(quantity))))
        if count < FEWEST
    ]
    if few:
        return f"no verdict from fewer than {FEWEST} boots that reach {quantity}: {' and '.join(few)}"
    return ""


def notes(side: str, boots: SampleSet, found: Description | None, quantity: Quantity) -> tuple[str, ...]:
    """What to know about the boots of a run before trusting a figure: whatever is unusual."""
    lost = len(boots.boots) - len(boots.of(quantity))
    words = f"{side}: {lost} of {len(boots.boots)} boots did not reach {quantity}: excluded from all figures"
    return (*([words] if lost else []), *oddities(side, boots, found, quantity))


def oddities(side: str, boots: SampleSet, found: Description | None, quantity: Quantity) -> tuple[str, ...]:
    """What is odd about the boots that reached their end, which `found` describes."""
    said: list[str] = []
    if found is None or boots.exact:
        return ()
    names = [boots.of(quantity)[at].boot_id.rpartition("/")[2].lstrip("0") for at in found.outliers]
    if names:
        which = f"outlier boot{'' if len(names) == 1 else 's'} {', '.join(names)}"
        said.append(f"{side}: {which} (modified z score above 3.5); included in all figures")
    if found.warm_up_ns:
        off = f"{found.warm_up_ns / 1e6:+.1f} ms"
        said.append(f"{side}: the first boot differs from the others ({off}); if this recurs, leave it out")
    if found.drift:
        per_boot = f"{found.drift.per_boot_ns / 1e6:+.3f} ms a boot (Mann-Kendall, p = {found.drift.p:.2g})"
        said.append(
            f"{side} drifts by {per_boot}: interleave the variants, or wait until the board is stable"
        )
    return tuple(said)


def interval(v: ComparedQuantity) -> str:
    """The range of the change: `+80.1 to +121.0 ms`."""
    return between(v.shift.low_ns, v.shift.high_ns) if v.shift else "-"
