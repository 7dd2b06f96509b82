# SPDX-License-Identifier: Apache-2.0
"""Changes .config files: puts symbols in, lets the tree's own tools decide, checks that they took effect."""

from __future__ import annotations

import re
from pathlib import Path

from bootscope.core.errors import SymbolError
from bootscope.system.model import Symbols

_LINE = re.compile(r"^(?:CONFIG_(?P<set>\w+)=(?P<value>.*)|# CONFIG_(?P<unset>\w+) is not set)$")


def parse(text: str) -> dict[str, str]:
    """Symbol -> value as written ('y', '"text"', '0x10'); 'n' for those that are not set."""
    found = filter(None, map(_LINE.match, text.splitlines()))
    return {m["set"] or m["unset"]: m["value"] if m["set"] else "n" for m in found}


def written(value: str | int | bool) -> str:
    """A value as written in a .config file."""
    if isinstance(value, bool):
        return "y" if value else "n"
    if isinstance(value, int):
        return str(value)
    if value in ("y", "n", "m") or value.startswith("0x"):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def fragment(symbols: Symbols) -> list[str]:
    """Symbols as lines of a .config file."""
    values = ((name, written(value)) for name, value in symbols.items())
    return [f"# CONFIG_{n} is not set" if v == "n" else f"CONFIG_{n}={v}" for n, v in values]


def apply(path: Path, symbols: Symbols) -> None:
    """Replaces or adds the symbols in a .config file; the tree's olddefconfig must follow."""
    kept = [line for line in path.read_text().splitlines() if parse(line).keys().isdisjoint(symbols)]
    path.write_text("\n".join([*kept, *fragment(symbols)]) + "\n")


def check(path: Path, symbols: Symbols, where: str) -> None:
    """Raises SymbolError naming the symbols that do not have the requested values."""
    found = parse(path.read_text())
    wrong = [name for name, value in symbols.items() if found.get(name, "n") != written(value)]
    if wrong:
        told = (f"{name}={written(symbols[name])} became {found.get(name, 'n')}" for name in wrong)
        raise SymbolError(
            f"{where}: these symbols have other values: {', '.join(told)}",
            tuple(wrong),
            hint="a dependency is missing, or they do not exist in this version",
        )
