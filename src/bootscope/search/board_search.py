# SPDX-License-Identifier: Apache-2.0
"""The search for a shorter boot on a real board: techniques are tried one after the other on a user's own
tree, and those that are proven to help stay.

The order is that of the search on the emulated board (trials.py). What differs is the proof: boots vary, so
that each is measured beside what was accepted before it, in turns, and stays when the whole interval of what
it may be worth is on its side. What cannot be built, or does not boot, is refused with the reason.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from bootscope.analysis.significance import interval
from bootscope.artefacts.identify import together
from bootscope.artefacts.logs import of_understood
from bootscope.audit.findings import Finding, audit
from bootscope.audit.trials import next_trial, rivals
from bootscope.buildtrees import subject
from bootscope.buildtrees.variants import Variant
from bootscope.buildtrees.workshop import BuildFailedError
from bootscope.changes.experiment import title
from bootscope.core.errors import BoardError, UserError, printable
from bootscope.core.text import span
from bootscope.runs.heard import Measured
from bootscope.search.board_ablation import BoardWorth, board_ablate
from bootscope.search.board_bench import BaseFailedError, BoardBench, SameImagesError
from bootscope.search.board_verdict import BoardVerdict, board_verdict
from bootscope.search.optimize import Goal, Over
from bootscope.search.optimize import title as short
from bootscope.system.changes import Change
from bootscope.techniques.model import in_order, techniques


@dataclass(frozen=True)
class BoardExperiment:
    """Techniques that were tried on what was accepted before them (`on`); `replaced` were taken out for them.
    `verdict` is None where nothing was booted; `refusal` says why they were not accepted, and `log` is that
    of a build that failed. With `halved` they were tried in smaller groups after it."""

    techniques: tuple[str, ...]
    predicted_ns: int | None
    on: tuple[str, ...]
    replaced: tuple[str, ...] = ()
    verdict: BoardVerdict | None = None
    refusal: str = ""
    log: str = ""
    halved: bool = False

    @property
    def accepted(self) -> bool:
        """Whether they stay."""
        return not self.refusal


@dataclass
class BoardSearch:
    """A search under way. `whole` is what everything accepted is worth together, measured at the end.
    With `ablates` each of it is taken away before that, and `worths` say what it was worth."""

    bench: BoardBench
    goal: Goal
    tell: Callable[[str], None]
    experiments: list[BoardExperiment] = field(default_factory=list)
    accepted: dict[str, Change] = field(default_factory=dict)
    ended: str = ""
    first_run: str = ""
    whole: BoardVerdict | None = None
    ablates: bool = False
    worths: list[BoardWorth] = field(default_factory=list)
    deadline: float = 0.0
    _now_ns: int | None = None

    def run(self) -> None:
        """Searches until the goal, the budget, or nothing is left.

        Raises UserError when the system itself does not boot, and as the bench does.
        """
        self.deadline = time.monotonic() + self.goal.budget_s
        if self.bench.forgot:
            self.tell("the images without changes are others than the last time: nothing of that counts")
        self.first_run = self.bench.once(self.bench.shop.variants.base)
        left = self._findings()
        self.tell(f"{len(left)} to be tried")
        try:
            self._try_all(left)
        except Over as over:
            self.ended = str(over)
        except (BoardError, BaseFailedError) as error:
            # What was proven until then is worth having.
            self.ended = f"it could not go on: {error.message}"
            return
        try:
            if self.ablates:
                self.worths = board_ablate(self)
            self.whole = self._whole()
        except (BoardError, BaseFailedError) as error:
            self.ended += f", but what was accepted could not be measured to the end: {error.message}"

    def _try_all(self, left: list[Finding]) -> None:
        halves: list[Sequence[Finding]] = []
        while trial := halves.pop(0) if halves else next_trial(left, (), self.accepted):
            self._check()
            if self._try(trial).halved:
                half = (len(trial) + 1) // 2
                halves = [trial[:half], trial[half:], *halves]
            done = {f.spec for f in trial}
            left = [f for f in left if f.spec not in done]
        self.ended = "nothing is left to try"

    def _whole(self) -> BoardVerdict | None:
        """What all that was accepted is worth together; None when that is nothing."""
        if not self.accepted:
            return None
        last = [e for e in self.experiments if e.accepted][-1]
        if not last.on and last.techniques == tuple(self.accepted):
            return last.verdict
        self.tell("all that was accepted, beside the system as it was")
        return self.measured(self.bench.shop.variants.base, self.variant(self.accepted))

    def _check(self) -> None:
        if self._now_ns is not None and self._now_ns <= self.goal.total_ns:
            raise Over("the goal is reached")
        if time.monotonic() > self.deadline:
            raise Over("the time allowed is over")

    def _findings(self) -> list[Finding]:
        """What may be tried: what applies by the tree's files and the first boot's console, and what was
        asked for by name and nothing speaks against."""
        run = Measured(self.bench.store.load_measured(self.first_run)).boot(None)
        pieces = subject.pieces(self.bench.shop.tree)[0]
        with contextlib.suppress(UserError):  # a boot that ends with a silence may have no line
            pieces += of_understood(run.understood)
        seen = audit(together(pieces))
        found = list(seen.findings)
        for technique in techniques().values():
            for name, recipe in technique.recipes.items():
                if technique.id in self.goal.only and title(technique, name) in seen.unknown:
                    found.append(Finding(technique, name, None, "", change=recipe.change))
        return [f for f in found if self._allowed(f)]

    def _allowed(self, finding: Finding) -> bool:
        wanted = not self.goal.only or finding.technique.id in self.goal.only
        useless = finding.saving_ns is not None and finding.saving_ns <= 0
        return wanted and not useless and not set(finding.technique.loses) & set(self.goal.keep)

    # ---- trying ----

    def _try(self, trial: Sequence[Finding]) -> BoardExperiment:
        names = tuple(f.spec for f in trial)
        out = tuple(dict.fromkeys(name for f in trial for name in rivals(f, self.accepted)))
        kept = {name: change for name, change in self.accepted.items() if name not in out}
        with_it = {**kept, **{f.spec: f.change for f in trial}}
        found, refusal, log = self._judged(with_it, out)
        halved = len(trial) > 1 and bool(refusal) and not (found and found.works)
        savings = [f.saving_ns for f in trial]
        predicted = None if None in savings else sum(ns or 0 for ns in savings)
        made = BoardExperiment(names, predicted, tuple(self.accepted), out, found, refusal, log, halved)
        if made.accepted:
            self.accepted = with_it
        self.experiments.append(made)
        self.tell(told(made))
        return made

    def _judged(self, with_it: dict[str, Change], out: Sequence[str]) -> tuple[BoardVerdict | None, str, str]:
        """The verdict on a set of techniques; why it is refused, if it is; the log of a build that failed."""
        base = self.variant(self.accepted)
        try:
            variant = self.variant(with_it)
        except UserError as error:
            return None, error.message, ""
        lost = [line for line in variant.output.lost if line not in base.output.lost]
        if lost and not self.goal.only:
            # Half a technique may well be a board that does not boot; who names it knows.
            return None, f"a part of it cannot be written for this tree: {'; '.join(lost)}", ""
        try:
            found = self.measured(base, variant)
        except SameImagesError as error:
            return None, error.message, ""
        except BuildFailedError as error:
            if error.key != variant.key:
                raise
            return None, error.message, error.log
        if found.proven and found.comparison and found.comparison.goal.b:
            self._now_ns = found.comparison.goal.b.median_ns
        return found, _why_not(found, out), ""

    def variant(self, accepted: Mapping[str, Change]) -> Variant:
        """The tree with what was accepted. Raises UserError when that cannot be put together or written."""
        return self.bench.shop.variants.of(in_order(accepted))

    def measured(self, base: Variant, variant: Variant) -> BoardVerdict:
        """A variant measured beside another one. Raises as the bench does."""
        pair = self.bench.pair(base, variant)
        return board_verdict(self.bench.store, pair, self.bench.shop.deploys)


def _why_not(found: BoardVerdict, replaced: Sequence[str]) -> str:
    if not found.works:
        return "; ".join(found.faults)
    if found.proven:
        return ""
    c = found.comparison
    if c is None or c.refused or not c.goal.shift:
        return c.refused if c else "no boot came to its end"
    place = f" beside {' and '.join(replaced)}, in whose place it would come" if replaced else ""
    if c.goal.shift.low_ns > 0:
        return f"it costs {span(c.goal.shift.shift_ns)} ({interval(c.goal)}){place}"
    return f"no saving shown{place}: the time changes by {interval(c.goal)}"


def told(e: BoardExperiment) -> str:
    """An experiment in a line."""
    name, found = short(e.techniques), e.verdict
    if not e.accepted or not found or found.saving_ns is None or not found.comparison:
        parts = "; trying parts of them" if e.halved else ""
        return f"{name}: {printable(' ... '.join(e.refusal.splitlines()[:3]))}{parts}"
    return f"{name}: saves {span(found.saving_ns)} (the time changes by {interval(found.comparison.goal)})"
