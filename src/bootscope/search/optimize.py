# SPDX-License-Identifier: Apache-2.0
"""The search for a shorter boot: what applies is tried, and what is proven to help stays.

Everything is booted with all that was accepted so far, and compared with the same without it: what is
faster and still works stays. What excludes an accepted technique, such as another file system or
another compression, is tried in its place, so that the best of them is left. What cannot be built or
does not boot is refused with the reason, and the search goes on.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from bootscope.analysis.views import view
from bootscope.audit.findings import Finding, audit
from bootscope.audit.trials import expected_ns, leaves_out, needs_kernel, next_trial, rivals
from bootscope.changes.compose import composed
from bootscope.core.errors import UserError, printable
from bootscope.core.text import seconds, span
from bootscope.inventory.recorded import facts
from bootscope.search.outcome import Outcome, faults
from bootscope.search.scheduler import Candidate, Scheduler
from bootscope.system.changes import Change, apply
from bootscope.system.load import LoadedSystem
from bootscope.techniques.model import in_order


@dataclass(frozen=True)
class Experiment:
    """Techniques that were tried together, on what was accepted before them (`on`).

    `replaced`: accepted ones that were taken out for them. `refusal` says why they were not accepted;
    with `halved` it is not the last word on them: they were tried in smaller groups.
    """

    techniques: tuple[str, ...]
    predicted_ns: int | None
    base: Outcome
    variant: Outcome | None
    on: tuple[str, ...]
    replaced: tuple[str, ...] = ()
    refusal: str = ""
    halved: bool = False

    @property
    def accepted(self) -> bool:
        """Whether they stay."""
        return not self.refusal

    @property
    def saving_ns(self) -> int | None:
        """What they save; below 0 when they cost time; None where the boot did not get that far."""
        return self.base.total_ns - self.variant.total_ns if self.variant and self.variant.reached else None

    @property
    def reason(self) -> str:
        """The refusal in a line, with the place of the full log of a build."""
        lines = self.refusal.splitlines() or [""]
        # The first line of a failed build names the step, the last one the cause.
        words = " ... ".join(dict.fromkeys([lines[0].strip(), lines[-1].strip()]))
        log = f"; full log: {self.variant.log}" if self.variant and self.variant.log else ""
        return printable(words + log)


@dataclass(frozen=True)
class Goal:
    """When to stop, and what must not be lost. Times in ns of board time and seconds of host time."""

    total_ns: int = 0
    budget_s: float = 7200
    keep: Collection[str] = ()
    only: Collection[str] = ()


_PATIENCE = 2
"""How many times the board time of another boot a boot may take, in the virtual time that is a part of it."""


_HURRY = 0.5
"""When so much of the time is left, what is worth much does not wait for its turn any more."""


class Over(Exception):
    """The search has come to its end; the message says why."""


@dataclass
class Search:
    """A search under way: what was tried, and the system as it stands."""

    scheduler: Scheduler
    loaded: LoadedSystem
    goal: Goal
    tell: Callable[[str], None]
    experiments: list[Experiment] = field(default_factory=list)
    accepted: dict[str, Change] = field(default_factory=dict)
    """By the name that `try` knows them by."""
    given: tuple[str, ...] = ()
    """Those that the search was begun with: another one has proven them."""
    tried: set[str] = field(default_factory=set)
    """What need not be tried any more."""
    ended: str = ""
    base: Outcome | None = None
    first: Outcome | None = None
    """What came of the system with what it was begun with."""
    current: Outcome | None = None
    deadline: float = 0.0
    _alone: set[str] = field(default_factory=set)
    _again: set[str] = field(default_factory=set)

    def run(self) -> Outcome:
        """Searches until the goal, the budget, or nothing is left; returns what the last system came to.

        Raises UserError when the system itself does not boot, and as the scheduler does.
        """
        self.deadline = time.monotonic() + self.goal.budget_s
        self.base = self.scheduler.measured(Candidate((), self.loaded, self.loaded.system.name))
        if not self.base.reached:
            raise UserError(f"{self.loaded.system.name} itself does not boot: {self.base.message}")
        if self.base.unanswered:
            raise UserError(f"{self.loaded.system.name} itself does not work: {self.base.unanswered[0]}")
        self.scheduler.give_up_after(_PATIENCE * self.base.total_ns)
        self.current = self.first = self.measured(self.accepted) if self.accepted else self.base
        if faults(self.base, self.first):
            raise UserError(f"what it was begun with does not work: {self.first.message}")
        try:
            self._try_all()
            # What saved nothing may save something now. Boots are short by now, builds of kernels are not.
            self._again = {name for e in self.experiments if _worked(e) for name in e.techniques}
            self._try_all()
            raise Over("nothing is left to try")
        except Over as over:
            self.ended = str(over)
        self.scheduler.hint(())
        # What is tried from now on may well be slower.
        self.scheduler.give_up_after(_PATIENCE * self.base.total_ns)
        return self.current

    def _try_all(self) -> None:
        while trial := self._next(self.open(), self.accepted):
            self._try(trial)

    def _next(self, found: Iterable[Finding], accepted: Mapping[str, Change]) -> tuple[Finding, ...]:
        phases = self.current.phases if self.current else {}
        hurry = self.deadline - time.monotonic() < _HURRY * self.goal.budget_s
        return next_trial(found, self._alone, accepted, phases, hurry)

    def check(self) -> None:
        """Raises Over when the goal is reached or the time is over."""
        assert self.current
        if self.current.total_ns <= self.goal.total_ns:
            raise Over("the goal is reached")
        if time.monotonic() > self.deadline:
            raise Over("the time allowed is over")

    # ---- what there is to try ----

    def open(self, outcome: Outcome | None = None) -> list[Finding]:
        """What applies to the system as it stands, or to another one, and has not been tried."""
        outcome = outcome or self.current
        assert outcome
        bench, run_id = self.scheduler.bench, outcome.run_id

        def look() -> tuple[Finding, ...]:
            seen = view(bench.store, bench.store.load(run_id))
            return audit(facts(bench.store, seen, bench.cache)).findings

        found = self.scheduler.journal.findings(run_id, look)
        return [f for f in found if self._untried(f) and self._allowed(f)]

    def _untried(self, finding: Finding) -> bool:
        again = finding.spec in self._again and not needs_kernel(finding.change)
        return again or finding.spec not in self.tried

    def _allowed(self, finding: Finding) -> bool:
        technique = finding.technique
        wanted = not self.goal.only or technique.id in self.goal.only
        # A prediction is sure enough that what is predicted to save nothing need not be booted.
        useless = finding.saving_ns is not None and finding.saving_ns <= 0
        return wanted and not useless and not set(technique.loses) & set(self.goal.keep)

    def changes(self, accepted: Mapping[str, Change]) -> dict[str, Change]:
        """Changes as they are made together. Raises UserError when they conflict."""
        return composed(self.loaded.system, {name: accepted[name] for name in in_order(accepted)})

    def system(self, accepted: Mapping[str, Change]) -> LoadedSystem:
        """The system that was begun with, with some changes. Raises UserError when they conflict."""
        changed = apply(self.loaded.system, self.changes(accepted))
        named = msgspec.structs.replace(changed, name=f"{self.loaded.system.name}.optimized")
        return LoadedSystem(named, self.loaded.path)

    def candidate(self, accepted: Mapping[str, Change], title: str = "") -> Candidate:
        """The system with those changes, for the scheduler. Raises UserError when they conflict."""
        loaded = self.system(accepted) if accepted else self.loaded
        return Candidate(tuple(sorted(accepted)), loaded, title or "everything accepted")

    def measured(self, accepted: Mapping[str, Change], title: str = "") -> Outcome:
        """What came of the system with those changes. Raises UserError when they conflict."""
        return self.scheduler.measured(self.candidate(accepted, title))

    # ---- trying ----

    def _try(self, trial: Sequence[Finding]) -> bool:
        """Tries findings together; in halves when that does not help, down to one that is to blame.

        Returns whether one was found: all the others may then be tried together again.
        """
        self.check()
        made = self._experiment(trial)
        if in_the_way := self._in_the_way(made):
            made = self._experiment(trial, without=in_the_way)
        self._again -= set(made.techniques)
        if not made.halved:
            self.tried |= set(made.techniques)
            followers = [] if made.accepted else self._followers(trial, made)
            if followers:
                self._experiment([*trial, *followers], last=True)
            return not made.accepted
        assert made.variant
        guilty = [f for f in trial if _sets(f.change, made.variant.symbols)]
        if guilty and len(guilty) < len(trial):
            # What Kconfig refuses it names, so that nobody need search for it.
            self._alone |= {f.spec for f in guilty}
            return self._try([f for f in trial if f not in guilty])
        half = (len(trial) + 1) // 2
        return self._try(trial[:half]) or self._try(trial[half:])

    def _in_the_way(self, made: Experiment) -> tuple[str, ...]:
        """Accepted techniques that ask for symbols which Kconfig does not have with what was tried: such as a
        driver as a module, where a configuration from nothing is without its whole class."""
        symbols = made.variant.symbols if made.variant else ()
        kept = ((name, change) for name, change in self.accepted.items() if name not in made.replaced)
        return tuple(name for name, change in kept if _sets(change, symbols))

    def _followers(self, trial: Sequence[Finding], made: Experiment) -> list[Finding]:
        """What a refused change of the layout would make possible to leave out: a root file system in memory
        pays when the drivers of the card go. What the boot showed with the change tells."""
        variant = made.variant
        if not variant or not trial[0].change.settings or faults(made.base, variant):
            return []
        before = {f.spec for f in self.open()}
        given = self._with(trial, made.replaced)
        found = [f for f in self.open(variant) if leaves_out(f.change) and f.spec not in before]
        return [f for f in found if not rivals(f, given)]

    def _experiment(
        self, trial: Sequence[Finding], last: bool = False, without: Iterable[str] = ()
    ) -> Experiment:
        """Boots the system with the findings, and keeps them when they are worth it.

        With `last` they are not to be tried in smaller groups; `without` are accepted ones that they come in
        the place of, beside those that they exclude.
        """
        assert self.current
        names = tuple(f.spec for f in trial)
        excluded = (name for f in trial for name in rivals(f, self.accepted))
        out = tuple(dict.fromkeys((*excluded, *without)))
        with_it = self._with(trial, out)
        try:
            candidate = self.candidate(with_it, title(names))
            # Whoever takes much longer than what there is need not come to an end.
            self.scheduler.give_up_after(_PATIENCE * self.current.total_ns)
            if not self.scheduler.known(candidate):
                self._hint(trial)
            variant = self.scheduler.measured(candidate)
        except UserError as error:
            # They conflict with what is accepted in a way that no technique tells of.
            variant = Outcome(key="", what=names, message=error.message)
        base, on = self.current, tuple(self.accepted)
        why, halved = _why_not(base, variant, out), False
        if not why:
            self.accepted, self.current = with_it, variant
        elif len(trial) > 1:
            # That several effects cancel each other to the nanosecond is not to be feared.
            halved = not last and (not variant.reached or variant.total_ns != base.total_ns)
        made = Experiment(names, _sum(trial), base, variant, on, out, why, halved)
        self.experiments.append(made)
        self.tell(told(made))
        return made

    def _with(self, trial: Iterable[Finding], out: Collection[str] = ()) -> dict[str, Change]:
        kept = {name: change for name, change in self.accepted.items() if name not in out}
        return {**kept, **{f.spec: f.change for f in trial}}

    def _hint(self, trial: Sequence[Finding]) -> None:
        """Tells the scheduler what comes after a trial, as far as that can be foreseen."""
        left = [f for f in self.open() if f not in trial]
        accepted = self._with(trial) if _likely(trial) else dict(self.accepted)
        found = []
        for _ in range(self.scheduler.boots + 1):
            after = self._next(left, accepted)
            if not after:
                break
            out = {name for f in after for name in rivals(f, accepted)}
            with_it = {n: c for n, c in accepted.items() if n not in out} | {f.spec: f.change for f in after}
            with contextlib.suppress(UserError):
                found.append(self.candidate(with_it, title([f.spec for f in after])))
            accepted = with_it if _likely(after) else accepted
            left = [f for f in left if f not in after]
        self.scheduler.hint(found)


def title(names: Sequence[str]) -> str:
    """What several techniques are called in a line."""
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def told(e: Experiment) -> str:
    """An experiment in a line."""
    name = title(e.techniques)
    if not e.accepted or not e.variant or e.saving_ns is None:
        return f"{name}: {e.reason}{'; trying parts of them' if e.halved else ''}"
    return f"{name}: saves {span(e.saving_ns)}, now {seconds(e.variant.total_ns)} s"


def _why_not(base: Outcome, variant: Outcome, replaced: Sequence[str]) -> str:
    found = faults(base, variant)
    if found:
        return "; ".join(found)
    saving = base.total_ns - variant.total_ns
    if saving > 0:
        return ""
    if replaced:
        return f"no better than {' and '.join(replaced)}, in whose place it would come: {span(-saving)} more"
    return f"it costs {span(-saving)}" if saving else "it saves nothing"


def _worked(e: Experiment) -> bool:
    """Whether an experiment was refused only for what it saved."""
    return not e.accepted and e.variant is not None and not faults(e.base, e.variant)


def _likely(trial: Sequence[Finding]) -> bool:
    """Whether a trial will probably be accepted."""
    return len(trial) > 1 or expected_ns(trial[0]) > 0


def _sum(trial: Sequence[Finding]) -> int | None:
    """What findings are predicted to save; None when there is no prediction for one of them."""
    savings = [f.saving_ns for f in trial]
    return None if None in savings else sum(ns for ns in savings if ns is not None)


def _sets(change: Change, symbols: Collection[str]) -> bool:
    return any(name.rpartition(".")[2] in symbols for name in change.claims() if ".config." in name)
