# SPDX-License-Identifier: Apache-2.0
"""The differences of two inputs, as units that are applied from the bad one or not: symbols of a
configuration, packages, files. A set of units is known by their places; a *closed* one contains all that its
units need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

Chosen = frozenset[int]
"""A closed set of units: these are as in the bad input, all others as in the good one."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Differences that are applied together: `name` of the first, `told`: its change, `more`: the others, in
    words. `needs`: places of the units that it depends on, each before its own."""

    name: str
    told: str
    more: tuple[str, ...] = ()
    needs: Chosen = frozenset()

    @property
    def words(self) -> str:
        """Its first difference, in words."""
        return f"{self.name}: {self.told}"


class Units:
    """All units, each after those that it needs."""

    def __init__(self, units: Sequence[Unit]) -> None:
        assert all(need < place for place, unit in enumerate(units) for need in unit.needs)
        self._units = units
        self._down: list[Chosen] = []
        for place, unit in enumerate(units):
            self._down.append(frozenset({place}).union(*(self._down[need] for need in unit.needs)))

    def __len__(self) -> int:
        return len(self._units)

    def __getitem__(self, place: int) -> Unit:
        return self._units[place]

    def of(self, chosen: Iterable[int]) -> tuple[Unit, ...]:
        """The units of a set, in their order."""
        return tuple(self._units[place] for place in sorted(chosen))

    @property
    def all(self) -> Chosen:
        """The bad input: all units."""
        return frozenset(range(len(self._units)))

    def down(self, places: Iterable[int]) -> Chosen:
        """These units and all that they need: the smallest closed set with them."""
        return frozenset().union(*(self._down[place] for place in places))

    def up(self, places: Iterable[int]) -> Chosen:
        """These units and all that need them: without these, any closed set stays closed."""
        wanted = frozenset(places)
        return frozenset(place for place, down in enumerate(self._down) if down & wanted)


def together(names: Sequence[str], needs: Mapping[str, Iterable[str]]) -> Iterator[list[str]]:
    """Names in groups, each after the groups that it needs, otherwise in their order; names that need one
    another form a group. Names in `needs` that are not in `names` are ignored.

    These are the strongly connected components, found by two searches in depth (M. Sharir, "A
    strong-connectivity algorithm and its applications in data flow analysis", 1981).
    """
    place = {name: number for number, name in enumerate(names)}
    forward = {name: sorted({*needs.get(name, ())} & place.keys(), key=place.__getitem__) for name in names}
    backward: dict[str, list[str]] = {name: [] for name in names}
    for name in reversed(names):
        for need in forward[name]:
            backward[need].append(name)
    order = list(_finished(reversed(names), backward, set()))
    seen: set[str] = set()
    for name in reversed(order):
        if name not in seen:
            yield sorted(_finished([name], forward, seen), key=place.__getitem__)


def _finished(starts: Iterable[str], edges: Mapping[str, Iterable[str]], seen: set[str]) -> Iterator[str]:
    """Names that are reached and not in `seen`, each after those reached from it."""
    for start in starts:
        # A stack of our own: chains of needs exceed Python's recursion limit.
        path = [] if start in seen else [(start, iter(edges[start]))]
        seen.add(start)
        while path:
            name, left = path[-1]
            new = next((each for each in left if each not in seen), None)
            if new is None:
                path.pop()
                yield name
            else:
                seen.add(new)
                path.append((new, iter(edges[new])))


def united(
    names: Sequence[str], needs: Mapping[str, Iterable[str]], told: Mapping[str, str]
) -> tuple[list[Unit], list[list[str]]]:
    """Units of differences by name, in an order in which each comes after those that it needs, and the names
    in each; `told`: the change of a name, in words."""
    groups = list(together(names, needs))
    place_of = {name: place for place, group in enumerate(groups) for name in group}
    units = []
    for place, group in enumerate(groups):
        needed = {place_of[need] for name in group for need in needs.get(name, ()) if need in place_of}
        first, *others = group
        more = tuple(f"{name}: {told[name]}" for name in others)
        units.append(Unit(first, told[first], more, frozenset(needed - {place})))
    return units, groups
