# SPDX-License-Identifier: Apache-2.0
"""The bench of the emulated board: boots are exact, so one boot of each variant is enough."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import islice

import msgspec

from bootscope.analysis.views import view
from bootscope.audit.findings import Finding, audit
from bootscope.changes.applies import fill
from bootscope.changes.compose import composed, speaks_of
from bootscope.changes.impossible import prebuilt
from bootscope.core.errors import UserError
from bootscope.core.text import seconds, span
from bootscope.inventory import application_profile
from bootscope.inventory.recorded import facts
from bootscope.search.emulator import Emulator
from bootscope.search.experiment import Ahead, Bench, Changes, Experiment, Goal, Worth, title, without
from bootscope.search.job import Candidate
from bootscope.search.outcome import Outcome
from bootscope.search.scheduler import Scheduler
from bootscope.search.search import Search
from bootscope.search.training import profile
from bootscope.search.verdict import ExactVerdict
from bootscope.system.changes import Change, apply
from bootscope.system.load import LoadedSystem
from bootscope.techniques.model import in_order

_PATIENCE = 2
"""A boot is given up after this many times the board time of the boot it is compared with."""


class EmulatedBench(Bench[ExactVerdict]):
    """Variants of the system `loaded`, built and booted by a scheduler. `count` makes the profile of its
    application."""

    exact = True

    def __init__(
        self,
        scheduler: Scheduler,
        loaded: LoadedSystem,
        count: Callable[[Emulator, LoadedSystem], str] = profile,
    ) -> None:
        self.scheduler, self.loaded, self._count = scheduler, loaded, count
        self._base_ns = 0

    @property
    def many(self) -> bool:
        return self.scheduler.bench.hands > 1

    def begin(self, goal: Goal, accepted: Changes) -> ExactVerdict:
        name = self.loaded.system.name
        self.scheduler.to_beat(None)  # what an earlier search found is no measure for this one
        base = self.scheduler.measured(Candidate((), self.loaded, name))
        if not base.reached:
            raise UserError(f"{name} itself does not boot: {base.message}")
        if base.unanswered:
            raise UserError(f"{name} itself does not work: {base.unanswered[0]}")
        self._base_ns = base.total_ns
        self.scheduler.give_up_after(_PATIENCE * base.total_ns)
        first = ExactVerdict(base, self.outcome(accepted) if accepted else base)
        if not first.works:
            raise UserError(f"the starting point does not work: {first.variant.message}")
        self.stands(first)
        return first

    def stands(self, verdict: ExactVerdict) -> None:
        # A variant that takes much longer than the present system need not complete.
        self.scheduler.give_up_after(_PATIENCE * verdict.total_ns)
        self.scheduler.to_beat(verdict.total_ns)

    def end(self) -> None:
        self.scheduler.hint(())
        # From now on variants may well be slower than the present system.
        self.scheduler.give_up_after(_PATIENCE * self._base_ns)
        self.scheduler.to_beat(None)

    def findings(self, seen: ExactVerdict | None) -> list[Finding]:
        assert seen
        bench, run_id = self.scheduler.bench, seen.variant.run_id

        def look() -> tuple[Finding, ...]:
            known = facts(bench.store, view(bench.store, bench.store.load(run_id)), bench.cache)
            found = audit(known).findings
            # What only the build of an image or package can carry out is left to the audit as advice.
            return tuple(f for f in found if not any(prebuilt(f.change, known)))

        return self.scheduler.journal.findings(run_id, look)

    def judge(
        self, base: Changes, variant: Changes, names: tuple[str, ...], out: Sequence[str], ahead: Ahead
    ) -> Experiment[ExactVerdict]:
        try:
            found = self._measured(base, variant, title(names), islice(ahead, self.scheduler.boots + 1))
        except UserError as error:
            # They conflict with what is accepted, in a way that no technique declares.
            found = ExactVerdict(self.outcome(base), Outcome(key="", what=names, message=error.message))
        return Experiment(names, found, found.refusal(out), found.variant.log)

    def take_out(self, accepted: Changes, name: str, ahead: Ahead) -> Worth[ExactVerdict] | None:
        rest, likely = without(accepted, name), islice(ahead, self.scheduler.boots)
        try:
            found = self._measured(accepted, rest, f"without {name}", likely)
        except UserError:
            return None
        return Worth(name, found, "; ".join(found.faults), found.no_slower)

    def _measured(self, base: Changes, variant: Changes, name: str, ahead: Ahead) -> ExactVerdict:
        candidate = self.candidate(variant, name)
        if not self.scheduler.known(candidate):
            self.scheduler.hint(list(self._candidates(ahead)))
        return ExactVerdict(self.outcome(base), self.scheduler.measured(candidate))

    def _candidates(self, found: Ahead) -> Iterator[Candidate]:
        for changes, name in found:
            with contextlib.suppress(UserError):
                yield self.candidate(changes, name)

    # ---- systems ----

    def outcome(self, accepted: Changes, name: str = "") -> Outcome:
        """The outcome of the system with some changes. Raises UserError when they conflict."""
        return self.scheduler.measured(self.candidate(accepted, name))

    def candidate(self, accepted: Changes, name: str = "") -> Candidate:
        """The system with some changes, for the scheduler. Raises UserError when they conflict."""
        loaded = self.system(accepted) if accepted else self.loaded
        return Candidate(tuple(sorted(accepted)), loaded, name or "everything accepted")

    def system(self, accepted: Changes) -> LoadedSystem:
        """The initial system with some changes. Raises UserError when they conflict."""
        changed = apply(self.loaded.system, self.changes(accepted))
        named = msgspec.structs.replace(changed, name=f"{self.loaded.system.name}.optimized")
        return LoadedSystem(named, self.loaded.path)

    def changes(self, accepted: Changes) -> dict[str, Change]:
        """Changes combined. Raises UserError when they conflict."""
        found = {name: accepted[name] for name in in_order(accepted)}
        if any(speaks_of(change, application_profile.FOUND) for change in found.values()):
            found = {name: fill(change, self._trained) for name, change in found.items()}
        return composed(self.loaded.system, found)

    def _trained(self, name: str) -> str | None:
        """The profile of the application, in place of its placeholder: counted when first needed."""
        return self._profile if name == application_profile.PLACEHOLDER else None

    @cached_property
    def _profile(self) -> str:
        return self._count(self.scheduler.bench, self.loaded)

    def experiment_line(self, e: Experiment[ExactVerdict]) -> str:
        name = title(e.techniques)
        if not e.accepted or not e.verdict or e.saving_ns is None:
            return f"{name}: {e.reason}{'; trying parts of them' if e.halved else ''}"
        return f"{name}: saves {span(e.saving_ns)}, now {seconds(e.verdict.total_ns)} s"

    def worth_line(self, worth: Worth[ExactVerdict]) -> str:
        if worth.ns is None:
            return ""
        said = "no slower, taken out" if worth.dropped else f"{span(worth.ns)} more"
        return f"without {worth.technique}: {said}"


class EmulatedSearch(Search[ExactVerdict]):
    """A search on the emulated board."""

    bench: EmulatedBench

    @property
    def base(self) -> Outcome:
        """The outcome of the system itself."""
        assert self.first
        return self.first.base

    @property
    def current(self) -> Outcome:
        """The outcome of the system as it stands."""
        assert self.now
        return self.now.variant
