# SPDX-License-Identifier: Apache-2.0
"""Which of many differences cost time, found by trying as few combinations as possible.

The method is delta debugging (A. Zeller and R. Hildebrandt, "Simplifying and isolating failure-inducing
input", 2002) on figures instead of pass and fail, over sets that contain all that their units need:

- With a set `low` and a larger set `high` whose figures differ, a set between them is measured: `low` with
  the first half of what `high` has more. The half with the larger part of the difference is kept. With one
  culprit among n units that takes log2(n) figures.
- A set that does not build or boot tells nothing: then the other half is tried, the same without each
  half, then quarters, and so on. If nothing helps, all remaining units are suspects.
- The remaining unit costs its time in the presence of all that is in `low`. It is measured once more with
  only what it needs. If it then costs less than half, it needs company: the same search over what was in
  `low`, for the time that the unit costs there, finds which.

Nothing is built here: `Figures` gives the figure of a set in ns, GONE if its boot breaks, None if it has
none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice, pairwise
from typing import Protocol

from bootscope.regression.find import GONE
from bootscope.regression.units import Chosen, Units

MOST_UNTOLD = 16
"""The most sets without a figure that are tried between two sets."""
MOST_COMPANY = 3
"""The most units that another one may need to cost its time."""
_AHEAD = 64

Figure = Callable[[Chosen, Iterable[Chosen]], int | None]
"""The figure of a set, None if it has none; the other sets are those likely to be asked for next."""


class Figures(Protocol):
    """Measures sets; may measure at the same time any of those that are likely to be asked for next."""

    def at(self, chosen: Chosen, ahead: Iterable[Chosen] = ()) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Gap:
    """Two sets with different figures, and nothing to be learnt between them; `low` is in `high`."""

    low: Chosen
    high: Chosen

    @property
    def units(self) -> Chosen:
        """What is in `high` only: one unit, or all suspects."""
        return self.high - self.low


@dataclass(frozen=True, slots=True)
class Cause:
    """Units that cost something: `gap.units`, in the presence of `company`, all of which is needed. `before`
    and `after` are the sets that show it. `sure`: the company is complete; otherwise the rest is among the
    units of `before`."""

    gap: Gap
    before: Chosen
    after: Chosen
    company: Chosen = frozenset()
    sure: bool = True


class Isolation:
    """A search over `units`, measured by `figures`."""

    def __init__(self, units: Units, figures: Figures) -> None:
        self.units, self.figures = units, figures

    def largest(self) -> Cause:
        """The unit found by following the larger part of the whole difference."""
        return self._explained(self._narrowed(self._time, frozenset(), self.units.all))

    def breaking(self) -> Cause:
        """The unit that breaks the boot; `sure` if it does so with only what it needs."""
        gap = self._narrowed(self._breaks, frozenset(), self.units.all)
        alone = self.units.down(gap.units)
        base = alone - self.units.up(gap.units)
        if self._breaks(alone, [base]) and self._breaks(base) == 0:
            return Cause(gap, base, alone)
        return Cause(gap, gap.low, gap.high, sure=False)

    def every(self, by_ns: int) -> list[Cause]:
        """All units that cost or save at least `by_ns`. Changes that cancel each other between two sets of
        nearly equal figures are not found."""
        return [self._explained(gap) for gap in self._every(frozenset(), self.units.all, by_ns)]

    # ---- figures of a set; None for sets without one ----

    def _time(self, chosen: Chosen, ahead: Iterable[Chosen] = ()) -> int | None:
        found = self.figures.at(chosen, ahead)
        return None if found == GONE else found

    def _breaks(self, chosen: Chosen, ahead: Iterable[Chosen] = ()) -> int | None:
        found = self.figures.at(chosen, ahead)
        return None if found is None else int(found == GONE)

    def _cost(self, there: Chosen, beside: Chosen, ahead: Iterable[Chosen] = ()) -> int | None:
        """What units cost beside others, in ns."""
        pairs = (self._without_and_with(there, each) for each in ahead)
        without, with_it = self._without_and_with(there, beside)
        below = self._time(without, chain([with_it], chain.from_iterable(pairs)))
        above = None if below is None else self._time(with_it)
        return None if below is None or above is None else above - below

    def _without_and_with(self, there: Chosen, beside: Chosen) -> tuple[Chosen, Chosen]:
        return beside - self.units.up(there), self.units.down(beside | there)

    # ---- between two sets ----

    def _narrowed(self, figure: Figure, low: Chosen, high: Chosen) -> Gap:
        while (middle := self._middle(figure, low, high)) is not None:
            found, below, above = _known(figure, middle), _known(figure, low), _known(figure, high)
            into_low = abs(found - below) > abs(above - found)
            low, high = (low, middle) if into_low else (middle, high)
        return Gap(low, high)

    def _every(self, low: Chosen, high: Chosen, by_ns: int) -> list[Gap]:
        if abs(_known(self._time, high) - _known(self._time, low)) < by_ns:
            return []
        middle = self._middle(self._time, low, high)
        if middle is None:
            return [Gap(low, high)]
        return [*self._every(low, middle, by_ns), *self._every(middle, high, by_ns)]

    def _middle(self, figure: Figure, low: Chosen, high: Chosen) -> Chosen | None:
        """A set between two that has a figure; None for none."""
        for middle in islice(splits(self.units, low, high), MOST_UNTOLD):
            if figure(middle, self._ahead(low, middle, high)) is not None:
                return middle
        return None

    def _ahead(self, low: Chosen, middle: Chosen, high: Chosen) -> Iterator[Chosen]:
        """What is asked for after `middle`, whatever its figure: the halves of both sides, and theirs."""
        queue = [(low, middle), (middle, high)]
        for _ in range(_AHEAD):
            if not queue:
                return
            a, b = queue.pop(0)
            between = next(splits(self.units, a, b), None)
            if between is not None:
                yield between
                queue += [(a, between), (between, b)]

    # ---- what a unit costs by itself ----

    def _explained(self, gap: Gap) -> Cause:
        there, down = gap.units, self.units.down
        costs = partial(self._cost, there)
        cost = _known(self._time, gap.high) - _known(self._time, gap.low)
        alone = down(there) - self.units.up(there)
        base, company = alone, frozenset[int]()
        while not _is_it(alone_cost := costs(base, ()), cost):
            if alone_cost is None or len(company) == MOST_COMPANY or not base < gap.low:
                return Cause(gap, gap.low, gap.high, company, sure=False)
            step = self._narrowed(costs, base, gap.low)
            company |= step.units
            base = down(base | step.units)
        for one in sorted(company):
            fewer = down(alone | (company - {one}))
            if len(company) > 1 and one not in fewer and _is_it(costs(fewer, ()), cost):
                company, base = company - {one}, fewer
        return Cause(gap, base, down(base | there), company)


def _known(figure: Figure, chosen: Chosen) -> int:
    """The figure of a set that was measured before."""
    found = figure(chosen, ())
    assert found is not None
    return found


def _is_it(found: int | None, cost: int) -> bool:
    """Whether a figure is at least half of the cost to be explained, in the same direction."""
    return found is not None and found * (1 if cost > 0 else -1) * 2 >= abs(cost)


def splits(units: Units, low: Chosen, high: Chosen) -> Iterator[Chosen]:
    """Closed sets between two, each once: with a half of what is between, without a half, then with and
    without finer parts."""
    between = sorted(high - low)
    seen: set[Chosen] = set()
    parts = 2
    while len(between) > 1:
        edges = [len(between) * n // parts for n in range(parts + 1)]
        for first, last in pairwise(edges):
            part = frozenset(between[first:last])
            for middle in (units.down(low | part), high - units.up(part)):
                if low < middle < high and middle not in seen:
                    seen.add(middle)
                    yield middle
        if parts == len(between):
            return
        parts = min(2 * parts, len(between))
