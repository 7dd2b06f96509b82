# SPDX-License-Identifier: Apache-2.0
"""Processes that were sampled, as tracks: what each did between one sample and the next.

Between two samples a process that used CPU time was `running` (for how long of it, `cpu_ns` says), one
that was held up by storage was `waiting for storage`; otherwise the state at the later sample stands for
the time between. So an end of a span is right to within a sample period and no better.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bootscope.readers.bootchart_log import Seen
from bootscope.readers.layout import ordered
from bootscope.readers.lines import decode
from bootscope.timeline.trace import Span, Table, Track

MAX_SPANS = 2_000_000
_STATES = {
    "R": "runnable",
    "S": "sleeping",
    "D": "waiting for storage",
    "I": "idle",
    "Z": "ended, not collected",
    "T": "stopped",
    "t": "traced",
    "W": "paging",
    "X": "dead",
    "P": "parked",
    "": "sleeping",
}


@dataclass(slots=True)
class _Stretch:
    """Time between samples in which nothing changed but the figures."""

    start_ns: int
    end_ns: int
    state: str
    name: bytes
    cpu_ns: int
    blocked_ns: int

    def span(self) -> Span:
        detail: dict[str, str | int] = {"program": decode(self.name)}
        if self.cpu_ns:
            detail["cpu_ns"] = self.cpu_ns
        if self.blocked_ns:
            detail["blocked_ns"] = self.blocked_ns
        return Span(self.start_ns, self.end_ns, self.state, detail)


@dataclass(slots=True)
class Process:
    """One process from its first sample to its last; `born_ns` is its start as the kernel tells it."""

    ident: str
    pid: int
    ppid: int
    name: bytes
    start_ns: int
    last_ns: int
    born_ns: int | None = None
    cpu_ns: int = 0
    blocked_ns: int = 0
    command: str = ""
    parent: str = ""
    told: bool = False
    """An event told when it began, or a first look that it was there."""
    found: bool = False
    """It was there before collecting began."""
    ended: bool = False
    stretches: list[_Stretch] = field(default_factory=list)

    def add(self, at_ns: int, seen: Seen) -> None:
        """Takes in a sample."""
        cpu_ns, blocked_ns = seen.cpu_ns - self.cpu_ns, seen.blocked_ns - self.blocked_ns
        if cpu_ns > 0:
            state = "running"
        elif blocked_ns > 0:
            state = _STATES["D"]
        else:
            state = _STATES.get(seen.state, "unknown")
        self._stretch(at_ns, state, seen.name, max(0, cpu_ns), max(0, blocked_ns))
        self.cpu_ns, self.blocked_ns = seen.cpu_ns, seen.blocked_ns
        self.name, self.ppid, self.last_ns = seen.name, seen.ppid, at_ns

    def join(self, at_ns: int, seen: Seen) -> None:
        """The first sample: what it used until now it has used before recording began."""
        self.cpu_ns, self.blocked_ns = seen.cpu_ns, seen.blocked_ns
        self.name, self.ppid, self.last_ns = seen.name, seen.ppid, at_ns

    def end(self, at_ns: int, cpu_ns: int | None, blocked_ns: int | None) -> None:
        """It ended; what it has used in all is None where nothing told."""
        cpu = max(0, cpu_ns - self.cpu_ns) if cpu_ns is not None else 0
        blocked = max(0, blocked_ns - self.blocked_ns) if blocked_ns is not None else 0
        if cpu:
            state = "running"
        elif cpu_ns is None:
            state = "alive, CPU time not known"
        else:
            state = _STATES["D"] if blocked else _STATES["S"]
        if at_ns > self.last_ns or not self.stretches:
            self._stretch(max(at_ns, self.last_ns), state, self.name, cpu, blocked)
        self.cpu_ns, self.blocked_ns = self.cpu_ns + cpu, self.blocked_ns + blocked
        self.last_ns, self.ended = max(at_ns, self.last_ns), True

    def sleep_until(self, at_ns: int) -> None:
        """Nothing was heard of it since its last sample: it used neither CPU nor storage."""
        if at_ns > self.last_ns:
            self._stretch(at_ns, _STATES["S"], self.name, 0, 0)
            self.last_ns = at_ns

    def _stretch(self, at_ns: int, state: str, name: bytes, cpu_ns: int, blocked_ns: int) -> None:
        last = self.stretches[-1] if self.stretches else None
        if last and last.state == state and last.name == name:
            last.end_ns = at_ns
            last.cpu_ns += cpu_ns
            last.blocked_ns += blocked_ns
        else:
            self.stretches.append(_Stretch(self.last_ns, at_ns, state, name, cpu_ns, blocked_ns))

    def track(self) -> Track:
        """The row of this process."""
        title = f"{decode(self.name)} ({self.pid})"
        # A process may begin at the very moment of its first sample.
        spans = ordered(s.span() for s in self.stretches)
        return Track(self.ident, "process", title, tuple(spans), parent=self.parent)


class Processes:
    """All processes of a recording; fed with samples in the order of time."""

    def __init__(self) -> None:
        self.all: list[Process] = []
        self.left_out = 0
        """Samples that did not fit under MAX_SPANS."""
        self._now: dict[int, Process] = {}
        self._before_ns: int | None = None
        self._samples = 0

    def sample(self, at_ns: int, seen: Iterable[Seen]) -> None:
        """What was seen of all processes at `at_ns`."""
        for one in seen:
            process = self._now.get(one.pid)
            if process is not None and process.ended:
                # The account that comes with its end, of which an event has told.
                continue
            if process is None or (not process.told and _another(process, one)):
                process = self._new(at_ns, one)
            if process.found and self._before_ns is None:
                process.join(at_ns, one)
                continue
            if self._samples >= MAX_SPANS:
                self.left_out += 1
                continue
            before = len(process.stretches)
            if one.start_ns is None and self._before_ns is not None:
                process.sleep_until(self._before_ns)
            process.add(at_ns, one)
            self._samples += len(process.stretches) - before
        self._before_ns = at_ns

    def _new(self, at_ns: int, seen: Seen) -> Process:
        """Where only samples tell, a process began after the sample before; with none, at its first."""
        start_ns = seen.start_ns
        if start_ns is None:
            start_ns = at_ns if self._before_ns is None else self._before_ns
        process = self._enter(seen.pid, seen.ppid, seen.name, min(start_ns, at_ns), seen.start_ns)
        if seen.start_ns is None and self._before_ns is None:
            # Its figures are from before recording began.
            process.cpu_ns, process.blocked_ns = seen.cpu_ns, seen.blocked_ns
        return process

    def _enter(self, pid: int, ppid: int, name: bytes, start_ns: int, born_ns: int | None) -> Process:
        ident = f"process:{pid}" + (f":{len(self.all)}" if pid in self._now else "")
        process = Process(ident, pid, ppid, name, start_ns, start_ns, born_ns)
        self.all.append(process)
        self._now[pid] = process
        return process

    def begin(self, at_ns: int, pid: int, ppid: int, name: bytes, *, found: bool) -> None:
        """A process began, or was there already (`found`)."""
        process = self._enter(pid, ppid, name or self._name_of(ppid), at_ns, at_ns)
        process.told, process.found = True, found

    def rename(self, pid: int, name: bytes) -> None:
        """A process has started a program, or given itself another name; it may have ended since."""
        process = self._now.get(pid)
        if process is not None and name:
            process.name = name

    def end(self, at_ns: int, pid: int, cpu_ns: int | None, blocked_ns: int | None, *, seen: bool) -> None:
        """A process has ended; what it has used in all is None where nothing told. Its end was `seen`, or it
        was just no longer there."""
        process = self._now.get(pid)
        if process is None or process.ended:
            return
        if self._samples >= MAX_SPANS:
            self.left_out += 1
            return
        if seen and self._before_ns is not None:
            process.sleep_until(min(self._before_ns, at_ns))
        process.end(at_ns, cpu_ns, blocked_ns)
        self._samples += 1

    def _name_of(self, pid: int) -> bytes:
        """A process has its parent's name until it starts a program."""
        parent = self._now.get(pid)
        return parent.name if parent is not None else b""

    def finish(self, parents: Mapping[int, int], commands: Mapping[int, str]) -> None:
        """Puts each process under its parent: `parents` knows better than the last sample who that was."""
        by_pid: dict[int, list[Process]] = {}
        for process in self.all:
            process.command = commands.get(process.pid, "")
            by_pid.setdefault(process.pid, []).append(process)
        for alike in by_pid.values():
            alike.sort(key=lambda p: p.start_ns)
        for process in self.all:
            found = _living(by_pid, _known_parent(process, parents, by_pid), process.start_ns)
            process.parent = found.ident if found and found is not process else ""
        _break_circles(self.all)

    def tracks(self) -> list[Track]:
        """A track for each process, in the order in which they began."""
        return [p.track() for p in sorted(self.all, key=lambda p: (p.start_ns, p.pid)) if p.stretches]

    def table(self) -> Table:
        """What each process used, the costliest first."""
        rows = [
            (p.pid, p.ppid, decode(p.name), p.command, p.start_ns, p.last_ns, p.cpu_ns, p.blocked_ns)
            for p in sorted(self.all, key=lambda p: (-p.cpu_ns, -p.blocked_ns, p.start_ns, p.pid))
        ]
        columns = ("pid", "parent", "name", "command", "from ns", "seen until ns", "CPU ns", "blocked ns")
        return Table("Processes by CPU time", columns, tuple(rows))


def _another(process: Process, seen: Seen) -> bool:
    """Whether a process id has been given to another process since the last sample."""
    if seen.start_ns is not None:
        return seen.start_ns != process.born_ns
    # Taskstats leave out who slept through a sample, so absence says nothing; time spent cannot shrink.
    return seen.cpu_ns < process.cpu_ns


def _known_parent(process: Process, parents: Mapping[int, int], by_pid: Mapping[int, list[Process]]) -> int:
    """The nearest ancestor that was sampled: short-lived ones in between were not."""
    pid = parents.get(process.pid, process.ppid)
    for _ in range(64):
        if pid in by_pid or pid not in parents:
            break
        pid = parents[pid]
    return pid if pid in by_pid else process.ppid


def _living(by_pid: Mapping[int, list[Process]], pid: int, at_ns: int) -> Process | None:
    """The process of that id that began last before `at_ns`; the lists are in the order of beginning."""
    found = by_pid.get(pid, [])
    index = bisect_right(found, at_ns, key=lambda p: p.start_ns)
    return found[index - 1] if index else None


def _break_circles(processes: Iterable[Process]) -> None:
    """A damaged file can make processes each other's parents: the one where that shows gets none."""
    by_ident = {p.ident: p for p in processes}
    done: set[str] = set()
    for process in by_ident.values():
        path: set[str] = set()
        here: Process | None = process
        while here is not None and here.ident not in done:
            path.add(here.ident)
            if here.parent in path:
                here.parent = ""
            here = by_ident.get(here.parent)
        done |= path
