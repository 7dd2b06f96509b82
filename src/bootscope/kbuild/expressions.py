# SPDX-License-Identifier: Apache-2.0
"""Kconfig's expressions over symbols with three values: n (0), m (1), y (2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

NO, MODULE, YES = 0, 1, 2
_VALUES = {"n": NO, "m": MODULE, "y": YES}
_TOKEN = re.compile(
    r"\s*(?:(?P<op>&&|\|\||!=|<=|>=|[!()=<>])"
    r"|\"(?P<text>(?:[^\"\\]|\\.)*)\"|'(?P<other>[^']*)'|(?P<word>[\w./$-]+)|(?P<bad>.+))"
)
_DEEPEST = 60
"""Brackets and `!` inside each other; real expressions have a few."""
UNKNOWN = "$"
"""Stands for what the tree's own tools would ask the compiler or the shell: treated as true."""


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression: `kind` is `and`, `or`, `not`, `symbol`, `compare` or `true`.

    `parts` are the inner expressions; `words` are the symbol's name, or left side, operator, right side.
    """

    kind: str
    parts: tuple[Expression, ...] = ()
    words: tuple[str, ...] = ()

    def symbols(self) -> Iterator[str]:
        """The names of all symbols in it, without constants."""
        if self.kind in ("symbol", "compare"):
            yield from (w for w in self.words[::2] if w and w not in _VALUES and w != UNKNOWN)
        for part in self.parts:
            yield from part.symbols()

    def value(self, config: Mapping[str, str]) -> int:
        """0, 1 or 2 under a configuration (symbol -> value as in a .config file)."""
        if self.kind == "and":
            return min(part.value(config) for part in self.parts)
        if self.kind == "or":
            return max(part.value(config) for part in self.parts)
        if self.kind == "not":
            return YES - self.parts[0].value(config)
        if self.kind == "symbol":
            return tristate(self.words[0], config)
        return _compared(self.words, config) if self.kind == "compare" else YES


TRUE = Expression("true")


def tristate(name: str, config: Mapping[str, str]) -> int:
    """The value of a symbol or constant; a symbol with a text or number counts as n."""
    if name in _VALUES:
        return _VALUES[name]
    return YES if name == UNKNOWN else _VALUES.get(config.get(name, "n"), NO)


def both(one: Expression, other: Expression) -> Expression:
    """`one && other`."""
    if one is TRUE or other is TRUE:
        return other if one is TRUE else one
    return Expression("and", (one, other))


def _compared(words: tuple[str, ...], config: Mapping[str, str]) -> int:
    left, operator, right = words
    if UNKNOWN in (left, right):
        return YES
    # A symbol that is not set is n where it is compared with n, m or y.
    a, b = (
        "n" if w not in config and o in _VALUES and w.isupper() else config.get(w, w).strip('"')
        for w, o in ((left, right), (right, left))
    )
    try:
        x, y = int(a, 0), int(b, 0)
        order = (x > y) - (x < y)
    except ValueError:
        order = (a > b) - (a < b)
    holds = {"=": order == 0, "!=": order != 0, "<": order < 0, ">": order > 0}
    holds |= {"<=": order <= 0, ">=": order >= 0}
    return YES if holds[operator] else NO


def parse(text: str) -> Expression:
    """An expression from its text; invalid text (a newer syntax) is treated as true."""
    parser = _Parser(list(_tokens(without_macros(text))))
    found = parser.either()
    return found if found and parser.at_end else TRUE


def without_macros(text: str) -> str:
    """The text with each `$(...)`, also nested, replaced by UNKNOWN."""
    found, depth, at = [], 0, 0
    while at < len(text):
        if text.startswith("$(", at) and not depth:
            depth, at = 1, at + 2
            found.append(UNKNOWN)
        elif depth:
            depth += (text[at] == "(") - (text[at] == ")")
            at += 1
        else:
            found.append(text[at])
            at += 1
    return "".join(found)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    for match in _TOKEN.finditer(text.rstrip()):
        kind = match.lastgroup or "bad"
        yield (kind if kind in ("op", "bad") else "word", match[kind])


class _Parser:
    """Recursive descent; every method returns None where its kind of expression does not begin."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._at = self._depth = 0

    @property
    def at_end(self) -> bool:
        return self._at == len(self._tokens)

    def _take(self, *operators: str) -> str | None:
        if not self.at_end and self._tokens[self._at][0] == "op" and self._tokens[self._at][1] in operators:
            self._at += 1
            return self._tokens[self._at - 1][1]
        return None

    def either(self) -> Expression | None:
        return self._joined("||", "or", self._both)

    def _both(self) -> Expression | None:
        return self._joined("&&", "and", self._one)

    def _joined(self, operator: str, kind: str, inner: Callable[[], Expression | None]) -> Expression | None:
        parts = [inner()]
        while self._take(operator):
            parts.append(inner())
        found = tuple(part for part in parts if part)
        if len(found) < len(parts):
            return None
        return found[0] if len(found) == 1 else Expression(kind, found)

    def _one(self) -> Expression | None:
        self._depth += 1
        try:
            return self._inner() if self._depth <= _DEEPEST else None
        finally:
            self._depth -= 1

    def _inner(self) -> Expression | None:
        if self._take("!"):
            inner = self._one()
            return Expression("not", (inner,)) if inner else None
        if self._take("("):
            inside = self.either()
            return inside if self._take(")") else None
        if self.at_end or self._tokens[self._at][0] != "word":
            return None
        left = self._word()
        operator = self._take("=", "!=", "<", ">", "<=", ">=")
        if not operator:
            return Expression("symbol", words=(left,))
        if self.at_end or self._tokens[self._at][0] != "word":
            return None
        return Expression("compare", words=(left, operator, self._word()))

    def _word(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1][1]
