# SPDX-License-Identifier: Apache-2.0
"""Whether each technique of a list applies: to the system, or to what others of the list make of it.

USB must be out of a kernel before sysfs can go, for one, and another technique may take it out. The order
in which a list names its techniques says nothing: a technique is refused when it applies in none.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from bootscope.changes.applies import SO_ALREADY, changes_nothing, filled, unmet
from bootscope.changes.changed import changed
from bootscope.core.errors import UserError
from bootscope.inventory.inventory import Inventory
from bootscope.system.changes import Change
from bootscope.techniques.model import Way


def refused(ways: Mapping[str, Way], known: Inventory) -> dict[str, str]:
    """Those of some ways of techniques that do not apply to a system in any order, with the reason."""
    stages = [known]
    left, more = _left(ways, stages), True
    while left and more:
        there = [way for name, way in ways.items() if name not in left]
        stages.append(changed(known, list(_filled(there, known))))
        before, left = left, _left({name: ways[name] for name in left}, stages)
        more = len(left) < len(before)
    return left


def _filled(ways: Iterable[Way], known: Inventory) -> Iterator[Change]:
    """The changes of ways, as far as what is known allows to tell them."""
    for way in ways:
        with contextlib.suppress(UserError):
            yield filled(way.change, known)


def _left(ways: Mapping[str, Way], stages: Sequence[Inventory]) -> dict[str, str]:
    """Those that apply at no stage, with the reason at the last one.

    That a technique changes something and that its conditions are met need not be so at the same stage:
    what another one of the list does as well is not refused for that.
    """
    found: dict[str, str] = {}
    for name, way in ways.items():
        reasons = [unmet(way, known) for known in stages]
        if all(changes_nothing(way, known) for known in stages):
            found[name] = SO_ALREADY
        elif all(reasons):
            found[name] = reasons[-1]
    return found
