# SPDX-License-Identifier: Apache-2.0
"""Changes of several techniques put together: each may speak of what the others change.

A command line that is frozen into the kernel, for one, is the one that all the others have made. So what
only a boot can tell (@lpj@) is filled in when a technique is found to apply, since a later boot may tell
less; and what the settings of the system tell (@command_line@) when it is put together with the others.
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
"""The setting that others are put into, so that its value is known last."""


def with_values(change: Change, facts: Inventory) -> Change:
    """The change with what the boot tells and what is found in the system filled in.

    Raises UserError when nothing tells it, or the system has no such thing.
    """
    return fill(change, lambda name: boot_value(name, facts))


def with_known_values(change: Change, facts: Inventory) -> Change:
    """The same, but what is found in a system of which too little is known stays a placeholder."""
    return fill(change, lambda name: value_if_known(name, facts, boot_value))


def symbols_of(tree: str, changes: Collection[Change]) -> Symbols:
    """The symbols of a tree that changes ask for; wishes give way to the rest."""
    wishes = [change.kernel_wishes for change in changes] if tree == "kernel" else []
    tables = (*wishes, *(getattr(change, tree) for change in changes))
    return {name: value for symbols in tables for name, value in symbols.items()}


def composed(system: System, changes: Mapping[str, Change]) -> dict[str, Change]:
    """The changes with the settings of the system filled in, as it is with all of them.

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
    """Whether a change has one of these placeholders."""
    return not set(names).isdisjoint(_names(change))


def _names(change: Change) -> set[str]:
    return set(PLACEHOLDER.findall(msgspec.json.encode(change).decode()))


def _rank(change: Change) -> int:
    """0 for a change without placeholders, 2 for one that speaks of the command line."""
    names = _names(change)
    return 0 if not names else 2 if any(SETTINGS.get(name) == _LAST for name in names) else 1
