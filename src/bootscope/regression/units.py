# SPDX-License-Identifier: Apache-2.0
"""What two inputs differ in, as units that are taken over from the bad one or not: symbols of a
configuration, packages, files. A set of units is known by their places; a *closed* one has all that its units
need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

Chosen = frozenset[int]
"""A closed set of units: these are as in the bad input, all others as in the good one."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Differences that are taken over together: `name` of the first, `told`: what becomes of it, `more`: the
    others, in words. `needs`: places of units without which this one cannot be, each before its own."""

    name: str
    told: str
    more: tuple[str, ...] = ()
    needs: Chosen = frozenset()

    @property
    def words(self) -> str:
        """Its first difference in words."""
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
        """The bad input."""
        return frozenset(range(len(self._units)))

    def down(self, places: Iterable[int]) -> Chosen:
        """These units and all that they need: the smallest closed set with them."""
        return frozenset().union(*(self._down[place] for place in places))

    def up(self, places: Iterable[int]) -> Chosen:
        """These units and all that need them: without these, any closed set stays closed."""
        wanted = frozenset(places)
        return frozenset(place for place, down in enumerate(self._down) if down & wanted)


def together(names: Sequence[str], needs: Mapping[str, Iterable[str]]) -> Iterator[list[str]]:
    """Names in groups, each after the groups that it needs; names that need one another are a group.

    These are the strongly connected components, in the order in which the algorithm of R. Tarjan
    ("Depth-first search and linear graph algorithms", 1972) ends them. `needs` may name others, which do not
    count.
    """
    known = {name: place for place, name in enumerate(names)}
    found: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_: list[str] = []
    for start in names:
        if start in found:
            continue
        # A stack of our own: chains of needs are longer than Python's.
        path = [(start, _sorted(needs, start, known))]
        while path:
            name, left = path[-1]
            if name not in found:
                found[name] = lowest[name] = len(found)
                open_.append(name)
            need = next(left, None)
            if need is not None:
                if need not in found:
                    path.append((need, _sorted(needs, need, known)))
                elif need in open_:
                    lowest[name] = min(lowest[name], found[need])
                continue
            path.pop()
            if path:
                lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[name])
            if lowest[name] == found[name]:
                at = open_.index(name)
                yield sorted(open_[at:], key=lambda each: known[each])
                del open_[at:]


def _sorted(needs: Mapping[str, Iterable[str]], name: str, known: Mapping[str, int]) -> Iterator[str]:
    wanted = {need for need in needs.get(name, ()) if need in known and need != name}
    return iter(sorted(wanted, key=lambda each: known[each]))


def united(
    names: Sequence[str], needs: Mapping[str, Iterable[str]], told: Mapping[str, str]
) -> tuple[list[Unit], list[list[str]]]:
    """Units of differences by name, in an order in which each comes after those that it needs, and the names
    in each; `told`: what becomes of a name, in words."""
    groups = list(together(names, needs))
    place_of = {name: place for place, group in enumerate(groups) for name in group}
    units = []
    for place, group in enumerate(groups):
        needed = {place_of[need] for name in group for need in needs.get(name, ()) if need in place_of}
        first, *others = group
        more = tuple(f"{name}: {told[name]}" for name in others)
        units.append(Unit(first, told[first], more, frozenset(needed - {place})))
    return units, groups
