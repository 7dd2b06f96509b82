# SPDX-License-Identifier: Apache-2.0
"""What happens when symbols are switched off: which take effect, and what keeps the others on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from bootscope.core.text import listed
from bootscope.kbuild.graph import EXPERT, Configuration
from bootscope.kbuild.symbols import Symbols as Tree
from bootscope.system.model import Symbols

Ask = Callable[[Symbols], Mapping[str, str]]
"""What the tree's own tools make of symbols: the whole configuration, with values as written."""

_MOST_ROUNDS = 8


@dataclass(frozen=True)
class Landed:
    """`symbols` can be requested and take effect; `config` is the resulting configuration. `held` maps each
    symbol that did not take effect to the reason."""

    symbols: Symbols
    config: Mapping[str, str]
    held: Mapping[str, str]


def land(
    tree: Tree,
    ask: Ask,
    off: Iterable[str],
    before: Mapping[str, str],
    fixed: Collection[str],
    on: Collection[str] = (),
) -> Landed:
    """Switches symbols off, and also those that come on as a result.

    `before` is the configuration so far; `fixed` are symbols that must not change; `on` are switched on where
    possible.
    """
    wanted, held = set(off), dict[str, str]()
    chosen = set(on)
    given_up: set[str] = set()
    for _ in range(_MOST_ROUNDS):
        symbols = {**_asked(tree, wanted, before), **dict.fromkeys(sorted(chosen), True)}
        config = ask(symbols)
        refused = {name for name in chosen if config.get(name, "n") == "n"}
        held |= dict.fromkeys(refused, "its dependencies are not met")
        back = {name for name in wanted if config.get(name, "n") != "n"}
        made = Configuration(tree, config)
        for name in back:
            held[name] = _reason(made, name)
        # With EXPERT on, some symbols are on unless they are switched off.
        new = {
            name
            for name in made.askable()
            if before.get(name, "n") == "n" and name not in fixed and name not in given_up | wanted | chosen
        }
        if not back and not new and not refused:
            break
        given_up |= back
        chosen -= refused
        wanted = (wanted - back) | new
    return Landed({n: v for n, v in symbols.items() if n not in back | refused}, config, held)


def _asked(tree: Tree, wanted: Collection[str], before: Mapping[str, str]) -> Symbols:
    symbols: Symbols = dict.fromkeys(sorted(wanted), False)
    known = Configuration(tree, before)
    hidden = any(name in known.on and known.hidden(name) for name in wanted)
    # Without EXPERT, what was switched off in the experts' menu would come back.
    if EXPERT in tree and (hidden or before.get(EXPERT) == "y"):
        symbols[EXPERT] = True
    return symbols


def _reason(made: Configuration, name: str) -> str:
    holders = made.holders(name)
    if holders:
        return f"{listed(holders, 3)} {'select' if len(holders) > 1 else 'selects'} it"
    symbol = made.symbols.get(name)
    if symbol is None:
        return "this version has no such symbol"
    return "it has no prompt in this configuration" if symbol.prompts else "it has no prompt of its own"
