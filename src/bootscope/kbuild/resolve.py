# SPDX-License-Identifier: Apache-2.0
"""What comes of switching symbols off: which land, and who puts the others back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from bootscope.core.text import listed
from bootscope.kbuild.graph import EXPERT, Configuration
from bootscope.kbuild.symbols import Symbols as Tree
from bootscope.system.model import Symbols

Ask = Callable[[Symbols], Mapping[str, str]]
"""What the tree's own tools make of symbols: the whole configuration, values as written."""

_MOST_ROUNDS = 8


@dataclass(frozen=True)
class Landed:
    """`symbols` can be asked for, and land; `config` is what they come to. `held` maps each symbol that
    did not land to the reason."""

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
    """Switches symbols off, and with them what comes on by itself through that.

    `before` is the configuration so far; `fixed` are symbols that are not to be touched; `on` are switched
    on where that is possible.
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
        # Where experts are asked, some things are on unless they say no.
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
    # What went off in the expert's menu would come back without it.
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
