# SPDX-License-Identifier: Apache-2.0
"""Taking away as much as possible in few attempts: all at once, and halves of what breaks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Attempt:
    """What came of taking some things away. `reason` says why that does not work; empty when it does.

    `guilty` are positions of those, among the things taken away, that the failure itself names.
    """

    reason: str = ""
    guilty: tuple[int, ...] = ()

    @property
    def works(self) -> bool:
        """Whether it can stay so."""
        return not self.reason


def reduce(
    items: Sequence[T],
    attempt: Callable[[Sequence[T]], Attempt],
    refuse: Callable[[T, str], None],
    worth: Callable[[Sequence[T]], bool] = lambda items: True,
) -> None:
    """Takes away what can be taken away.

    `attempt` takes things away beside all that was taken away before, and leaves that so when it works.
    `refuse` is told of each thing that must stay, and why. A part that breaks is halved as long as it is
    `worth` it; else all of it stays. The order should keep together what belongs together.
    """
    _reduce(list(items), attempt, refuse, worth, None)


def _reduce(
    items: list[T],
    attempt: Callable[[Sequence[T]], Attempt],
    refuse: Callable[[T, str], None],
    worth: Callable[[Sequence[T]], bool],
    broken: Attempt | None,
) -> None:
    """`broken` is what came of taking these items away, where that was tried already."""
    if not items:
        return
    outcome = broken or attempt(items)
    while outcome.guilty:
        # The failure says whom it is about: no need to search for them.
        named = set(outcome.guilty)
        for position in sorted(named):
            refuse(items[position], outcome.reason)
        items = [item for position, item in enumerate(items) if position not in named]
        if not items:
            return
        outcome = attempt(items)
    if outcome.works:
        return
    if len(items) == 1 or not worth(items):
        for item in items:
            refuse(item, outcome.reason)
        return
    middle = len(items) // 2
    first, second = items[:middle], items[middle:]
    outcome_of_first = attempt(first)
    _reduce(first, attempt, refuse, worth, outcome_of_first)
    # With all of the first half gone, taking away the second is what has just been seen to break.
    _reduce(second, attempt, refuse, worth, outcome if outcome_of_first.works else None)
