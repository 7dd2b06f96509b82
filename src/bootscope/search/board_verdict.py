# SPDX-License-Identifier: Apache-2.0
"""The verdict on a variant that was measured on a real board: is it faster, how surely, does it still
work?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bootscope.analysis.samples import SampleSet
from bootscope.analysis.significance import FASTER, SAME, BootComparison, against, interval
from bootscope.capture.store import Store
from bootscope.core.text import span
from bootscope.runs.run import sample_set
from bootscope.search.board_bench import Pair, whole
from bootscope.search.experiment import Verdict


@dataclass(frozen=True)
class BoardVerdict(Verdict):
    """How a variant (`b` of the comparison) compares with its base (`a`). `comparison` is None if no boot of
    the variant completed. `faults`: what does not work; `notes`: what to know before relying on it."""

    pair: Pair
    comparison: BootComparison | None
    faults: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def works(self) -> bool:
        return not self.faults

    @property
    def saving_ns(self) -> int | None:
        shift = self.comparison.goal.shift if self.comparison else None
        return -shift.shift_ns if shift else None

    @property
    def proven(self) -> bool:
        """Whether it works and its saving is proven: the whole interval is above 0."""
        c = self.comparison
        return self.works and c is not None and c.goal.word == FASTER

    @property
    def total_ns(self) -> int | None:
        b = self.comparison.goal.b if self.comparison else None
        return b.median_ns if b else None

    @property
    def no_slower(self) -> bool:
        return self.works and self.comparison is not None and self.comparison.goal.word in (FASTER, SAME)

    @property
    def parts_may_help(self) -> bool:
        return not self.works

    def refusal(self, replaced: Sequence[str]) -> str:
        """Why the variant is not accepted instead of those `replaced`; empty if it is."""
        if not self.works:
            return "; ".join(self.faults)
        if self.proven:
            return ""
        c = self.comparison
        if c is None or c.refused or not c.goal.shift:
            return c.refused if c else "no boot completed"
        place = f" against {' and '.join(replaced)}, which it would replace" if replaced else ""
        if c.goal.shift.low_ns > 0:
            return f"it costs {span(c.goal.shift.shift_ns)} ({interval(c.goal)}){place}"
        return f"no saving shown{place}: the time changes by {interval(c.goal)}"


def board_verdict(store: Store, pair: Pair, deploys: bool) -> BoardVerdict:
    """The verdict on two variants; `deploys`: whether anything but the build puts images onto the board.

    Raises UserError when a recording is damaged.
    """
    a = _sample(store, pair.base_run)
    b = _sample(store, pair.variant_run) if pair.variant_run else None
    comparison = against(a, b) if b and b.complete else None
    lost = _lost(a, b) if b and not pair.faults else ()
    return BoardVerdict(pair, comparison, (*pair.faults, *lost), _notes(pair, comparison, deploys))


def _sample(store: Store, run_id: str) -> SampleSet:
    """The boots of a recording, without those that an interruption cut off."""
    found = sample_set(store, run_id)
    ids = {boot.info.boot_id for boot in whole(store.load_measured(run_id).boots)}
    return replace(found, boots=tuple(boot for boot in found.boots if boot.boot_id in ids))


def _lost(a: SampleSet, b: SampleSet) -> tuple[str, ...]:
    """The variant's failed boots, in words, if a larger part failed than of its base's."""
    in_a, in_b = (len(s.boots) - len(s.complete) for s in (a, b))
    if in_b * len(a.boots) <= in_a * len(b.boots):
        return ()
    first = next(boot for boot in b.boots if not boot.complete)
    return (
        f"{in_b} of {len(b.boots)} boots failed, and {in_a} of {len(a.boots)} without: "
        f"{first.boot_id} {first.why}",
    )


_SIDES = {"A": "without", "B": "with"}


def _notes(pair: Pair, comparison: BootComparison | None, deploys: bool) -> tuple[str, ...]:
    found = [_SIDES[note[0]] + note[1:] for note in (comparison.notes if comparison else ())]
    if pair.rounds == 1 and comparison:
        takes = f" (deploying takes {pair.deploy_s:.0f} s)" if pair.deploy_s >= 1 else ""
        found.append(
            f"all boots of one variant ran before those of the other{takes}: other changes on the "
            "board in between affect the figures (--rounds)"
        )
    if not deploys:
        found.append("no deploy command: the build must deploy the images (--deploy)")
    return (*found, *pair.missed, *(note for note in pair.variant.notes if note not in pair.base.notes))
