# SPDX-License-Identifier: Apache-2.0
"""The search for a shorter boot: techniques one after the other, keeping what is proven to help.

Each technique that applies is booted with everything accepted so far, and once more without it: what is
faster and still works stays. The order is that of the literature: application, init, file system, kernel,
boot loader; within a group what is predicted to save most comes first, and what takes the means of
measuring comes at the end, since nothing can be explained after it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

import msgspec

from bootscope.capture.store import StoredRun
from bootscope.errors import BootscopeError, UserError
from bootscope.lab.applies import filled
from bootscope.lab.audit import Finding, audit
from bootscope.lab.bench import Bench
from bootscope.lab.facts import Facts, facts
from bootscope.lab.verdict import Verdict, verdict
from bootscope.system.changes import Change, apply
from bootscope.system.load import LoadedSystem
from bootscope.techniques.model import techniques
from bootscope.views import View, view

ORDER = (
    ("application", "toolchain"),
    ("init",),
    ("filesystem",),
    ("kernel", "decompress", "load"),
    ("bootloader", "spl"),
)
"""Phases of techniques in the order in which they are worked on."""

LAST = "measuring"
"""The ability that is given up last."""


@dataclass(frozen=True)
class Experiment:
    """One technique, tried on what was accepted before it. `refusal` says why it was not accepted."""

    technique: str
    predicted_ns: int | None
    verdict: Verdict | None
    refusal: str = ""

    @property
    def accepted(self) -> bool:
        """Whether it stays."""
        return not self.refusal


@dataclass(frozen=True)
class Goal:
    """When to stop, and what must not be lost. Times in ns of board time and seconds of host time."""

    total_ns: int = 0
    budget_s: float = 7200
    keep: Collection[str] = ()
    only: Collection[str] = ()


@dataclass
class Search:
    """A search under way: what was tried, and the system as it stands."""

    bench: Bench
    loaded: LoadedSystem
    goal: Goal
    tell: Callable[[str], None]
    experiments: list[Experiment] = field(default_factory=list)
    accepted: dict[str, tuple[str, Change]] = field(default_factory=dict)
    """By technique: how it was written, and its change. A better way of one takes its place."""
    ended: str = ""

    def run(self) -> StoredRun:
        """Searches until the goal, the budget, or nothing is left; returns the last recording.

        Raises UserError when the system itself does not boot.
        """
        begun = time.monotonic()
        run = self.bench.measured(self.loaded)
        base = view(self.bench.store, run)
        if not base.boot.info.complete:
            raise UserError(f"{self.loaded.system.name} itself does not boot: {base.boot.info.message}")
        current, known = base, facts(self.bench.store, base)
        while True:
            if self.goal.total_ns and current.timeline.total_ns <= self.goal.total_ns:
                self.ended = "the goal is reached"
                break
            if time.monotonic() - begun > self.goal.budget_s:
                self.ended = "the time allowed is over"
                break
            finding = self._next(known)
            if not finding:
                self.ended = "nothing is left to try"
                break
            current, known = self._try(current, known, finding)
        return current.run

    def _next(self, known: Facts) -> Finding | None:
        tried = {experiment.technique for experiment in self.experiments}
        left = [f for f in audit(known).findings if f.spec not in tried and self._allowed(f)]
        return min(left, key=_rank, default=None)

    def _allowed(self, finding: Finding) -> bool:
        technique = finding.technique
        wanted = not self.goal.only or technique.id in self.goal.only
        excluded = any(t in self.accepted for t in technique.conflicts) or any(
            technique.id in techniques()[t].conflicts for t in self.accepted
        )
        return wanted and not excluded and not set(technique.loses) & set(self.goal.keep)

    def system(self, accepted: Mapping[str, tuple[str, Change]]) -> LoadedSystem:
        """The system that was begun with, with some changes. Raises UserError when they conflict."""
        changed = apply(self.loaded.system, dict(accepted.values()))
        named = msgspec.structs.replace(changed, name=f"{self.loaded.system.name}.optimized")
        return LoadedSystem(named, self.loaded.path)

    def ablation(self) -> list[tuple[str, Verdict]]:
        """What each accepted technique is worth at the end: everything that was accepted, without it."""
        final = view(self.bench.store, self.bench.measured(self.system(self.accepted)))
        found = []
        for name, (spec, _) in self.accepted.items():
            rest = {key: value for key, value in self.accepted.items() if key != name}
            self.tell(f"without {spec} ...")
            without = view(self.bench.store, self.bench.measured(self.system(rest)))
            found.append((spec, verdict(self.bench.store, without, final)))
        return found

    def _try(self, current: View, known: Facts, finding: Finding) -> tuple[View, Facts]:
        self.tell(f"trying {finding.spec} ...")
        try:
            # Filled in now: what a later boot tells may be less, once its messages are gone.
            change = filled(finding.technique.ways[finding.way].change, known)
            with_it = {**self.accepted, finding.technique.id: (finding.spec, change)}
            after = view(self.bench.store, self.bench.measured(self.system(with_it)))
        except BootscopeError as error:
            return self._refuse(finding, None, error.message, current, known)
        found = verdict(self.bench.store, current, after)
        # What is accepted shows the picture of the base, so that one comparison is enough.
        if found.faults:
            return self._refuse(finding, found, "; ".join(found.faults), current, known)
        if (found.saving_ns or 0) <= 0:
            return self._refuse(finding, found, "it saves nothing", current, known)
        self.experiments.append(Experiment(finding.spec, finding.saving_ns, found))
        self.accepted = with_it
        return after, facts(self.bench.store, after)

    def _refuse(
        self, finding: Finding, found: Verdict | None, why: str, current: View, known: Facts
    ) -> tuple[View, Facts]:
        self.experiments.append(Experiment(finding.spec, finding.saving_ns, found, why))
        return current, known


def _rank(finding: Finding) -> tuple[bool, int, int]:
    """What comes first: see the top of this file."""
    group = next((n for n, phases in enumerate(ORDER) if finding.technique.phase in phases), len(ORDER))
    return LAST in finding.technique.loses, group, -(finding.saving_ns or 0)
