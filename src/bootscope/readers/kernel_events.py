# SPDX-License-Identifier: Apache-2.0
"""The kernel's trace events, as ftrace and perf print them, to tracks: who ran, who was started, what was
read, which initcall took how long."""

from __future__ import annotations

from bootscope.readers.scheduler_events import Processes, Scheduling
from bootscope.readers.trace_event import Event
from bootscope.readers.work_events import Initcalls, Interrupts, Storage
from bootscope.timeline.trace import Point, Table, Track

_MARK_EVENTS = ("tracing_mark_write", "print", "bprint", "bputs")


class KernelEvents:
    """Takes events in the order of the file."""

    def __init__(self) -> None:
        self._scheduling, self._processes = Scheduling(), Processes()
        self._storage, self._initcalls, self._interrupts = Storage(), Initcalls(), Interrupts()
        self._marks: list[Point] = []
        self._begun = False
        self._last_ns = 0
        parts = (self._scheduling, self._processes, self._storage, self._initcalls, self._interrupts)
        self._takers = {name: taker for part in parts for name, taker in part.takers.items()}

    def take(self, event: Event) -> bool:
        """Reads an event; False when it is none of those that become tracks."""
        if not self._begun:
            self._begun = True
            self._scheduling.first_ns = self._processes.first_ns = event.at_ns
        if event.at_ns > self._last_ns:
            self._last_ns = event.at_ns
        if event.name in _MARK_EVENTS:
            self._marks.append(Point(event.at_ns, event.text.strip()[:400]))
            return True
        taker = self._takers.get(event.name)
        return taker(event) if taker else False

    @property
    def unfinished_requests(self) -> int:
        """Storage requests whose end is not in the trace."""
        return self._storage.unfinished

    @property
    def points(self) -> list[Point]:
        """Marks that somebody wrote into the trace, and wake-ups."""
        return [*self._marks, *self._scheduling.points]

    def tracks(self) -> list[Track]:
        """All tracks; those of initcalls first."""
        return [
            *self._initcalls.tracks(),
            *self._processes.tracks(self._last_ns),
            *self._scheduling.tracks(),
            *self._interrupts.tracks(),
            *self._storage.tracks(),
        ]

    def tables(self) -> list[Table]:
        """How long each task ran."""
        return self._scheduling.tables()
