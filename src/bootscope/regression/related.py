# SPDX-License-Identifier: Apache-2.0
"""Which symbols of a configuration must change before which, so that Kconfig accepts each change as it is.

Derived from the Kconfig files: a forecast that avoids combinations which Kconfig would turn into others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from bootscope.kbuild.expressions import NO
from bootscope.kbuild.symbols import Symbol, Symbols

_LEVELS = {"n": 0, "m": 1}
_HIGHEST = 2


def related(
    tree: Symbols,
    old: Mapping[str, str],
    new: Mapping[str, str],
    differing: Sequence[str],
    set_too: Collection[str] = (),
) -> dict[str, set[str]]:
    """The symbols that differ and can be set -> the symbols that must have changed before.

    What is switched on needs what it depends on or selects to have changed first. What is switched off goes
    before these. The symbols of one choice need each other. Symbols without a prompt, except those in
    `set_too`, follow from others: what a symbol needs through them counts as needed.
    """
    settable = [name for name in differing if name in set_too or _asked(tree.get(name), old, new)]
    hidden = set(differing) - set(settable)
    selectors = _selectors(tree, hidden)
    uses = {name: set(_uses(tree, name, selectors.get(name))) for name in differing}
    needs: dict[str, set[str]] = {name: set() for name in settable}
    choices: dict[int, list[str]] = defaultdict(list)
    for name in settable:
        goes = _level(new, name) < _level(old, name)
        for used in _through(name, uses, hidden):
            if used in needs:
                needs[used if goes else name].add(name if goes else used)
        if name in tree and tree[name].choice:
            choices[tree[name].choice].append(name)
    for members in choices.values():
        for name in members:
            needs[name] |= {*members} - {name}
    return needs


def _asked(symbol: Symbol | None, old: Mapping[str, str], new: Mapping[str, str]) -> bool:
    """Whether a symbol has a visible prompt in one of the configurations; assumed for unknown symbols."""
    if symbol is None:
        return True
    return any(prompt.value(config) != NO for prompt in symbol.prompts for config in (old, new))


def _level(config: Mapping[str, str], name: str) -> int:
    return _LEVELS.get(config.get(name, "n"), _HIGHEST)


def _selectors(tree: Symbols, names: Collection[str]) -> dict[str, set[str]]:
    """For each of some symbols, those that may select it, and those in the conditions for that."""
    found: dict[str, set[str]] = {name: set() for name in names}
    for other in tree.values():
        for target, condition in other.selects:
            if target in found:
                found[target] |= {other.name, *condition.symbols()}
    return found


def _uses(tree: Symbols, name: str, selectors: set[str] | None) -> Iterator[str]:
    """The symbols that decide on a symbol's value, or whose value it decides on. `selectors`: those of a
    symbol that follows from others."""
    symbol = tree.get(name)
    if symbol is None:
        return
    yield from symbol.needs().symbols()
    if selectors is None:
        for prompt in symbol.prompts:
            yield from prompt.symbols()
        yield from (target for target, _ in symbol.selects)
        return
    for value, condition in symbol.defaults:
        yield value
        yield from condition.symbols()
    yield from selectors


def _through(name: str, uses: Mapping[str, set[str]], hidden: set[str]) -> set[str]:
    """What a symbol uses, directly or through symbols that follow from others."""
    found: set[str] = set()
    queue = [name]
    while queue:
        for used in uses.get(queue.pop(), ()):
            if used not in found and used != name:
                found.add(used)
                if used in hidden:
                    queue.append(used)
    return found
