# SPDX-License-Identifier: Apache-2.0
"""Whether each technique of a list applies: to the system as it is, or with other techniques of the list.

For example, sysfs can only go once USB is out of the kernel, and another technique may take USB out. The
order of the list does not matter: a technique is refused when it applies in no order. Nothing is built for
this: what else a change of the kernel's configuration switches off is read from the kernel's sources where
they are available, and is unknown otherwise.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bootscope.changes.applies import SO_ALREADY, changes_nothing, filled, untried
from bootscope.changes.compose import symbols_of
from bootscope.core.errors import UserError
from bootscope.inventory.inventory import Inventory, listed
from bootscope.inventory.recorded import Recorded
from bootscope.kbuild.kconfig import written
from bootscope.system.changes import SAME, TREES, Change, matches, with_words
from bootscope.techniques.model import Recipe

_OPTIONS, _WORDS = "application.compiler_options", "kernel.command_line"


def refused(recipes: Mapping[str, Recipe], known: Inventory) -> dict[str, str]:
    """The recipes that do not apply to a system in any order, with the reason."""
    stages = [known]
    left, more = _left(recipes, stages), True
    while left and more:
        there = [recipe for name, recipe in recipes.items() if name not in left]
        stages.append(_changed(known, list(_filled(there, known))))
        before, left = left, _left({name: recipes[name] for name in left}, stages)
        more = len(left) < len(before)
    return left


def _filled(recipes: Iterable[Recipe], known: Inventory) -> Iterator[Change]:
    """The changes of recipes, without those whose placeholders cannot be filled."""
    for recipe in recipes:
        with contextlib.suppress(UserError):
            yield filled(recipe.change, known)


def _left(recipes: Mapping[str, Recipe], stages: Sequence[Inventory]) -> dict[str, str]:
    """Those that apply at no stage, with the reason at the last one.

    A technique may change something at one stage and have its conditions met at another one: it is not
    refused because another technique of the list does the same.
    """
    found: dict[str, str] = {}
    for name, recipe in recipes.items():
        reasons = [untried(recipe, known) for known in stages]
        if all(changes_nothing(recipe, known) for known in stages):
            found[name] = SO_ALREADY
        elif all(reasons):
            found[name] = reasons[-1]
    return found


def _changed(known: Inventory, changes: Sequence[Change]) -> Inventory:
    """What is known of a system with changes, all of whose placeholders are filled in. What its boot showed
    does not change."""
    if not changes:
        return known
    configs, partial = dict(known.configs), set(known.partial)
    for tree in TREES:
        asked = {name: written(value) for name, value in symbols_of(tree, changes).items()}
        follows = _follows(known, changes, asked) if tree == "kernel" else {}
        if follows is None:
            partial.add(tree)
        # Symbols that are not named may go off with those that are.
        there = known.configs.get(tree, {}) if follows is not None else {}
        configs[tree] = {**there, **(follows or {}), **asked}
    line, options = known.command_line, " ".join(known.compiler_options)
    settings, files = dict(known.settings), dict(known.files)
    for change in changes:
        line = with_words(line.split(), change.command_line, change.command_line_drop)
        options = with_words(options.split(), change.compiler_options, change.compiler_options_drop)
        settings = _with_settings(settings, change.settings)
        files = _with_files(files, change)
    settings |= {_WORDS: line, _OPTIONS: str(options.split())}
    return replace(
        known,
        configs=configs,
        partial=frozenset(partial),
        command_line=line,
        settings=settings,
        files=files,
    )


def _follows(known: Inventory, changes: Sequence[Change], asked: Mapping[str, str]) -> dict[str, str] | None:
    """The kernel's symbols that go off with those switched off; None where that is unknown."""
    if any(change.from_nothing for change in changes):
        return None
    off = [name for name, value in asked.items() if value == "n"]
    if not off:
        return {}
    closures = known.closures if isinstance(known, Recorded) else None
    with contextlib.suppress(UserError):
        return dict.fromkeys(closures.lost(off).symbols, "n") if closures else None
    return None


def _with_settings(settings: dict[str, str], new: Mapping[str, Any]) -> dict[str, str]:
    """Settings as texts (see emulator.subject.flat), updated with those of a change."""
    for key, value in new.items():
        kept = {k: text for k, text in settings.items() if not k.startswith(f"{key}.")}
        table = {f"{key}.{name}": text for name, text in value.items()} if isinstance(value, dict) else {}
        settings = {**kept, **(table or {key: str(_with_same(settings.get(key, ""), value))})}
    return settings


def _with_same(there: str, value: object) -> object:
    """A value; in a list, SAME is replaced by the items that are there already."""
    if not isinstance(value, list | tuple) or SAME not in value:
        return value
    at = value.index(SAME)
    kept = (item for item in listed(there) if item not in value)
    return (*value[:at], *kept, *value[at + 1 :])


def _with_files(files: dict[str, str], change: Change) -> dict[str, str]:
    """A list of files, updated with those of a change."""
    kept = {path: told for path, told in files.items() if not matches(path, change.remove)}
    texts = {path: hashlib.sha256(text.encode()).hexdigest()[:16] for path, text in change.write.items()}
    made = {path: f"file {digest}" for path, digest in texts.items()}
    return {**kept, **made, **{path: f"-> {target}" for path, target in change.link.items()}}
