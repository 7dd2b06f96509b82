# SPDX-License-Identifier: Apache-2.0
"""The symbols of a Kconfig tree: their dependencies, selects and prompts.

Accurate enough to say what keeps a symbol on and what goes off with it; the actual configuration is decided
by the tree's own tools. Works with the kernel, boot loaders and BusyBox.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bootscope.arch.model import Architecture
from bootscope.core.errors import UserError
from bootscope.kbuild.expressions import TRUE, Expression, both, parse, without_macros
from bootscope.loaders import registry as loaders

TOP = {"kernel": "Kconfig", loaders.BUILT.tree: "Kconfig", "busybox": "Config.in"}
"""The file that a tree's symbols start in."""
_TYPES = ("bool", "boolean", "tristate", "string", "int", "hex")
_SYMBOL = re.compile(r"(?:menu)?config\s+(\w+)$")
_IF = re.compile(r"\s+if\s+(?=[^\"]*(?:\"[^\"]*\"[^\"]*)*$)")
_IN_SOURCE = re.compile(r"^//config:(.*)$", re.M)
_PROMPT = re.compile(r"(?:\"(?:[^\"\\]|\\.)*\"|'[^']*')\s*(?:if\s+(.*))?$")
_BEFORE_COMMENT = re.compile(r"""(?:[^"'#]|"[^"]*"|'[^']*')*(?=#)""")


@dataclass
class Symbol:
    """A symbol. `prompts` are the conditions under which its prompt is visible; `selects` are (symbol,
    condition)."""

    name: str
    type: str = ""
    prompts: list[Expression] = field(default_factory=list)
    depends: list[Expression] = field(default_factory=list)
    defaults: list[tuple[str, Expression]] = field(default_factory=list)
    selects: list[tuple[str, Expression]] = field(default_factory=list)
    choice: int = 0
    """The number of the choice that it is part of; 0: none."""

    @property
    def switch(self) -> bool:
        """Whether it is on or off, not a text or number."""
        return self.type in ("bool", "tristate")

    def needs(self) -> Expression:
        """Its dependencies: those of any of its definitions are enough."""
        if not self.depends or TRUE in self.depends:
            return TRUE
        return self.depends[0] if len(self.depends) == 1 else Expression("or", tuple(self.depends))


Symbols = dict[str, Symbol]


def read(tree: Path, arch: Architecture, top: str = "Kconfig") -> Symbols:
    """All symbols of a tree, for an architecture.

    Raises UserError when the top file is missing; a missing included file is ignored.
    """
    reader = _Reader(tree, {"SRCARCH": arch.tools.kernel, "ARCH": arch.tools.kernel})
    if not (tree / top).exists():
        raise UserError(f"there is no {top} in {tree}")
    reader.file(top)
    return reader.symbols


def _text(tree: Path, name: str) -> str | None:
    """The text of a Kconfig file; BusyBox generates its own from a template and from its C files."""
    path = tree / name
    pattern = path.with_name("Config.src")
    if pattern.is_file():
        sources = sorted(path.parent.glob("*.c"))
        found = [_IN_SOURCE.findall(source.read_text(errors="replace")) for source in sources]
        inserted = "\n".join(line for lines in found for line in lines)
        return re.sub(r"(?m)^INSERT$", lambda _: inserted, pattern.read_text(errors="replace"))
    return path.read_text(errors="replace") if path.is_file() else None


@dataclass
class _Block:
    """An open `if`, `menu` or `choice`, and the dependency that it adds to everything inside."""

    kind: str
    condition: Expression = TRUE
    choice: int = 0


class _Reader:
    def __init__(self, tree: Path, variables: dict[str, str]) -> None:
        self.symbols: Symbols = {}
        self._tree, self._variables = tree, variables
        self._blocks: list[_Block] = []
        self._choices = 0
        self._open: Symbol | _Block | None = None
        self._files: set[str] = set()

    def file(self, name: str) -> None:
        text = None if name in self._files else _text(self._tree, name)
        if text is None:
            return
        self._files.add(name)
        for line in _lines(text):
            self._line(line)

    def _line(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        found = _SYMBOL.match(line)
        if found:
            self._begin(found[1])
        elif word in ("source", "rsource", "osource", "orsource"):
            self._source(rest)
        elif word == "if":
            self._blocks.append(_Block("if", parse(rest)))
        elif word in ("menu", "choice"):
            self._choices += word == "choice"
            self._open = _Block(word, choice=self._choices if word == "choice" else 0)
            self._blocks.append(self._open)
        elif word in ("endif", "endmenu", "endchoice"):
            if self._blocks:
                self._blocks.pop()
            self._open = None
        elif word in ("comment", "mainmenu"):
            self._open = _Block(word)
        elif self._open is not None:
            self._attribute(word, rest.strip())

    def _source(self, rest: str) -> None:
        name = rest.strip().strip('"')
        for variable, value in self._variables.items():
            name = name.replace(f"$({variable})", value).replace(f"${variable}", value)
        self._open = None
        self.file(name)

    def _begin(self, name: str) -> None:
        symbol = self.symbols.setdefault(name, Symbol(name))
        condition = TRUE
        for block in self._blocks:
            condition = both(condition, block.condition)
            symbol.choice = block.choice or symbol.choice
        symbol.depends.append(condition)
        self._open = symbol

    def _attribute(self, word: str, rest: str) -> None:
        opened = self._open
        if isinstance(opened, _Block):
            if word == "depends":
                opened.condition = both(opened.condition, parse(rest.removeprefix("on ")))
            return
        assert opened
        if word in _TYPES:
            opened.type = {"boolean": "bool"}.get(word, word)
            if rest:
                self._prompt(opened, rest)
        elif word in ("def_bool", "def_tristate"):
            opened.type = word.removeprefix("def_")
            self._default(opened, rest)
        elif word == "prompt":
            self._prompt(opened, rest)
        elif word == "default":
            self._default(opened, rest)
        elif word == "depends":
            opened.depends[-1] = both(opened.depends[-1], parse(rest.removeprefix("on ")))
        elif word == "select":
            target, condition = _conditional(rest)
            opened.selects.append((target, both(condition, opened.depends[-1])))

    @staticmethod
    def _prompt(symbol: Symbol, rest: str) -> None:
        match = _PROMPT.match(rest)
        if match:
            symbol.prompts.append(both(symbol.depends[-1], parse(match[1]) if match[1] else TRUE))

    @staticmethod
    def _default(symbol: Symbol, rest: str) -> None:
        value, condition = _conditional(without_macros(rest))
        symbol.defaults.append((value, both(condition, symbol.depends[-1])))


def _conditional(rest: str) -> tuple[str, Expression]:
    """`X if CONDITION`."""
    found = _IF.search(rest)
    if not found:
        return rest.strip(), TRUE
    return rest[: found.start()].strip(), parse(rest[found.end() :])


def _lines(text: str) -> Iterator[str]:
    """The lines without help texts, comments and indentation; words separated by single spaces."""
    held = ""
    # The indentation of the help text that we are in; 0 before its first line, None outside of one.
    help_depth: int | None = None
    for raw in text.expandtabs().splitlines():
        stripped = raw.strip()
        if help_depth is not None:
            here = len(raw) - len(raw.lstrip())
            if not stripped:
                continue
            if here >= max(help_depth, 1):
                help_depth = help_depth or here
                continue
            help_depth = None
        if stripped.endswith("\\"):
            held += f"{stripped[:-1]} "
            continue
        line, held = " ".join(f"{held}{stripped}".split()), ""
        if line in ("help", "---help---"):
            help_depth = 0
        elif line and not line.startswith("#"):
            before = _BEFORE_COMMENT.match(line)
            yield before[0].rstrip() if before else line
