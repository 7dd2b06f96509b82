# SPDX-License-Identifier: Apache-2.0
"""Which task had the CPU in a stretch of time, and how much of that time the devices took.

Costs of devices belong to records, so every sum goes over record numbers; the times follow from them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from bootscope.analysis.kernel_activity import Call, Slice, Task
from bootscope.capture.stream import Cpu, Record
from bootscope.timeline.costs import Cost


@dataclass(frozen=True, slots=True)
class Spent:
    """Board time in ns during which a task had the CPU, and the devices' part of it."""

    running_ns: int = 0
    storage_ns: int = 0
    console_ns: int = 0
    held_ns: int = 0
    """Additional board time, in which devices worked for other CPUs while the model stops this one."""

    @property
    def cpu_ns(self) -> int:
        """The rest, for executing instructions."""
        return self.running_ns - self.storage_ns - self.console_ns

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            self.running_ns + other.running_ns,
            self.storage_ns + other.storage_ns,
            self.console_ns + other.console_ns,
            self.held_ns + other.held_ns,
        )


def cpus_of(records: list[Record], cpus: int) -> list[int]:
    """The CPU of each record; 0 for all if CPUs do not run concurrently."""
    cpu, found = 0, []
    for record in records:
        if record.__class__ is Cpu and cpus > 1:
            cpu = record.cpu
        found.append(cpu)
    return found


class _Sums:
    """Sums of costs over ranges of record numbers."""

    def __init__(self, found: list[Cost]) -> None:
        self._indexes = [cost.index for cost in found]
        self._sums = list(accumulate((cost.ns for cost in found), initial=0))

    def between(self, first: int, last: int) -> int:
        """The costs of records from `first` up to, not including, `last`."""
        return self._sums[bisect_left(self._indexes, last)] - self._sums[bisect_left(self._indexes, first)]


class Ledger:
    """Looks up what a task spent between two moments."""

    def __init__(self, slices: Iterable[Slice], found: list[Cost], cpus: Sequence[int] = ()) -> None:
        """`cpus`: the CPU of each record; empty for one CPU."""
        self._storage = self._by_cpu([c for c in found if c.kind == "storage"], cpus)
        self._console = self._by_cpu([c for c in found if c.kind == "console"], cpus)
        # While a device works for one CPU, the model stops all of them.
        self._all = _Sums(found if any(cpus) else [])
        self._of_task: dict[Task, list[Slice]] = defaultdict(list)
        for part in slices:
            self._of_task[part.task].append(part)
        self._starts = {task: [s.start_ns for s in parts] for task, parts in self._of_task.items()}

    @staticmethod
    def _by_cpu(found: list[Cost], cpus: Sequence[int]) -> dict[int, _Sums]:
        parted: dict[int, list[Cost]] = defaultdict(list)
        for cost in found:
            parted[cpus[cost.index] if cpus else 0].append(cost)
        return defaultdict(lambda: _Sums([]), {cpu: _Sums(costs) for cpu, costs in parted.items()})

    def _of_part(self, part: Slice, length_ns: int, first: int, last: int) -> Spent:
        """What was spent in `length_ns` of a slice that contains these records."""
        storage = self._storage[part.cpu].between(first, last)
        console = self._console[part.cpu].between(first, last)
        others = max(0, self._all.between(first, last) - storage - console)
        return Spent(max(0, length_ns - others), storage, console, min(length_ns, others))

    def slices(self, task: Task) -> list[Slice]:
        """When a task had the CPU."""
        return self._of_task.get(task, [])

    def spent(self, task: Task, start_ns: int, end_ns: int, first: int, last: int) -> Spent:
        """What `task` spent from `start_ns` (record `first`) to `end_ns` (record `last`)."""
        parts = self._of_task.get(task, [])
        at = max(0, bisect_right(self._starts.get(task, []), start_ns) - 1)
        found = Spent()
        while at < len(parts) and parts[at].start_ns < end_ns:
            part = parts[at]
            begin, end = max(first, part.first), min(last, part.last)
            length_ns = max(0, min(end_ns, part.end_ns) - max(start_ns, part.start_ns))
            found += self._of_part(part, length_ns, begin, max(begin, end))
            at += 1
        return found

    def of_call(self, call: Call) -> Spent:
        """What the call's task spent while the call was open, the calls inside it included."""
        return self.spent(call.task, call.start_ns, call.end_ns, call.first, call.last)

    def of_slice(self, part: Slice) -> Spent:
        """What was spent in one slice."""
        return self._of_part(part, part.end_ns - part.start_ns, part.first, part.last)

    def devices(self, first: int, last: int) -> tuple[int, int]:
        """(storage, console) costs of records from `first` up to, not including, `last`."""
        storage = sum(sums.between(first, last) for sums in self._storage.values())
        return storage, sum(sums.between(first, last) for sums in self._console.values())
