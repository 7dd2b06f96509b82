# SPDX-License-Identifier: Apache-2.0
"""A bisection over the differences of two inputs: applies differences to the good one, builds and boots the
result, until it is known which of them make the boot slower."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol

from bootscope.regression.find import GONE
from bootscope.regression.inputs import Inputs
from bootscope.regression.isolate import Cause, Isolation
from bootscope.regression.journal import Journal, Tried
from bootscope.regression.question import End, Question, check_ends
from bootscope.regression.trial import figure, told
from bootscope.regression.units import Chosen, Unit
from bootscope.system.load import LoadedSystem

_LOOK_S = 0.2
_MOST_AHEAD = 256


@dataclass(frozen=True)
class Culprit:
    """Units that cost something: one, or all suspects. `company`: other units without which they cost
    nothing; `sure`: there are no more of these. `needs`: units that they depend on, present in both boots.
    `tried_before` and `tried`: the boots without and with them."""

    units: tuple[Unit, ...]
    company: tuple[Unit, ...]
    needs: tuple[Unit, ...]
    sure: bool
    tried_before: Tried
    tried: Tried

    @property
    def ns(self) -> int | None:
        """What it costs in ns; None if the boot breaks."""
        if self.tried.ns is None or self.tried_before.ns is None:
            return None
        return self.tried.ns - self.tried_before.ns


class Trier(Protocol):
    """Builds and boots; see :class:`bootscope.regression.trial.Trials`."""

    @property
    def hands(self) -> int: ...

    def silent(self) -> Trier: ...

    def run(self, key: str, name: str, make: Callable[[], LoadedSystem]) -> Tried: ...


@dataclass
class DifferenceSession:
    """One bisection over `inputs`. `says` receives its progress; several threads build and boot at once if
    `trials` has hands for it."""

    question: Question
    inputs: Inputs
    trials: Trier
    journal: Journal
    says: Callable[[str], None] = lambda text: None
    tried: dict[str, Tried] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)
    new: set[str] = field(default_factory=set)
    """Keys of combinations that the search asked for, and of those that this session tried."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self) -> list[Culprit]:
        """Finds the differences, in the order in which they are applied.

        Raises UserError if good and bad do not differ as asked, or one of them does not build; ToolError and
        BoardError if this computer is at fault. The journal then has what was tried.
        """
        none, every = frozenset[int](), self.inputs.units.all
        good, bad = self.at(none, [every]), self.at(every)
        first, second = (self.tried[self.key(chosen)].why for chosen in (none, every))
        check_ends(
            self.question,
            End(self.inputs.option, self.inputs.good, good, first, "another"),
            End(self.inputs.option, self.inputs.bad, bad, second, "another"),
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
        """What the bad input costs more than the good one, in ns; None if its boot breaks."""
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
        """The figure of a combination. If it is unknown, as many of those `ahead` as there are hands for are
        tried at the same time."""
        self.asked.add(self.key(chosen))
        if self.key(chosen) not in self.tried:
            wanted = {self.key(chosen): chosen}
            for each in islice(ahead, _MOST_AHEAD):
                if len(wanted) >= self.trials.hands:
                    break
                if self.key(each) not in self.tried:
                    wanted.setdefault(self.key(each), each)
            self._try(list(wanted.values()))
        return figure(self.tried[self.key(chosen)])

    def _try(self, wanted: Sequence[Chosen]) -> None:
        if len(wanted) == 1:
            self._one(wanted[0], self.trials)
            return
        errors: list[BaseException] = []
        trials = self.trials.silent()

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
                thread.join(_LOOK_S)  # with a timeout, so that Ctrl-C is handled
        # Errors of combinations that were only tried ahead do not matter.
        if errors and self.key(wanted[0]) not in self.tried:
            raise errors[0]

    def _one(self, chosen: Chosen, trials: Trier) -> None:
        name = self.named(chosen)
        if len(chosen) not in (0, len(self.inputs.units)):
            self.says(name)
        with self.inputs.system(chosen) as loaded:
            made = trials.run(self.key(chosen), name, lambda: loaded)
        with self._lock:
            self.journal.add(made)
            self.tried[made.key] = made
            self.new.add(made.key)
            self.says(f"{name}: {told(made)}")

    def named(self, chosen: Chosen) -> str:
        """A combination in words."""
        if not chosen:
            return "good"
        if chosen == self.inputs.units.all:
            return "bad"
        return f"{len(chosen)} of {len(self.inputs.units)}"
