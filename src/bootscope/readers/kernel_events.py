# SPDX-License-Identifier: Apache-2.0
"""The kernel's trace events, as ftrace and perf print them, to tracks: who ran, who was started, what was
read, which initcall took how long."""

from __future__ import annotations

import re

from bootscope.readers.scheduler_events import Processes, Scheduling
from bootscope.readers.trace_event import Event
from bootscope.readers.work_events import Initcalls, Interrupts, Storage
from bootscope.timeline.trace import Point, Table, Track

_CALLER = re.compile(r" {0,8}[\w.]{1,200}: ")
_MARK_EVENTS = ("tracing_mark_write", "print", "bprint", "bputs")


class KernelEvents:
    """Takes events in the order of the file."""

    def __init__(self) -> None:
        self.scheduling, self.processes = Scheduling(), Processes()
        self.storage, self.initcalls, self.interrupts = Storage(), Initcalls(), Interrupts()
        self._marks: list[Point] = []
        self._begun = False
        self._last_ns = 0
        parts = (self.scheduling, self.processes, self.storage, self.initcalls, self.interrupts)
        self._takers = {name: taker for part in parts for name, taker in part.takers.items()}

    def take(self, event: Event) -> bool:
        """Reads an event; False when it is none of those that become tracks."""
        self.arrives(event.at_ns)
        if taker := self._takers.get(event.name):
            return taker(event)
        if event.name in _MARK_EVENTS:
            # trace-cmd and perf put the function that wrote the mark before it.
            caller = _CALLER.match(event.text) if event.name != "tracing_mark_write" else None
            self.mark(event.at_ns, event.text[caller.end() :] if caller else event.text)
            return True
        return False

    def arrives(self, at_ns: int) -> None:
        """Takes the time of the next event; before what it says."""
        if not self._begun:
            self._begun = True
            self.scheduling.first_ns = self.processes.first_ns = at_ns
        if at_ns > self._last_ns:
            self._last_ns = at_ns

    def mark(self, at_ns: int, text: str) -> None:
        """Something that a program wrote into the trace."""
        self._marks.append(Point(at_ns, text.strip()[:400]))

    @property
    def unfinished_requests(self) -> int:
        """Storage requests whose end is not in the trace."""
        return self.storage.unfinished

    @property
    def points(self) -> list[Point]:
        """Marks that somebody wrote into the trace, and wake-ups."""
        return [*self._marks, *self.scheduling.points]

    def tracks(self) -> list[Track]:
        """All tracks; those of initcalls first."""
        return [
            *self.initcalls.tracks(),
            *self.processes.tracks(self._last_ns),
            *self.scheduling.tracks(),
            *self.interrupts.tracks(),
            *self.storage.tracks(),
        ]

    def tables(self) -> list[Table]:
        """How long each task ran."""
        return self.scheduling.tables()
