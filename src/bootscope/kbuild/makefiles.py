# SPDX-License-Identifier: Apache-2.0
"""Which symbols add an object file to a build: read from the Makefiles of its folder and its parents.

Handles the Makefiles of the kernel, boot loaders and BusyBox: lists such as ``obj-$(CONFIG_X) += a.o dir/``,
objects made of others (``a-y := b.o``), and the conditions around them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path, PurePosixPath

from bootscope.arch.model import Architecture

Way = frozenset[str]
"""Symbols that must all be on."""
Ways = tuple[Way, ...]
"""Any of these adds the object; a way without symbols always does."""

ALWAYS: Ways = (frozenset(),)
_MOST_WAYS = 16
_LISTS = ("obj", "lib", "core", "drivers", "machine", "libs", "net", "head", "plat", "virt", "extra")
_ASSIGN = re.compile(r"^((?:[^\s:#?+=$]|\$(?:\([^)]*\))?+)*+)\s*(?:[:?+]|::)?=\s*(.*)$")
_LIST = re.compile(r"^(?P<base>[\w.$()/-]*?)-(?P<suffix>y|m|objs|\$\(.*\))$")
_CONDITIONS = ("ifdef", "ifeq", "ifneq", "ifndef")
_CONFIG = re.compile(r"CONFIG_(?:\$\(\w+\))?(\w+)")
_REFERENCE = re.compile(r"\$\(([\w.-]+?)(?:-y|-objs|-m)\)")
_INSERTED = re.compile(r"^//kbuild:(.*)$", re.M)
_EMPTY_TEST = re.compile(r"^\((.*),\s*\)$")


@dataclass(frozen=True, slots=True)
class Rule:
    """With all symbols of `way` on, `listed` (a path below the folder; folders end in `/`) is in `target`.

    `target` is "" for the program itself, else the object that `listed` is part of.
    """

    target: str
    listed: str
    way: Way


@dataclass
class Makefiles:
    """The Makefiles of one tree for an architecture, read when needed."""

    tree: Path
    arch: Architecture
    _rules: dict[str, dict[str, list[Rule]]] = field(default_factory=dict)
    _known: dict[str, Ways] = field(default_factory=dict)

    def ways(self, name: str) -> Ways:
        """The ways in which an object file (path in the tree) is added; ALWAYS when no symbol decides."""
        if name not in self._known:
            self._known[name] = ()  # during the search: lists may refer to each other in a circle
            self._known[name] = self._of(PurePosixPath(name)) or ALWAYS
        return self._known[name]

    def _of(self, path: PurePosixPath) -> Ways:
        """The ways from the Makefiles of all parent folders that list the path."""
        found: list[Way] = []
        is_folder = path.suffix != ".o"
        for folder in path.parents:
            listed = path.relative_to(folder).as_posix()
            rules = self._in(folder.as_posix())
            for name in (f"{listed}/", listed) if is_folder else (listed,):
                for rule in rules.get(name, ()):
                    outer = self.ways(f"{folder / rule.target}") if rule.target else self._folder(folder)
                    found += (rule.way | way for way in outer)
        # A file that no list names has the ways of its folder.
        return _least(found) if found or is_folder else self._folder(path.parent)

    def _folder(self, folder: PurePosixPath) -> Ways:
        return self.ways(folder.as_posix()) if folder.parts else ALWAYS

    def _in(self, folder: str) -> dict[str, list[Rule]]:
        """The rules of a folder, by the path that they list."""
        if folder not in self._rules:
            found: dict[str, list[Rule]] = defaultdict(list)
            for rule in _rules(self._text(folder), folder, self.arch.tools.kernel):
                found[rule.listed].append(rule)
            self._rules[folder] = dict(found)
        return self._rules[folder]

    def _text(self, folder: str) -> str:
        here = self.tree / folder
        texts = [
            (here / name).read_text(errors="replace")
            for name in ("Kbuild", "Makefile", "Kbuild.src")
            if (here / name).is_file()
        ]
        # BusyBox has rules in its C files.
        if any(re.search(r"^INSERT$", text, re.M) for text in texts):
            sources = sorted(here.glob("*.c"))
            texts += ["\n".join(_INSERTED.findall(path.read_text(errors="replace"))) for path in sources]
        return "\n".join(texts)


def _least(ways: list[Way]) -> Ways:
    """The ways without those that need all symbols of another one and more."""
    found = sorted(set(ways), key=lambda way: (len(way), sorted(way)))
    kept: list[Way] = []
    for way in found:
        if not any(less <= way for less in kept):
            kept.append(way)
    return tuple(kept[:_MOST_WAYS])


def _rules(text: str, folder: str, arch: str) -> Iterator[Rule]:
    """The rules of one Makefile."""
    inside: list[Ways] = []
    for line in re.sub(r"\\\n", " ", text).splitlines():
        line = line.split("#", 1)[0].strip()
        if _conditional(line, inside):
            continue
        match = _ASSIGN.match(line)
        if not match:
            continue
        target, own = _target(match[1])
        if target is None:
            continue
        for ways in product(*inside, own):
            way = frozenset[str]().union(*ways)
            yield from (Rule(target, name, way) for name in _listed(match[2], folder, arch))


def _conditional(line: str, inside: list[Ways]) -> bool:
    """Handles a conditional line; False for any other line. `else` is treated as needing no symbol."""
    word, _, rest = line.partition(" ")
    if word in _CONDITIONS:
        inside.append(_condition(word, rest.strip()))
    elif word == "else" and inside:
        inside[-1] = ALWAYS
        inner, _, more = rest.strip().partition(" ")
        if inner in _CONDITIONS:
            inside[-1] = _condition(inner, more.strip())
    elif word == "endif" and inside:
        inside.pop()
    else:
        return False
    return True


def _condition(word: str, rest: str) -> Ways:
    """The symbols that a condition needs to be on; ALWAYS for any other condition."""
    names = _CONFIG.findall(rest)
    if not names or word == "ifndef":
        return ALWAYS
    if word == "ifdef":
        return (frozenset(names),)
    # $(A)$(B) is not empty, or is y: one of them is on. If it is yy or y-y, both are.
    either = tuple(frozenset({name}) for name in names)
    if word == "ifneq":
        return either if _EMPTY_TEST.match(rest) else ALWAYS
    on = re.search(r",\s*([ym-]+)\s*\)$", rest) or re.match(r"^\(\s*([ym-]+)\s*,", rest)
    if not on:
        return ALWAYS
    return either if on[1] in ("y", "m") else (frozenset(names),)


def _target(name: str) -> tuple[str | None, Ways]:
    """(what the members of a list go into, the ways of the list); None for another variable."""
    match = _LIST.match(name)
    if not match:
        return None, ALWAYS
    base, suffix = match["base"], match["suffix"]
    symbols = _CONFIG.findall(suffix)
    if suffix not in ("y", "m", "objs") and not symbols:
        return None, ALWAYS
    # Two symbols in a row mean either of them, unless a function of make needs both.
    ways = (frozenset(symbols),) if "$(and " in suffix else tuple(frozenset({s}) for s in symbols)
    return ("" if base in _LISTS else f"{base}.o"), ways or ALWAYS


def _listed(text: str, folder: str, arch: str) -> Iterator[str]:
    """The items of a list: objects and folders, as paths below the Makefile's folder."""
    for base in _REFERENCE.findall(text):
        yield f"{base}.o"
    for word in re.sub(r"\$\((?:obj|src)\)/", "", text).split():
        name = word.replace("$(SRCARCH)", arch).replace("$(ARCH)", arch)
        if "$" in name or not name.endswith((".o", "/")):
            continue
        # The architecture's Makefile names folders relative to the tree.
        yield name.removeprefix(f"{folder}/") if folder != "." else name
