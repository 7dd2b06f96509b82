# SPDX-License-Identifier: Apache-2.0
"""What the kernel did, assembled from the hooks of a recording: who ran, waited, called and read.

The hooks report single moments. Here they become stretches of time that belong to a task. A task is
identified by the address of its task_struct and by when it began, since addresses are reused.

All times are board time in ns from power-on. `index` is the number of a record in the stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

RUNNING = 0
KTHREAD_FLAG = 0x00200000
"""PF_KTHREAD in task_struct.flags."""


@dataclass(slots=True, eq=False)
class Exec:
    """A program was started in a task: when, its file as given, and its arguments."""

    at_ns: int
    file: str
    arguments: tuple[str, ...]


@dataclass(slots=True, eq=False)
class Mapping:
    """A file mapped into the memory of a task's process."""

    at_ns: int
    path: str
    address: int
    size: int
    offset: int

    def in_file(self, address: int) -> int:
        """The offset in the file of what was mapped at an address."""
        return address - self.address + self.offset


@dataclass(slots=True, eq=False)
class Task:
    """A process, thread or kernel thread. `number` counts tasks from 0, the idle task."""

    number: int
    pid: int
    comm: str
    kernel: bool
    start_ns: int
    parent: Task | None = None
    end_ns: int | None = None
    execs: list[Exec] = field(default_factory=list)
    maps: list[Mapping] = field(default_factory=list)
    past: list[tuple[int, list[Mapping]]] = field(default_factory=list)
    """(until when, what was mapped) before each exec, which unmaps everything."""
    names: list[tuple[int, str]] = field(default_factory=list)

    @property
    def idles(self) -> bool:
        """Whether it is the idle task of a CPU; the first one also stands for the boot loaders."""
        return self.number == 0 or (self.pid == 0 and self.kernel)

    def name_at(self, time_ns: int) -> str:
        """The task's name at a time (an exec renames it)."""
        found = self.names[0][1] if self.names else self.comm
        for at_ns, name in self.names:
            if at_ns <= time_ns:
                found = name
        return found

    def maps_at(self, time_ns: int) -> list[Mapping]:
        """What was mapped at a time, the latest last."""
        found = next((maps for until_ns, maps in self.past if time_ns < until_ns), self.maps)
        return [m for m in found if m.at_ns <= time_ns]

    def mapped_at(self, address: int, time_ns: int) -> Mapping | None:
        """What was mapped at an address at a time."""
        found = (m for m in reversed(self.maps_at(time_ns)) if m.address <= address < m.address + m.size)
        return next(found, None)

    def named(self, start_ns: int, end_ns: int) -> Iterator[tuple[int, int, str]]:
        """(start, end, name) of the parts of a stretch in which the task had one name."""
        cuts = sorted({at_ns for at_ns, _ in self.names if start_ns < at_ns < end_ns})
        for start, end in pairwise([start_ns, *cuts, end_ns]):
            yield start, end, self.name_at(start)


@dataclass(slots=True, eq=False)
class Slice:
    """The CPU belonged to a task."""

    start_ns: int
    end_ns: int
    task: Task
    first: int
    last: int
    """Records of its CPU from `first` up to, not including, `last` happened in it."""
    cpu: int = 0


@dataclass(slots=True, eq=False)
class Wait:
    """A task slept from `start_ns`, was woken at `woken_ns` and ran again at `end_ns`.

    `stack` is the number of the stack sample taken when it went to sleep, `waker` the task that woke it
    (None: none was seen), `irq` the interrupt in which that happened.
    """

    task: Task
    start_ns: int
    woken_ns: int
    end_ns: int
    stack: int
    waker: Task | None
    irq: str
    waker_index: int = -1


@dataclass(slots=True, eq=False)
class Call:
    """Something with a beginning and an end on one task: an initcall, probe, interrupt, delay...

    `value` is what the entry recorded (an address, a number), `text` its text, `result` what the function
    returned. `caller` is the return address if the entry recorded one.
    """

    kind: str
    task: Task
    start_ns: int
    end_ns: int
    first: int
    last: int
    value: int = 0
    text: str = ""
    detail: str = ""
    result: int = 0
    caller: int = 0
    depth: int = 0
    open: bool = False


@dataclass(slots=True, eq=False)
class Bio:
    """A request of the kernel to a block device, and the task that made it."""

    at_ns: int
    index: int
    task: Task
    sector: int
    size_bytes: int
    write: bool
    inode: int
    path: str


@dataclass(slots=True, eq=False)
class Message:
    """A message passed to printk: its level 0 to 7, or -1 for the continuation of a line."""

    at_ns: int
    index: int
    task: Task
    level: int
    format: str


@dataclass
class Scene:
    """All that the hooks reported of one boot."""

    tasks: list[Task] = field(default_factory=list)
    cpus: int = 1
    """Concurrent CPUs. If there are several, slices are in order of their starts and overlap."""
    slices: list[Slice] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    bios: list[Bio] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    pages: dict[int, set[int]] = field(default_factory=dict)
    """Inode -> numbers of its pages that a process accessed by a fault, a mapping or a copy."""
    drivers: dict[str, Call] = field(default_factory=dict)
    """Driver -> the initcall that registered it."""

    def of(self, *kinds: str) -> list[Call]:
        """The calls of some kinds, by start, outer before inner."""
        return sorted((c for c in self.calls if c.kind in kinds), key=lambda c: c.first)
