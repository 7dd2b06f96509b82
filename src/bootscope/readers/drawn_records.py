# SPDX-License-Identifier: Apache-2.0
"""Records of the function_graph tracer: the entry and the exit of each call."""

from __future__ import annotations

from collections.abc import Callable

from bootscope.readers.call_graph import CallGraph, Row
from bootscope.readers.event_formats import Get
from bootscope.readers.ring_buffer import Record


class DrawnRecords:
    """Hands calls to a graph. An entry waits for the next one of its CPU: a call whose exit follows at once
    has no calls inside."""

    def __init__(self, graph: CallGraph, name_of: Callable[[int], str]) -> None:
        self._graph = graph
        self._name_of = name_of
        self._names: dict[int, str] = {}
        self._waiting: dict[int, tuple[Row, int, str]] = {}

    def entry(self, get: Get, at_ns: int, record: Record, task: str, pid: int) -> bool:
        """A call begins. `get` takes the function's address out of the record."""
        _, cpu, start, end, data = record
        name = self._name(int(get(data, start, end)))
        row = self._graph.row_of(cpu, task, str(pid))
        self._graph.arrives(row, at_ns)
        fits = self._begin(cpu)
        self._waiting[cpu] = (row, at_ns, name)
        return fits

    def exit(
        self, get: Get, times: list[Get] | None, at_ns: int, record: Record, task: str, pid: int
    ) -> bool:
        """A call is over. `times` take its beginning and its end, for kernels that store them."""
        _, cpu, start, end, data = record
        name = self._name(int(get(data, start, end)))
        length_ns = None
        if times:
            begun_ns, over_ns = (int(one(data, start, end)) for one in times)
            length_ns = over_ns - begun_ns if 0 < begun_ns <= over_ns < 1 << 63 else None
        row = self._graph.row_of(cpu, task, str(pid))
        waiting = self._waiting.get(cpu)
        if waiting and waiting[0] is row and waiting[2] == name:
            del self._waiting[cpu]
            begun = waiting[1]
            return self._graph.leaf(
                row, begun, max(0, at_ns - begun) if length_ns is None else length_ns, name
            )
        self._begin(cpu)
        self._graph.arrives(row, at_ns)
        self._graph.close(row, at_ns, length_ns, name)
        return True

    def flush(self) -> None:
        """Nothing follows: what waits has begun and is not over."""
        for cpu in list(self._waiting):
            self._begin(cpu)

    def _begin(self, cpu: int) -> bool:
        waiting = self._waiting.pop(cpu, None)
        return waiting is None or self._graph.open(*waiting)

    def _name(self, address: int) -> str:
        found = self._names.get(address)
        if found is None:
            found = self._names[address] = self._name_of(address).removeprefix("0x")
        return found
