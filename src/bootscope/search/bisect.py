# SPDX-License-Identifier: Apache-2.0
"""Taking away as much as possible in few attempts: all at once, and halves of what breaks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Attempt:
    """The result of removing some things. `reason`: why that does not work; empty when it does.

    `guilty`: positions, among the things removed, of those that the failure itself names. `final`: removing
    only a part of them would do no better.
    """

    reason: str = ""
    guilty: tuple[int, ...] = ()
    final: bool = False

    @property
    def works(self) -> bool:
        """Whether they can stay removed."""
        return not self.reason


def _refuse(item: object, reason: str) -> None: ...


@dataclass(frozen=True)
class Bisection(Generic[T]):
    """Removes what can be removed.

    `attempt` removes things beside all that was removed before, and leaves them so when it works. `refuse` is
    called with each thing that must stay, and why. A part that breaks is halved as long as it is `worth` it;
    otherwise all of it stays. `repeats`: what broke is tried again after more was removed. `first_only`:
    stops at the first part that must stay. The order should keep related things together.
    """

    attempt: Callable[[Sequence[T]], Attempt]
    refuse: Callable[[T, str], None] = _refuse
    worth: Callable[[Sequence[T]], bool] = lambda items: True
    repeats: bool = False
    first_only: bool = False

    def run(self, items: Sequence[T], broken: Attempt | None = None) -> bool:
        """Returns whether a part must stay. `broken`: the result of removing these, where it is known."""
        if not items:
            return False
        outcome = broken or self.attempt(items)
        while outcome.guilty:
            # The failure names the culprits: no need to search for them.
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
        # Where parts are tried again, an odd one goes with the first half: journals were written in that
        # Where parts are tried again, an odd one goes with the first half, as in existing journals.
        middle = (len(items) + self.repeats) // 2
        first, second = items[:middle], items[middle:]
        outcome_of_first = self.attempt(first)
        found = self.run(first, outcome_of_first)
        if found and self.first_only:
            return True
        # With all of the first half removed, removing the second half is what has just failed.
        return self.run(second, outcome if outcome_of_first.works and not self.repeats else None) or found
