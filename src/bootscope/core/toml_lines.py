# SPDX-License-Identifier: Apache-2.0
"""The line of a value in a TOML file: tomllib's result has no line numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

_PART = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_KEY = rf"\s*{_PART}(?:\s*\.\s*{_PART})*\s*"
_HEADER = re.compile(rf"\s*\[{{1,2}}({_KEY})\]{{1,2}}\s*(?:#.*)?$")
_ENTRY = re.compile(rf"({_KEY})=")
_LONG = ('"""', "'''")


def line_of(text: str, path: Sequence[str]) -> int | None:
    """The line, from 1, of the value at `path` (the names of tables and of a key) in a TOML file, or of the
    innermost table around it that has a line; None where there is none."""
    best: tuple[int, int] | None = None
    for number, name in _places(text):
        same = len(name) if list(path[: len(name)]) == name else 0
        if same and (best is None or same > best[0]):
            best = (same, number)
    return best[1] if best else None


def spot(file: Path, path: Sequence[str]) -> str:
    """`FILE:LINE` of what :func:`line_of` finds, for a message; without the line if it is unknown."""
    try:
        line = line_of(file.read_text("utf-8"), path)
    except (OSError, UnicodeDecodeError):
        line = None
    return f"{file}:{line}" if line else str(file)


def _places(text: str) -> Iterator[tuple[int, list[str]]]:
    """Lines that name a table or a key, each with the full path of names; entries of lists are numbers."""
    table: list[str] = []
    lists: dict[tuple[str, ...], int] = {}
    inside = ""
    for number, line in enumerate(text.split("\n"), start=1):
        if inside:
            inside = "" if inside in line else inside
            continue
        header, entry = _HEADER.match(line), _ENTRY.match(line)
        if header:
            names = _names(header[1])
            if line.lstrip().startswith("[["):
                lists[tuple(names)] = lists.get(tuple(names), -1) + 1
                yield number, names
            table = _numbered(names, lists)
            yield number, table
        elif entry:
            yield number, [*table, *_names(entry[1])]
            rest = line[entry.end() :]
            inside = next((quote for quote in _LONG if rest.count(quote) == 1), "")


def _numbered(names: Sequence[str], lists: Mapping[tuple[str, ...], int]) -> list[str]:
    """A path of names with the numbers of the list entries that it passes through, the last ones."""
    found: list[str] = []
    for end, name in enumerate(names, start=1):
        number = lists.get(tuple(names[:end]))
        found += [name] if number is None else [name, str(number)]
    return found


def _names(key: str) -> list[str]:
    """The names in a dotted key."""
    return [_unquoted(part) for part in re.findall(_PART, key)]


def _unquoted(part: str) -> str:
    if part.startswith("'"):
        return part[1:-1]
    try:
        # TOML's short escapes are those of JSON; a key with other escapes gets no line number.
        return str(json.loads(part)) if part.startswith('"') else part
    except json.JSONDecodeError:
        return part
