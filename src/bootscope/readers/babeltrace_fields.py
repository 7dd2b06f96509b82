# SPDX-License-Identifier: Apache-2.0
"""The fields of an event as babeltrace2 prints them: ``{ cpu_id = 0 }, { comm = "sh", pid = 18 }``.

Events of one name nearly always have the same fields in the same order. An expression for just these is
learnt from the first of them and takes a fifth of the time of looking for any field.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_FIELD = re.compile(
    r'(\w{1,64}) = (?:"((?:[^"\\]|\\.)*)"|\( [^()]{0,120}? container = (-?\d{1,20}) \)'
    r"|(-?(?:0x)?[0-9A-Fa-f]{1,20})\b)"
)
# The same values, one kind each; atomic, so that each is just what the expression above finds there.
_KINDS = {
    2: r'(?>"({0}(?:[^"\\]++|\\.)*+)")',
    3: r"(?>\( [^()]{{0,120}}? container = ({0}-?\d{{1,20}}) \))",
    4: r"(?>({0}-?(?:0x)?[0-9A-Fa-f]{{1,20}})\b)",
}
_LONGEST = 4096
_MOST_OF_ONE, _MOST = 4, 500


@dataclass(frozen=True, slots=True)
class _Layout:
    """An expression for all that follows an event's name; its groups are the fields `names`."""

    pattern: re.Pattern[str]
    names: tuple[str, ...]


class EventFields:
    """Finds the fields `wanted` of events."""

    def __init__(self, wanted: frozenset[str]) -> None:
        self._wanted = wanted
        self._layouts: dict[str, list[_Layout]] = {}

    def of(self, name: str, line: str, at: int) -> dict[str, str]:
        """The fields of the event `name`, which stand in `line` from `at` on: of several of one name the
        last one. Others than the wanted may be among them."""
        layouts = self._layouts.get(name, ())
        for layout in layouts:
            if found := layout.pattern.fullmatch(line, at):
                return dict(zip(layout.names, found.groups(), strict=True))
        if len(layouts) < _MOST_OF_ONE and len(self._layouts) < _MOST and len(line) - at < _LONGEST:
            self._layouts.setdefault(name, []).append(self._learnt(line[at:]))
        return {name: text or other or plain for name, text, other, plain in _FIELD.findall(line, at)}

    def _learnt(self, rest: str) -> _Layout:
        """The layout of an event whose fields are `rest`."""
        parts: list[str] = []
        names: list[str] = []
        end = 0
        for field in _FIELD.finditer(rest):
            wanted = field[1] in self._wanted
            # Which of the values it is: the last group that took part, since the others are alternatives.
            value = _KINDS[field.lastindex or 0].format("" if wanted else "?:")
            parts += [re.escape(f"{rest[end : field.start()]}{field[1]} = "), value]
            names += [field[1]] if wanted else []
            end = field.end()
        return _Layout(re.compile("".join(parts) + re.escape(rest[end:])), tuple(names))
