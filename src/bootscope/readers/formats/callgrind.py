# SPDX-License-Identifier: Apache-2.0
"""callgrind.out of valgrind: what each function cost, itself and with all that it called.

The format: https://valgrind.org/docs/manual/cl-format.html. It knows who called whom, not by which path,
so no call stacks are made of it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field

from bootscope.readers.base import Boot, Clock, Options, Reader, Reading, Source
from bootscope.readers.tally import Tally, read_one
from bootscope.readers.timespan import whole
from bootscope.timeline.trace import Table

NAME = "callgrind"
_HEADER = re.compile(
    r"(version|creator|pid|thread|part|desc|cmd|positions|events|event|summary|totals|rank): ?(.*)"
)
_NAMED = re.compile(r"(fl|fi|fe|fn|ob|cfl|cfi|cfn|cob|jfi|jfn)=(?:\((\d{1,9})\))?(?: ?(.*))?")
_CALLS = re.compile(r"calls=(\d{1,18})(?: .*)?")
_JUMP = re.compile(r"j(?:ump|cnd)=[\d/ +*x0-9a-f-]+")
_COST = re.compile(r"(?:[+-]?(?:0x[0-9a-f]{1,16}|\d{1,20})|\*)(?: [+-]?(?:0x[0-9a-f]{1,16}|\d{1,20}|\*))*")
_MAX_EVENTS = 64
_LARGEST = 1 << 62


@dataclass(slots=True)
class _Function:
    name: str
    file: str
    object: str
    calls: int = 0
    own: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    inside: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    """Costs by the number of their event, from 0: its own, and of what it called."""


class _File:
    """Reads the lines of a file with one or more parts."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._names: dict[str, dict[str, str]] = {"fl": {}, "fn": {}, "ob": {}}
        self._now = {"fl": "", "ob": "", "cob": "", "cfl": ""}
        self._functions: dict[tuple[str, str], _Function] = {}
        self._function: _Function | None = None
        self._called: _Function | None = None
        self._is_call = False
        self._positions = 1
        self._events: list[str] = []
        self._told = 0
        self.facts: dict[str, str] = {"tool": NAME}

    def take(self, number: int, line: str) -> bool:
        return self._cost(line) or self._named(line) or self._calls(line) or self._header(line)

    def _header(self, line: str) -> bool:
        found = _HEADER.match(line)
        if not found:
            return line.startswith("#")
        key, value = found[1], found[2].strip()
        if key == "events":
            self._events = value.split()[:_MAX_EVENTS]
        elif key == "positions":
            self._positions = max(1, len(value.split()))
        elif key == "totals":
            self._told += whole(value.split(" ", 1)[0]) or 0
        elif key in ("creator", "cmd"):
            self.facts.setdefault({"cmd": "command"}.get(key, key), value[:400])
        return True

    def _named(self, line: str) -> bool:
        found = _NAMED.fullmatch(line)
        if not found:
            return False
        kind, ident, text = found[1], found[2], found[3] or ""
        group = "fn" if kind.endswith("fn") else "ob" if kind.endswith("ob") else "fl"
        name = text
        if ident is not None:
            if text:
                self._names[group][ident] = text
            name = self._names[group].get(ident, f"({ident})")
        self._enter(kind, name)
        return True

    def _enter(self, kind: str, name: str) -> None:
        if kind == "fn":
            self._function = self._known(name, self._now["fl"], self._now["ob"])
        elif kind == "cfn":
            self._called = self._known(name, self._now["cfl"], self._now["cob"] or self._now["ob"])
            self._now["cob"] = self._now["cfl"] = ""
        elif kind in ("fl", "ob", "cob"):
            self._now[kind] = name
        elif kind in ("cfl", "cfi"):
            self._now["cfl"] = name

    def _known(self, name: str, file: str, where: str) -> _Function:
        found = self._functions.setdefault((name, where), _Function(name, file, where))
        found.file = found.file or file
        return found

    def _calls(self, line: str) -> bool:
        found = _CALLS.fullmatch(line)
        if found and self._called:
            self._called.calls += int(found[1])
            self._is_call = True
            return True
        return bool(_JUMP.fullmatch(line))

    def _cost(self, line: str) -> bool:
        if not _COST.fullmatch(line.rstrip()):
            return False
        costs = [_number(word) for word in line.split()[self._positions :][: len(self._events)]]
        if self._is_call:
            if self._function and self._called is not self._function:
                _sum(self._function.inside, costs)
            self._is_call = False
        elif self._function:
            _sum(self._function.own, costs)
        return True

    def finish(self) -> Boot:
        boot = Boot(Clock("none", "events are counted, not timed", 1), facts=self.facts)
        if not self._events or not self._functions:
            return boot
        seen = sum(f.own[0] for f in self._functions.values())
        self.facts[f"{self._events[0]} in total"] = str(seen)
        if self._told and seen != self._told:
            self._tally.repair(f"costs add up to {seen:,}, the file declares {self._told:,}", 1)
        rows = sorted(
            (self._row(f) for f in self._functions.values()), key=lambda r: (-int(r[4] or 0), str(r[0]))
        )
        first, more = self._events[0], self._events[1:]
        columns = ("function", "object", "file", "calls", f"self {first}", f"total {first}")
        boot.tables.append(Table("functions", (*columns, *(f"self {name}" for name in more)), tuple(rows)))
        return boot

    def _row(self, f: _Function) -> tuple[str | int | None, ...]:
        more = (f.own[index] for index in range(1, len(self._events)))
        return (f.name, f.object, f.file, f.calls, f.own[0], f.own[0] + f.inside[0], *more)


def _number(word: str) -> int:
    value = int(word, 16) if word.startswith("0x") else int(word) if word not in ("*", "+*", "-*") else 0
    return max(0, min(value, _LARGEST))


def _sum(into: dict[int, int], costs: list[int]) -> None:
    for index, cost in enumerate(costs):
        into[index] += cost


def _sure(source: Source) -> int:
    head = source.head
    if head.startswith(b"# callgrind format"):
        return 99
    has_events = re.search(rb"^events: \S", head, re.M) is not None
    return 85 if has_events and re.search(rb"^fn=", head, re.M) else 0


def _read(source: Source, _options: Options) -> Reading:
    return read_one(source, NAME, "a profile of callgrind", _File)


READERS = (Reader(NAME, "profile of callgrind", "valgrind --tool=callgrind COMMAND", _sure, _read),)
