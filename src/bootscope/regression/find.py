# SPDX-License-Identifier: Apache-2.0
"""The order in which commits are tried. A commit is known by its place; the good one is at place 0.

Nothing is built here: `measure` gives the figure of a place in ns, GONE if its boot breaks, and None if it
does not build and so has no figure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

GONE = -1
"""The figure of a boot that breaks."""
Measure = Callable[[int], int | None]


@dataclass(frozen=True, slots=True)
class Step:
    """Two places with different known figures and nothing left to try between them: `after` is the first with
    the new figure, `before` the last with the old one. If they are not neighbours, the commits between do not
    build, and the change is in one of those or in `after`."""

    before: int
    after: int


@dataclass
class Finder:
    """Tries places and remembers the results."""

    measure: Measure
    known: dict[int, int | None] = field(default_factory=dict)

    def at(self, place: int) -> int | None:
        """The figure of a place, measured if it is not known."""
        if place not in self.known:
            self.known[place] = self.measure(place)
        return self.known[place]

    def first(self, good: int, bad: int, is_bad: Callable[[int], bool]) -> Step:
        """The step at which figures become bad, between a place known to be good and one known to be bad."""
        while (middle := self._middle(good, bad)) is not None:
            found = self.at(middle)
            if found is None:
                continue
            if is_bad(found):
                bad = middle
            else:
                good = middle
        return Step(good, bad)

    def every(self, first: int, last: int, by_ns: int) -> list[Step]:
        """All steps of at least `by_ns` between two places, oldest first. Changes that cancel each other
        between two places of nearly equal figures are not found. Boots that break count as places that do not
        build.
        build."""
        low, high = self.at(first), self.at(last)
        if low is None or high is None or abs(high - low) < by_ns:
            return []
        while (middle := self._middle(first, last)) is not None:
            if self.at(middle) not in (None, GONE):
                return [*self.every(first, middle, by_ns), *self.every(middle, last, by_ns)]
            self.known[middle] = None
        return [Step(first, last)]

    def _middle(self, low: int, high: int) -> int | None:
        """The place nearest to the middle of two that may still have a figure; None for none."""
        left = [n for n in range(low + 1, high) if self.known.get(n, GONE) is not None]
        return min(left, key=lambda n: (abs(2 * n - low - high), n), default=None)
