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
from bootscope.techniques.model import Recipe


def refused(recipes: Mapping[str, Recipe], known: Inventory) -> dict[str, str]:
    """Those of some recipes of techniques that do not apply to a system in any order, with the reason."""
    stages = [known]
    left, more = _left(recipes, stages), True
    while left and more:
        there = [recipe for name, recipe in recipes.items() if name not in left]
        stages.append(changed(known, list(_filled(there, known))))
        before, left = left, _left({name: recipes[name] for name in left}, stages)
        more = len(left) < len(before)
    return left


def _filled(recipes: Iterable[Recipe], known: Inventory) -> Iterator[Change]:
    """The changes of recipes, as far as what is known allows to tell them."""
    for recipe in recipes:
        with contextlib.suppress(UserError):
            yield filled(recipe.change, known)


def _left(recipes: Mapping[str, Recipe], stages: Sequence[Inventory]) -> dict[str, str]:
    """Those that apply at no stage, with the reason at the last one.

    That a technique changes something and that its conditions are met need not be so at the same stage:
    what another one of the list does as well is not refused for that.
    """
    found: dict[str, str] = {}
    for name, recipe in recipes.items():
        reasons = [unmet(recipe, known) for known in stages]
        if all(changes_nothing(recipe, known) for known in stages):
            found[name] = SO_ALREADY
        elif all(reasons):
            found[name] = reasons[-1]
    return found
