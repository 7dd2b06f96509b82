# SPDX-License-Identifier: Apache-2.0
"""Taking away as much as possible in few attempts: all at once, and halves of what breaks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Attempt:
    """What came of taking some things away. `reason` says why that does not work; empty when it does.

    `guilty` are positions of those, among the things taken away, that the failure itself names. `final`: a
    part of them would do no better.
    """

    reason: str = ""
    guilty: tuple[int, ...] = ()
    final: bool = False

    @property
    def works(self) -> bool:
        """Whether it can stay so."""
        return not self.reason


def _refuse(item: object, reason: str) -> None: ...


@dataclass(frozen=True)
class Bisection(Generic[T]):
    """Takes away what can be taken away.

    `attempt` takes things away beside all that was taken away before, and leaves that so when it works.
    `refuse` is told of each thing that must stay, and why. A part that breaks is halved as long as it is
    `worth` it; else all of it stays. `repeats`: what broke is tried again beside more that was taken away.
    `first_only`: stops at the first part that must stay. The order should keep together what belongs
    together.
    """

    attempt: Callable[[Sequence[T]], Attempt]
    refuse: Callable[[T, str], None] = _refuse
    worth: Callable[[Sequence[T]], bool] = lambda items: True
    repeats: bool = False
    first_only: bool = False

    def run(self, items: Sequence[T], broken: Attempt | None = None) -> bool:
        """Returns whether a part must stay. `broken`: what came of taking these away, where that is known."""
        if not items:
            return False
        outcome = broken or self.attempt(items)
        while outcome.guilty:
            # The failure says whom it is about: no need to search for them.
            named = set(outcome.guilty)
            for position in sorted(named):
                self.refuse(items[position], outcome.reason)
            items = [item for position, item in enumerate(items) if position not in named]
            if not items:
                return False
            outcome = self.attempt(items)
        if outcome.works:
            return False
        if len(items) == 1 or outcome.final or not self.worth(items):
            for item in items:
                self.refuse(item, outcome.reason)
            return True
        return self._halves(items, outcome)

    def _halves(self, items: Sequence[T], outcome: Attempt) -> bool:
        # An odd one goes with the first half where parts are tried again: journals know that order.
        middle = (len(items) + self.repeats) // 2
        first, second = items[:middle], items[middle:]
        outcome_of_first = self.attempt(first)
        found = self.run(first, outcome_of_first)
        if found and self.first_only:
            return True
        # With all of the first half gone, taking away the second is what has just been seen to break.
        return self.run(second, outcome if outcome_of_first.works and not self.repeats else None) or found
