# SPDX-License-Identifier: Apache-2.0
"""What a kernel trace comes to, in whatever form it was stored: events, drawn calls, counted calls."""

from __future__ import annotations

from bootscope.readers.base import Boot
from bootscope.readers.call_graph import CallGraph
from bootscope.readers.kernel_events import KernelEvents
from bootscope.readers.tally import Tally
from bootscope.timeline.trace import Table

KERNEL_CLOCKS = ("local", "global", "mono", "mono_raw", "boot", "perf", "tai")
"""Of ftrace's clocks, those that count nanoseconds since the kernel's start or nearly so."""


class TraceParts:
    """The parts of one boot."""

    def __init__(self) -> None:
        self.events = KernelEvents()
        self.graph = CallGraph()
        self._calls: dict[str, int] = {}

    def called(self, function: str) -> None:
        """Counts a call that has no length."""
        self._calls[function] = self._calls.get(function, 0) + 1

    def fill(self, boot: Boot, tally: Tally, *, without_stamp: int = 0) -> None:
        """Puts everything into a boot, with the figures of what is not whole (`without_stamp`: events)."""
        boot.tracks = [*self.events.tracks(), *self.graph.tracks()]
        boot.points = self.events.points
        boot.stacks = self.graph.stacks()
        boot.tables = [*self.events.tables(), *self.graph.tables(), *self._call_table()]
        if self.graph.placed:
            boot.facts["places"] = "lengths are from the file; calls are placed one after the other"
            tally.ask("calls have no stamps: trace with the option funcgraph-abstime")
        for name, count in (
            ("storage requests without an end", self.events.unfinished_requests),
            ("calls without a beginning", self.graph.without_start),
            ("calls that ended at the next stamp, before their length", self.graph.cut),
            ("events without a stamp, left out", without_stamp),
        ):
            if count:
                boot.facts[name] = str(count)

    def _call_table(self) -> list[Table]:
        rows = sorted(self._calls.items(), key=lambda row: (-row[1], row[0]))
        return [Table("calls by function", ("function", "calls"), tuple(rows))] if rows else []
