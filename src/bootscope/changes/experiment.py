# SPDX-License-Identifier: Apache-2.0
"""An experiment: a system with techniques, compared with the same system without them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from bootscope.changes.applies import filled
from bootscope.changes.compose import composed, with_values
from bootscope.changes.in_list import refused
from bootscope.core.errors import UserError, printable, unknown
from bootscope.emulator.subject import flat
from bootscope.inventory.inventory import Inventory, Part
from bootscope.inventory.recorded import Recorded
from bootscope.system.changes import apply
from bootscope.system.load import LoadedSystem, check_system
from bootscope.techniques.model import Recipe, Status, Technique, in_order, technique


def chosen(spec: str) -> tuple[Technique, str, Recipe]:
    """The technique and recipe that `ID` or `ID=RECIPE` names; `ID` suffices with one recipe or a default.

    Raises UserError for one that does not exist, or that bootscope does not carry out by itself.
    """
    name, _, wanted = spec.partition("=")
    found = technique(name)
    if not found.recipes:
        others, status_why = " and ".join(found.carried_out_by), " ".join(found.status_why.split())
        why = {
            Status.HARDWARE: f"it needs hardware: {status_why}",
            Status.OBSOLETE: f"it is obsolete: {status_why}",
            Status.RUNS: f"it is done by {others}" if others else "bootscope cannot do it automatically",
        }[found.status]
        raise UserError(f"{name} cannot be tried: {why}", hint=f"bootscope techniques {name} explains it")
    wanted = wanted or found.default
    if not wanted and len(found.recipes) > 1:
        recipes = ", ".join(f"{name}={recipe}" for recipe in found.recipes)
        raise UserError(f"{name} has several recipes", hint=f"one of: {recipes}")
    wanted = wanted or next(iter(found.recipes))
    if wanted not in found.recipes:
        raise unknown(f"recipe of {name}", wanted, list(found.recipes))
    return found, wanted, found.recipes[wanted]


def title(found: Technique, recipe: str) -> str:
    """How a recipe of a technique is written: `ID=RECIPE`, or just `ID` for the only recipe or the default
    one."""
    return found.id if len(found.recipes) == 1 or recipe == found.default else f"{found.id}={recipe}"


def variant(loaded: LoadedSystem, facts: Recorded, specs: list[str], force: bool = False) -> LoadedSystem:
    """The system with techniques. Their order makes no difference.

    Raises UserError for techniques that exclude each other and, unless `force`, for one that applies neither
    to the system that `facts` describes nor to it with some of the others; with `force`, for a system that
    cannot be built.
    """
    recipes = {title(found, name): recipe for found, name, recipe in check(specs)}
    if not force:
        check_apply(recipes, facts, loaded.system.name)
    changes = {name: with_values(recipes[name].change, facts) for name in in_order(recipes)}
    system = apply(loaded.system, composed(loaded.system, changes))
    if force:
        # A technique that does not apply may need a source that the system does not name.
        check_system(system, loaded.path)
    named = msgspec.structs.replace(system, name=f"{loaded.system.name}.try")
    return LoadedSystem(named, loaded.path)


def with_techniques(loaded: LoadedSystem, specs: list[str]) -> LoadedSystem:
    """The system with techniques that need no boot: placeholders are filled from the system file.

    Raises UserError as :func:`check` does, and for a technique that needs a boot.
    """
    known = of_file(loaded)
    recipes = {title(found, name): recipe for found, name, recipe in check(specs)}
    changes = {name: filled(recipes[name].change, known) for name in in_order(recipes)}
    system = apply(loaded.system, composed(loaded.system, changes))
    return LoadedSystem(system, loaded.path)


def check_apply(recipes: Mapping[str, Recipe], known: Inventory, name: str) -> None:
    """Raises UserError for recipes that, as far as is known, do not apply to the system called `name` in any
    order."""
    left = refused(recipes, known)
    if left:
        others = ", also with the others" if len(recipes) > len(left) else ""
        told_why = "; ".join(f"{spec} does not apply to {name}{others}: {why}" for spec, why in left.items())
        raise UserError(printable(told_why), hint="--force tries it anyway")


def of_file(loaded: LoadedSystem) -> Inventory:
    """What the system file alone tells: the settings."""
    return Inventory(parts=frozenset({Part.SETTINGS}), settings=flat(loaded.system))


def with_bases(loaded: LoadedSystem, specs: list[str]) -> LoadedSystem:
    """The system as it was before those techniques that it follows already (see Recipe.base). Placeholders
    are filled from the system file.

    Raises UserError when the bases conflict.
    """
    known = of_file(loaded)
    bases = {f"the base of {title(t, name)}": filled(recipe.base, known) for t, name, recipe in check(specs)}
    if not any(change.claims() for change in bases.values()):
        return loaded
    system = apply(loaded.system, bases)
    return LoadedSystem(msgspec.structs.replace(system, name=f"{loaded.system.name}.base"), loaded.path)


def check(specs: list[str]) -> list[tuple[Technique, str, Recipe]]:
    """The techniques and recipes that `specs` name (see :func:`chosen`). Needs neither a build nor a boot.

    Raises UserError as that does, and for techniques that exclude each other.
    """
    picked = [chosen(spec) for spec in specs]
    for found, recipe, _ in picked:
        for other, another, _ in picked:
            if other.id in found.conflicts:
                raise UserError(f"{found.id} and {other.id} exclude each other")
            if other.id == found.id and another != recipe:
                names = f"{title(found, recipe)} and {title(other, another)}"
                raise UserError(f"{names} are two recipes of one technique: choose one")
    return picked
