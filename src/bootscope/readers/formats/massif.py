# SPDX-License-Identifier: Apache-2.0
"""massif.out of valgrind: memory in use over a run, and who had allocated it at the peak."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from bootscope.readers.base import Boot, Clock, Options, Reader, Reading, Source
from bootscope.readers.tally import Tally, read_one
from bootscope.timeline.trace import Point, Table

NAME = "massif"
_HEADER = re.compile(r"(desc|cmd|time_unit): ?(.*)")
_VALUE = re.compile(r"(snapshot|time|mem_heap_B|mem_heap_extra_B|mem_stacks_B)=(\d{1,18})")
_TREE = re.compile(r"heap_tree=(empty|detailed|peak)")
_NODE = re.compile(r"( *)n(\d{1,9}): (\d{1,18}) (.*)")
_ADDRESS = re.compile(r"0x[0-9A-Fa-f]{1,16}: ")
_UNITS = {"i": "instructions", "ms": "ms", "B": "bytes allocated"}
_MEMORY = ("mem_heap_B", "mem_heap_extra_B", "mem_stacks_B")


@dataclass(slots=True)
class _Snapshot:
    values: dict[str, int] = field(default_factory=dict)
    tree: str = ""
    nodes: list[tuple[int, int, str]] = field(default_factory=list)

    def bytes_used(self) -> int:
        return sum(self.values.get(name, 0) for name in _MEMORY)


class _File:
    def __init__(self, _tally: Tally) -> None:
        self._unit = "i"
        self._snapshots: list[_Snapshot] = []
        self.facts = {"tool": NAME}

    def take(self, number: int, line: str) -> bool:
        return line.startswith("#-") or self._value(line) or self._node(line) or self._header(line)

    def _header(self, line: str) -> bool:
        found = _HEADER.fullmatch(line)
        if found and found[1] == "time_unit":
            self._unit = found[2] if found[2] in _UNITS else "i"
        elif found and found[1] == "cmd":
            self.facts["command"] = found[2][:400]
        return bool(found)

    def _value(self, line: str) -> bool:
        found, tree = _VALUE.fullmatch(line), _TREE.fullmatch(line)
        if found and found[1] == "snapshot":
            self._snapshots.append(_Snapshot())
        if found and self._snapshots:
            self._snapshots[-1].values[found[1]] = int(found[2])
        if tree and self._snapshots:
            self._snapshots[-1].tree = tree[1]
        return bool(self._snapshots and (found or tree))

    def _node(self, line: str) -> bool:
        found = _NODE.fullmatch(line)
        if found and self._snapshots:
            self._snapshots[-1].nodes.append(
                (len(found[1]), int(found[3]), _ADDRESS.sub("", found[4], count=1))
            )
        return bool(found and self._snapshots)

    def finish(self) -> Boot:
        timed = self._unit == "ms"
        clock = (
            Clock("host", "the start of the program", 1_000_000) if timed else Clock("none", "no times", 1)
        )
        boot = Boot(clock, facts=self.facts)
        if not self._snapshots:
            return boot
        rows = tuple(
            (s.values.get("snapshot"), s.values.get("time"), *(s.values.get(n) for n in _MEMORY), s.tree)
            for s in self._snapshots
        )
        time = f"time {_UNITS[self._unit]}"
        columns = ("snapshot", time, "heap bytes", "overhead bytes", "stack bytes", "tree")
        boot.tables.append(Table("memory over time", columns, rows))
        peak = max(self._snapshots, key=lambda s: (s.tree == "peak", s.bytes_used()))
        if peak.nodes:
            nodes = tuple((size, depth, where) for depth, size, where in peak.nodes)
            title = f"allocated at the peak, {peak.bytes_used():,} bytes"
            boot.tables.append(Table(title, ("bytes", "depth", "where"), nodes))
        if timed:
            at_ns = min(peak.values.get("time", 0), 1 << 40) * 1_000_000
            boot.points.append(Point(at_ns, f"most memory in use: {peak.bytes_used():,} bytes"))
        return boot


def _sure(source: Source) -> int:
    head = source.head
    return 97 if b"time_unit: " in head and b"mem_heap_B=" in head and b"snapshot=" in head else 0


def _read(source: Source, _options: Options) -> Reading:
    return read_one(source, NAME, "a profile of massif", _File)


READERS = (Reader(NAME, "memory profile of massif", "valgrind --tool=massif COMMAND", _sure, _read),)
