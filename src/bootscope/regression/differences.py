# SPDX-License-Identifier: Apache-2.0
"""A bisection over what two inputs differ in: takes differences over into the good one, builds and boots
that, until it is known which of them make the boot slower."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Protocol

from bootscope.builder.progress import Progress
from bootscope.capture.stored import StoredRun
from bootscope.emulator.recording import Observer
from bootscope.regression.find import GONE
from bootscope.regression.isolate import Cause, Isolation
from bootscope.regression.journal import Journal, Tried
from bootscope.regression.question import End, Question, check_ends
from bootscope.regression.trial import Trials, figure, told
from bootscope.regression.units import Chosen, Unit, Units
from bootscope.search.bench import Bench
from bootscope.system.load import LoadedSystem

_LOOK_S = 0.2
_MOST_AHEAD = 256


class Inputs(Protocol):
    """Two inputs, called `good` and `bad` by the user, and the units that they differ in. `option`: as they
    were given; `noun`: what a difference is, with its plural; `key`: of both contents, and all that gives a
    combination its meaning."""

    option: str
    noun: tuple[str, str]
    good: str
    bad: str
    key: str
    units: Units

    @property
    def count(self) -> int:
        """How many differences there are, in units or not."""

    def system(self, chosen: Chosen) -> AbstractContextManager[LoadedSystem]:
        """The system with these units as in the bad input, and the others as in the good one; what it is
        built from is there until the end of the context."""

    def moved(self, units: Sequence[Unit], before: StoredRun, after: StoredRun) -> tuple[str, ...]:
        """What else differs between two boots, of which the second has these units: what the tree's own tools
        changed with them."""


@dataclass(frozen=True)
class Culprit:
    """Units that cost something: one, or all that it may be. `company`: others without which they do not;
    `sure`: these are all. `needs`: units that had to be there for them, in both boots. What came of the
    boots without them and with them."""

    units: tuple[Unit, ...]
    company: tuple[Unit, ...]
    needs: tuple[Unit, ...]
    sure: bool
    tried_before: Tried
    tried: Tried

    @property
    def ns(self) -> int | None:
        """What it costs in ns; None where the boot breaks."""
        if self.tried.ns is None or self.tried_before.ns is None:
            return None
        return self.tried.ns - self.tried_before.ns


@dataclass
class DifferenceSession:
    """One bisection over `inputs`. `says` is told how it goes on; several threads may boot at once where the
    bench has hands for it."""

    question: Question
    inputs: Inputs
    bench: Bench
    journal: Journal
    quiet: Observer
    says: Callable[[str], None] = lambda text: None
    tried: dict[str, Tried] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self) -> list[Culprit]:
        """The differences that are looked for, in the order in which they are taken over.

        Raises UserError where good and bad do not differ as asked, or one of them does not build;
        ToolError and BoardError where this computer is at fault. What was tried is in the journal then.
        """
        none, every = frozenset[int](), self.inputs.units.all
        good, bad = self.at(none, [every]), self.at(every)
        first, second = (self.tried[self.key(chosen)].why for chosen in (none, every))
        check_ends(
            self.question,
            End("good", self.inputs.good, good, first, "another"),
            End("bad", self.inputs.bad, bad, second, "another"),
        )
        isolation = Isolation(self.inputs.units, self)
        if bad == GONE:
            return [self._culprit(isolation.breaking())]
        if self.question.every:
            assert self.question.by_ns
            return [self._culprit(cause) for cause in isolation.every(self.question.by_ns)]
        return [self._culprit(isolation.largest())]

    @property
    def whole_ns(self) -> int | None:
        """What the bad input costs more than the good one, in ns; None where its boot breaks."""
        good, bad = (self.tried[self.key(c)].ns for c in (frozenset[int](), self.inputs.units.all))
        return None if good is None or bad is None else bad - good

    def _culprit(self, cause: Cause) -> Culprit:
        units, there = self.inputs.units, cause.gap.units
        needed = units.down(there | cause.company) - there - cause.company if cause.sure else frozenset[int]()
        before, after = (self.tried[self.key(chosen)] for chosen in (cause.before, cause.after))
        return Culprit(units.of(there), units.of(cause.company), units.of(needed), cause.sure, before, after)

    # ---- figures ----

    def key(self, chosen: Chosen) -> str:
        """The name of a combination in the journal."""
        names = "\0".join(unit.name for unit in self.inputs.units.of(chosen))
        return f"{len(chosen)}-{hashlib.sha256(names.encode()).hexdigest()[:16]}"

    def at(self, chosen: Chosen, ahead: Iterable[Chosen] = ()) -> int | None:
        """The figure of a combination; where it is not known, as many of those `ahead` as there are hands for
        are tried with it."""
        self.asked.add(self.key(chosen))
        if self.key(chosen) not in self.tried:
            wanted = {self.key(chosen): chosen}
            for each in islice(ahead, _MOST_AHEAD):
                if len(wanted) >= self.bench.hands:
                    break
                if self.key(each) not in self.tried:
                    wanted.setdefault(self.key(each), each)
            self._try(list(wanted.values()))
        return figure(self.tried[self.key(chosen)])

    def _try(self, wanted: Sequence[Chosen]) -> None:
        if len(wanted) == 1:
            self._one(wanted[0], self._trials)
            return
        errors: list[BaseException] = []
        bench = self.bench.watched_by(Progress(), self.quiet)
        trials = Trials(
            bench, self.question.until, self.question.quantity, self._trials.label, self._trials.images
        )

        def one(chosen: Chosen) -> None:
            try:
                self._one(chosen, trials)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=one, args=[chosen], daemon=True) for chosen in wanted]
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(_LOOK_S)  # not for ever, so that Ctrl-C is heard
        if errors:
            raise errors[0]

    def _one(self, chosen: Chosen, trials: Trials) -> None:
        name = self.named(chosen)
        if len(chosen) not in (0, len(self.inputs.units)):
            self.says(name)
        with self.inputs.system(chosen) as loaded:
            made = trials.run(self.key(chosen), name, lambda: loaded)
        with self._lock:
            self.journal.add(made)
            self.tried[made.key] = made
            self.says(f"{name}: {told(made)}")

    def named(self, chosen: Chosen) -> str:
        """A combination in words."""
        if not chosen:
            return "good"
        if chosen == self.inputs.units.all:
            return "bad"
        return f"{len(chosen)} of {len(self.inputs.units)}"

    @cached_property
    def _trials(self) -> Trials:
        return Trials(self.bench, self.question.until, self.question.quantity, "bisect")
