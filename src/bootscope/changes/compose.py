# SPDX-License-Identifier: Apache-2.0
"""Combines the changes of several techniques. A change may refer to what the others change.

For example, a command line frozen into the kernel must be the one that results from all other changes. So
placeholders that only a boot can fill (@lpj@) are filled when a technique is found to apply, since a later
boot may show less; those that settings fill (@command_line@) are filled when changes are combined.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from bootscope.changes.applies import fill
from bootscope.emulator.subject import flat
from bootscope.inventory.inventory import Inventory
from bootscope.inventory.values import PLACEHOLDER, boot_value, setting_value, value_if_known
from bootscope.system.changes import Change, apply
from bootscope.system.model import Symbols, System
from bootscope.system.placeholders import SETTINGS

_LAST = SETTINGS["command_line"]
"""The setting that may contain others, so its value is computed last."""


def with_values(change: Change, facts: Inventory) -> Change:
    """The change with placeholders filled from the boot and from the system's files.

    Raises UserError when a value is unknown or the system has no such thing.
    """
    return fill(change, lambda name: boot_value(name, facts))


def with_known_values(change: Change, facts: Inventory) -> Change:
    """The same, but a placeholder stays where too little is known of the system to fill it."""
    return fill(change, lambda name: value_if_known(name, facts, boot_value))


def symbols_of(tree: str, changes: Collection[Change]) -> Symbols:
    """The symbols of a tree that changes ask for; wishes give way to the rest."""
    wishes = [change.kernel_wishes for change in changes] if tree == "kernel" else []
    tables = (*wishes, *(getattr(change, tree) for change in changes))
    return {name: value for symbols in tables for name, value in symbols.items()}


def composed(system: System, changes: Mapping[str, Change]) -> dict[str, Change]:
    """The changes, with placeholders filled from the settings of the system that has all of them.

    Raises UserError when two of them conflict.
    """
    done: dict[str, Change] = {}
    for rank in range(3):
        settings = flat(apply(system, done))
        for name, change in changes.items():
            if _rank(change) == rank:
                done[name] = _with_settings(change, settings)
    return done


def _with_settings(change: Change, settings: Mapping[str, str]) -> Change:
    return fill(change, lambda name: setting_value(name, settings) or None)


def speaks_of(change: Change, names: Collection[str]) -> bool:
    """Whether a change contains one of these placeholders."""
    return not set(names).isdisjoint(_names(change))


def _names(change: Change) -> set[str]:
    return set(PLACEHOLDER.findall(msgspec.json.encode(change).decode()))


def _rank(change: Change) -> int:
    """0 for a change without placeholders, 2 for one that refers to the command line, else 1."""
    names = _names(change)
    return 0 if not names else 2 if any(SETTINGS.get(name) == _LAST for name in names) else 1
