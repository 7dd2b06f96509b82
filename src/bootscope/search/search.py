# SPDX-License-Identifier: Apache-2.0
"""The search for a shorter boot: applicable techniques are tried, and what is proven to help is kept.

Each trial is booted with all that was accepted so far, and compared with the same without it: what is faster
and still works is kept. What excludes an accepted technique, such as another file system or another
compression, is tried in its place, so that the best of them remains. What cannot be built or does not boot is
refused with the reason, and the search goes on. After the kernel's sources have changed, such failures are
tried once more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic

from bootscope.audit.findings import Finding
from bootscope.audit.trials import (
    expected_ns,
    leaves_out,
    needs_kernel,
    next_group,
    next_trial,
    other_sources,
    rivals,
)
from bootscope.core.errors import BoardError
from bootscope.search.bisect import Attempt, Bisection
from bootscope.search.experiment import BaseFailedError, Bench, Changes, Experiment, Goal, V
from bootscope.search.foresight import State as _State
from bootscope.search.foresight import foreseen
from bootscope.system.changes import Change

_LIKELY = 0.8
"""How often a technique that is expected to save something does so; affects only the looking ahead."""


class Over(Exception):
    """The search is over; the message says why."""


@dataclass
class Search(Generic[V]):
    """A search under way: what was tried, and the system as it stands."""

    bench: Bench[V]
    goal: Goal
    tell: Callable[[str], None]
    accepted: dict[str, Change] = field(default_factory=dict)
    """By the name that `try` uses."""
    tried: set[str] = field(default_factory=set)
    """What need not be tried again."""
    experiments: list[Experiment[V]] = field(default_factory=list)
    given: tuple[str, ...] = ()
    """Those that the search was begun with: an earlier search has proven them."""
    first: V | None = None
    """The verdict on the techniques that the search was begun with, if the bench has one."""
    now: V | None = None
    """The verdict on the system as it stands."""
    ended: str = ""
    deadline: float = 0.0
    _alone: set[str] = field(default_factory=set)
    _again: set[str] = field(default_factory=set)

    def run(self) -> bool:
        """Searches until the goal is reached, or time or techniques run out; False when the bench failed.

        Raises UserError when the system itself does not boot, and as the bench does.
        """
        self.deadline = time.monotonic() + self.goal.budget_s
        self.given = tuple(self.accepted)
        self.first = self.now = self.bench.begin(self.goal, self.accepted)
        try:
            self._try_all()
            if self.bench.exact:
                # What saved nothing may save something now. Boots are short now, builds are not.
                self._again = {name for e in self.experiments if _worked(e) for name in e.techniques}
                self._try_all()
            self.ended = "nothing is left to try"
        except Over as over:
            self.ended = str(over)
        except (BoardError, BaseFailedError) as error:
            # What was proven before the error is kept.
            self.ended = f"stopped by an error: {error.message}"
            return False
        self.bench.end()
        return True

    def _try_all(self) -> None:
        # Where measuring is exact and cheap, all others are tried together again once one bad one is found.
        halves = Bisection(self._attempt, repeats=True, first_only=self.bench.exact)
        while trial := self._next(self.open(), self.accepted):
            halves.run(trial)

    def _next(self, found: Iterable[Finding], accepted: Changes) -> tuple[Finding, ...]:
        if self.goal.together:
            return next_group(found, self._alone, accepted)
        phases = self.now.phases if self.now else {}
        hurry = self.deadline - time.monotonic() < self.goal.hurry * self.goal.budget_s
        return next_trial(found, self._alone, accepted, phases, hurry)

    def _check(self) -> None:
        total_ns = self.now.total_ns if self.now else None
        if total_ns is not None and total_ns <= self.goal.total_ns:
            raise Over("the goal is reached")
        if time.monotonic() > self.deadline:
            raise Over("the time allowed is over")

    def open(self, seen: V | None = None) -> list[Finding]:
        """What applies to the system as it stands, or to that of `seen`, and has not been tried."""
        found = self.bench.findings(seen or self.now)
        return [f for f in found if self._untried(f) and self.goal.allows(f)]

    def _untried(self, finding: Finding) -> bool:
        # A kernel takes long to build: of all techniques, too many would be built twice.
        worth_a_build = bool(self.goal.only) or not needs_kernel(finding.change)
        return finding.spec not in self.tried or (finding.spec in self._again and worth_a_build)

    # ---- trying ----

    def _attempt(self, trial: Sequence[Finding]) -> Attempt:
        """Tries findings together; if they are refused for good, also with what they make possible."""
        self._check()
        made = self._experiment(trial)
        if in_the_way := self._in_the_way(made):
            made = self._experiment(trial, without=in_the_way)
        self._again -= set(made.techniques)
        if made.halved:
            return Attempt(made.refusal, self._named(trial, made))
        self.tried |= set(made.techniques)
        if not made.accepted and (followers := self._followers(trial, made)):
            self._experiment([*trial, *followers], last=True)
        return Attempt(made.refusal, final=True)

    def _named(self, trial: Sequence[Finding], made: Experiment[V]) -> tuple[int, ...]:
        """Positions of findings to try alone: those whose symbols Kconfig refused, found without a search."""
        found = [n for n, f in enumerate(trial) if _sets(f.change, _symbols(made))]
        if len(found) == len(trial):
            return ()
        self._alone |= {trial[n].spec for n in found}
        return tuple(found)

    def _in_the_way(self, made: Experiment[V]) -> tuple[str, ...]:
        """Accepted techniques that set symbols which Kconfig lacks with what was tried: such as a driver as a
        module, where a configuration from nothing is without its whole class."""
        kept = ((name, change) for name, change in self.accepted.items() if name not in made.replaced)
        return tuple(name for name, change in kept if _sets(change, _symbols(made)))

    def _followers(self, trial: Sequence[Finding], made: Experiment[V]) -> list[Finding]:
        """What a refused change of the layout would make it possible to leave out: a root file system in
        memory pays off once the card's drivers go. Found in the boot with the change."""
        if not made.verdict or not made.verdict.works or not trial[0].change.settings:
            return []
        before = {f.spec for f in self.open()}
        given = self._with(trial, made.replaced)
        found = [f for f in self.open(made.verdict) if leaves_out(f.change) and f.spec not in before]
        return [f for f in found if not rivals(f, given)]

    def _experiment(
        self, trial: Sequence[Finding], last: bool = False, without: Iterable[str] = ()
    ) -> Experiment[V]:
        """Boots the system with the findings, and keeps them if they help.

        With `last` they are not tried in smaller groups; `without` are accepted ones to replace, beside those
        that they exclude.
        """
        names = tuple(f.spec for f in trial)
        excluded = (name for f in trial for name in rivals(f, self.accepted))
        out = tuple(dict.fromkeys((*excluded, *without)))
        with_it = self._with(trial, out)
        judged = self.bench.judge(self.accepted, with_it, names, out, self._ahead(trial))
        parts = not judged.verdict or judged.verdict.parts_may_help
        halved = not judged.accepted and len(trial) > 1 and not last and parts
        on = tuple(self.accepted)
        made = replace(judged, predicted_ns=_sum(trial), on=on, replaced=out, halved=halved)
        if made.accepted and made.verdict:
            self.accepted, self.now = with_it, made.verdict
            self.bench.stands(made.verdict)
            if any(other_sources(f.change) for f in trial):
                self.tried -= {name for e in self.experiments if _broke(e) for name in e.techniques}
        self.experiments.append(made)
        self.tell(self.bench.experiment_line(made))
        return made

    def _with(self, trial: Iterable[Finding], out: Collection[str] = ()) -> dict[str, Change]:
        kept = {name: change for name, change in self.accepted.items() if name not in out}
        return {**kept, **{f.spec: f.change for f in trial}}

    def _ahead(self, trial: Sequence[Finding]) -> Iterator[tuple[Changes, str]]:
        """What follows a trial, most likely first: the next one if it is accepted, the next one if it is
        refused, and so on."""
        left = [f for f in self.open() if f not in trial]
        taken, likely = self._with(trial), _chance(trial)
        first = (_State(likely, taken, left), _State(1 - likely, dict(self.accepted), left))
        return foreseen(first, self.bench.many, self._next, _chance)


def _worked(e: Experiment[V]) -> bool:
    """Whether an experiment was refused only because it saved nothing."""
    return not e.accepted and e.verdict is not None and e.verdict.works


def _broke(e: Experiment[V]) -> bool:
    """Whether an experiment was refused because its system could not be built or did not work."""
    return not e.accepted and not (e.verdict and e.verdict.works)


def _chance(trial: Sequence[Finding]) -> float:
    """How likely it is that a trial is accepted."""
    return _LIKELY if len(trial) > 1 or expected_ns(trial[0]) > 0 else 1 - _LIKELY


def _sum(trial: Sequence[Finding]) -> int | None:
    """The predicted saving of findings together; None when one of them has no prediction."""
    savings = [f.saving_ns for f in trial]
    return None if None in savings else sum(ns for ns in savings if ns is not None)


def _symbols(e: Experiment[V]) -> Collection[str]:
    return e.verdict.symbols if e.verdict else ()


def _sets(change: Change, symbols: Collection[str]) -> bool:
    return any(name.rpartition(".")[2] in symbols for name in change.claims() if ".config." in name)
