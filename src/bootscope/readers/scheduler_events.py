# SPDX-License-Identifier: Apache-2.0
"""Scheduler events: who ran on which CPU, wake-ups, which processes there were."""

from __future__ import annotations

import re
from collections import defaultdict

from bootscope.readers.call_process import Process, ProcessTable
from bootscope.readers.layout import track
from bootscope.readers.lines import Memo
from bootscope.readers.trace_event import Event
from bootscope.timeline.trace import Point, Span, Table, Track

_SWITCH = re.compile(
    r"prev_comm=(.{0,64}?) prev_pid=(\d{1,9}) .{0,40}?prev_state=(\S{1,8}) ==> "
    r"next_comm=(.{0,64}?) next_pid=(\d{1,9})"
)
_SWITCH_SHORT = re.compile(r"(.{0,64}?):(\d{1,9}) \[-?\d+\] (\S{1,8}) ==> (.{0,64}?):(\d{1,9}) \[-?\d+\]")
_WAKE = re.compile(r"comm=(.{0,64}?) pid=(\d{1,9})\b")
_WAKE_SHORT = re.compile(r"(.{0,64}?):(\d{1,9}) \[-?\d+\]")
_FORK = re.compile(r"comm=(.{0,64}?) pid=(\d{1,9}) child_comm=(.{0,64}?) child_pid=(\d{1,9})")
_EXEC = re.compile(r"filename=(.{0,400}?) pid=(\d{1,9})")
_EXIT = re.compile(r"comm=(.{0,64}?) pid=(\d{1,9})")


class Scheduling:
    """CPU time by switches, and wake-ups."""

    def __init__(self) -> None:
        self._running: dict[int, tuple[int, int]] = {}
        """By CPU: the task that runs, and since when in ns."""
        self._cpu_spans: defaultdict[int, list[Span]] = defaultdict(list)
        self._cpu_ns: dict[tuple[int, str], list[int]] = {}
        self._tasks = Memo(self._task)
        self.takers = {
            "sched_switch": self._switch,
            "sched_wakeup": self._wake,
            "sched_wakeup_new": self._wake,
        }
        self.points: list[Point] = []
        # The same tasks wake each other again and again.
        self._wakes: Memo[tuple[str, str, int], str] = Memo(lambda w: f"{w[0]} wakes {w[1]} ({w[2]})", 10_000)
        self.first_ns = 0
        """When the trace begins; set before the first event is taken."""

    def _switch(self, event: Event) -> bool:
        found = _SWITCH.search(event.text) or _SWITCH_SHORT.search(event.text)
        if found:
            task, pid, state, next_task, next_pid = found.groups()
            self.switched(event.at_ns, event.cpu, task, int(pid), state, next_task, int(next_pid))
        return bool(found)

    def switched(
        self, at_ns: int, cpu: int, task: str, pid: int, state: str, next_task: str, next_pid: int
    ) -> None:
        """A CPU leaves a task, which is then in `state`, for the next one."""
        was = self._running.get(cpu)
        if was is None and self.first_ns < at_ns:
            was = (pid, self.first_ns)
        if was and was[0] == pid and pid:
            self._ran(cpu, task, pid, was[1], at_ns, state)
        self._running[cpu] = (next_pid, at_ns)

    def runs(self, at_ns: int, cpu: int, pid: int) -> None:
        """A CPU begins to run a task, and nothing tells what it ran before."""
        self._running[cpu] = (pid, at_ns)

    def _ran(self, cpu: int, task: str, pid: int, start_ns: int, end_ns: int, state: str) -> None:
        if start_ns > end_ns:
            start_ns = end_ns
        detail, total = self._tasks[pid, task, state]
        self._cpu_spans[cpu].append(Span(start_ns, end_ns, task, detail))
        total[0] += end_ns - start_ns
        total[1] += 1

    def _task(self, task: tuple[int, str, str]) -> tuple[dict[str, str | int], list[int]]:
        """What a span of a task says, and its CPU time in ns and how often it ran."""
        pid, name, state = task
        return {"pid": pid, "then": state}, self._cpu_ns.setdefault((pid, name), [0, 0])

    def _wake(self, event: Event) -> bool:
        found = _WAKE.search(event.text) or _WAKE_SHORT.match(event.text)
        if found:
            self.woke(event.at_ns, event.task, found[1], int(found[2]))
        return bool(found)

    def woke(self, at_ns: int, waker: str, task: str, pid: int) -> None:
        """The task `waker` makes another ready to run."""
        self.points.append(Point(at_ns, self._wakes[waker, task, pid], "wake"))

    def tracks(self) -> list[Track]:
        """A row for each CPU; the spans are handed over."""
        spans = self._cpu_spans
        return [track(f"cpu-{cpu}", "cpu", f"CPU {cpu}", spans.pop(cpu)) for cpu in sorted(spans)]

    def tables(self) -> list[Table]:
        """How long each task ran."""
        if not self._cpu_ns:
            return []
        rows = sorted(
            ((task, pid, ns, times) for (pid, task), (ns, times) in self._cpu_ns.items()),
            key=lambda row: (-row[2], row[1]),
        )
        return [Table("CPU time by task", ("task", "pid", "cpu ns", "times"), tuple(rows))]


class Processes:
    """Processes by fork, exec and exit."""

    def __init__(self) -> None:
        self._processes = ProcessTable()
        self.takers = {
            "sched_process_fork": self._fork,
            "sched_process_exec": self._exec,
            "sched_process_exit": self._exit,
        }
        self.first_ns = 0
        """When the trace begins; set before the first event is taken."""

    def _fork(self, event: Event) -> bool:
        found = _FORK.search(event.text)
        if found:
            self.forked(event.at_ns, found[1], int(found[2]), int(found[4]))
        return bool(found)

    def forked(self, at_ns: int, task: str, pid: int, child_pid: int) -> None:
        """A task makes a child."""
        parent = self._process(pid, task, at_ns)
        child = self._processes.begin(child_pid, at_ns)
        if parent is not child:
            child.parent = parent

    def _exec(self, event: Event) -> bool:
        found = _EXEC.search(event.text)
        if found:
            self.executed(event.at_ns, event.task, int(found[2]), found[1])
        return bool(found)

    def executed(self, at_ns: int, task: str, pid: int, filename: str) -> None:
        """A task becomes the program in a file."""
        process = self._process(pid, task, at_ns)
        if process.images and process.images[-1][0] >= at_ns:
            process.images.pop()
        process.images.append((at_ns, filename))

    def _exit(self, event: Event) -> bool:
        found = _EXIT.search(event.text)
        if found:
            self.exited(event.at_ns, found[1], int(found[2]))
        return bool(found)

    def exited(self, at_ns: int, task: str, pid: int) -> None:
        """A task ends."""
        process = self._process(pid, task, at_ns)
        process.last_ns, process.ended = at_ns, "exited"
        self._processes.alive.pop(process.pid, None)

    def _process(self, pid: int, task: str, at_ns: int) -> Process:
        """The process of that number; one that was there before the trace is named by its task."""
        found = self._processes.alive.get(pid)
        if found is None:
            start_ns = min(at_ns, self.first_ns)
            found = self._processes.begin(pid, start_ns)
            found.images.append((start_ns, task))
        return found

    def tracks(self, last_ns: int) -> list[Track]:
        """A row for each process; those that have not ended last to the end of the trace."""
        made: list[Track] = []
        for process in self._processes.all:
            if not process.ended:
                process.last_ns = max(process.last_ns, last_ns)
            made += process.tracks()
        return made
