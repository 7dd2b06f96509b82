# SPDX-License-Identifier: Apache-2.0
"""A configuration of a tree, and what would change in it if symbols were switched off.

This is a forecast from reading the Kconfig files, good enough to choose what to try. The tree's own tools
decide.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from bootscope.kbuild.expressions import NO, parse
from bootscope.kbuild.symbols import Symbol, Symbols

EXPERT = "EXPERT"
"""The symbol behind which the kernel and boot loaders hide what most people should leave alone."""


class Configuration:
    """`config` maps symbols to values as in a .config file."""

    def __init__(self, symbols: Symbols, config: Mapping[str, str]) -> None:
        self.symbols = symbols
        self.config = dict(config)
        self.on = {name for name, value in config.items() if value in ("y", "m") and name in symbols}
        self._selected_by: dict[str, set[str]] = defaultdict(set)
        self._touches: dict[str, set[str]] = defaultdict(set)
        for name in self.on:
            symbol = symbols[name]
            for target, _ in symbol.selects:
                self._selected_by[target].add(name)
                self._touches[name].add(target)
            for used in _used(symbol):
                self._touches[used].add(name)

    def askable(self) -> list[str]:
        """Symbols that are on and that a person could switch off if nothing selects them: those with a prompt
        that is visible (to experts), and not part of a choice."""
        as_expert = {**self.config, EXPERT: "y"}
        return sorted(
            name
            for name in self.on
            if name != EXPERT
            and self.symbols[name].switch
            and not self.symbols[name].choice
            and any(prompt.value(as_expert) != NO for prompt in self.symbols[name].prompts)
        )

    def hidden(self, name: str) -> bool:
        """Whether only experts can switch a symbol off."""
        plain = {**self.config, EXPERT: "n"}
        return all(prompt.value(plain) == NO for prompt in self.symbols[name].prompts)

    def holders(self, name: str) -> list[str]:
        """Symbols that are on and select this one."""
        return sorted(self._selecting(name, self.config))

    def _selecting(self, name: str, state: Mapping[str, str]) -> Iterator[str]:
        """Symbols that select this one, of those that are on in `state`."""
        for other in self._selected_by.get(name, ()):
            selects = self.symbols[other].selects
            if state[other] != "n" and any(t == name and c.value(state) != NO for t, c in selects):
                yield other

    def without(self, off: Iterable[str]) -> set[str]:
        """All symbols that go off with these, without symbols in `off` that others select: these stay on."""
        wanted = set(off) & self.on
        while True:
            state = self._state_without(wanted)
            # A symbol that is still selected when everything has settled comes back, with others.
            held = {name for name in wanted if any(self._selecting(name, state))}
            if not held:
                return {name for name in self.on if state[name] == "n"}
            wanted -= held

    def _state_without(self, wanted: set[str]) -> dict[str, str]:
        state = dict(self.config)
        queue: set[str] = set()
        for name in wanted:
            state[name] = "n"
            queue |= self._touches[name]
        while queue:
            name = queue.pop()
            if name in self.on and state[name] != "n" and not self._stays(name, state):
                state[name] = "n"
                queue |= self._touches[name]
        return state

    def _stays(self, name: str, state: Mapping[str, str]) -> bool:
        """Whether a symbol stays on while the others have the values in `state`."""
        symbol = self.symbols[name]
        asked = (prompt.value(state) != NO for prompt in symbol.prompts)
        return any(self._selecting(name, state)) or (
            symbol.needs().value(state) != NO and (any(asked) or _default(symbol, state) != NO)
        )


def _default(symbol: Symbol, state: Mapping[str, str]) -> int:
    met = (value for value, condition in symbol.defaults if condition.value(state) != NO)
    return parse(next(met, "n")).value(state)


def _used(symbol: Symbol) -> set[str]:
    """Symbols whose value may affect this one's."""
    found = set(symbol.needs().symbols())
    for prompt in symbol.prompts:
        found |= set(prompt.symbols())
    for value, condition in symbol.defaults:
        found |= {value} | set(condition.symbols())
    return found
