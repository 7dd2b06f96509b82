# SPDX-License-Identifier: Apache-2.0
"""The processes that strace and ltrace follow: what each called, executed, and how it ended."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import msgspec

from bootscope.readers.layout import ended, track
from bootscope.timeline.trace import Span, Track

_ARGUMENT = re.compile(r'"((?:[^"\\]|\\.)*+)"')
_MAX_COMMAND = 200
_MAX_ANCESTORS = 100
_SLACK_NS = 2_000  # both tools cut stamps and lengths to microseconds


class Said(Mapping[str, str]):
    """The details of a call, ``{"call": text}``, in a quarter of the memory: there are millions."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __getitem__(self, label: str) -> str:
        if label == "call":
            return self._text
        raise KeyError(label)

    def __iter__(self) -> Iterator[str]:
        return iter(("call",))

    def __len__(self) -> int:
        return 1

    def __repr__(self) -> str:
        return repr(dict(self))


class Open(msgspec.Struct, frozen=True, gc=False):
    """A call that has begun: another process's line, or a call inside it, came before its end."""

    name: str
    start_ns: int
    text: str


@dataclass(slots=True)
class Process:
    """One process or thread. `pid` is 0 until the trace tells it."""

    pid: int
    started_ns: int
    last_ns: int
    parent: Process | None = None
    images: list[tuple[int, str]] = field(default_factory=list)
    calls: list[Span] = field(default_factory=list)
    open_calls: list[Open] = field(default_factory=list)
    ended: str = ""
    serial: int = 0

    def resumed(self, name: str) -> Open | None:
        """The innermost call of that name that is open; those begun inside it never ended."""
        return ended(self.open_calls, lambda call: call.name == name)

    def joined(self, rest: Open, length_ns: int | None) -> tuple[Open, int]:
        """The whole of a call whose second part is `rest`, and its length. Where the first part is not in
        the file, only the length that the second one tells is left."""
        begun = self.resumed(rest.name)
        if begun is None:
            length_ns = length_ns or 0
            begun = Open(rest.name, rest.start_ns - length_ns, f"{rest.name}(")
        if length_ns is None:
            length_ns = rest.start_ns - begun.start_ns
        return Open(rest.name, begun.start_ns, begun.text + rest.text), length_ns

    @property
    def ident(self) -> str:
        """The id of its track."""
        return f"process-{self.pid}" + (f".{self.serial}" if self.serial else "")

    @property
    def name(self) -> str:
        """What it last executed, else what its parent had executed."""
        if self.images:
            return self.images[-1][1]
        return self._forked()

    def _forked(self) -> str:
        above, seen = self.parent, 0
        while above and seen < _MAX_ANCESTORS:
            before = [name for at, name in above.images if at <= self.started_ns]
            if before:
                return f"{before[-1]} (forked)"
            above, seen = above.parent, seen + 1
        return f"process {self.pid}" if self.pid else "the traced process"

    def tracks(self) -> list[Track]:
        """Its life as a row of programs, and its calls."""
        title = f"{self.pid} {self.name}" if self.pid else self.name
        parent = self.parent.ident if self.parent else ""
        life = track(self.ident, "process", title, self._life(), parent=parent)
        if not self.calls:
            return [life]
        # Programs of a process never overlap; its calls are in order, so no recursion can hide here.
        calls = track(
            f"calls-{self.ident}",
            "function",
            f"{title}: calls",
            self.calls,
            parent=self.ident,
            slack_ns=_SLACK_NS,
        )
        return [life, calls]

    def _life(self) -> list[Span]:
        starts = [(self.started_ns, self._forked()), *self.images]
        if self.images and self.images[0][0] <= self.started_ns:
            starts = self.images
        ends = [at for at, _ in starts[1:]] + [self.last_ns]
        state = self.ended or "not ended in the trace"
        last = len(starts) - 1
        return [
            Span(at, max(at, end), name, {"pid": self.pid, "ended": state if i == last else "execve"})
            for i, ((at, name), end) in enumerate(zip(starts, ends, strict=True))
        ]


class ProcessTable:
    """Processes by number: those `alive`, and `all` in the order of their beginning. One whose number was
    used before has the next serial."""

    def __init__(self) -> None:
        self.alive: dict[int, Process] = {}
        self.all: list[Process] = []
        self._serials: dict[int, int] = {}

    def begin(self, pid: int, at_ns: int) -> Process:
        """A new process of that number."""
        process = Process(pid, at_ns, at_ns, serial=self.next_serial(pid))
        self.all.append(process)
        self.alive[pid] = process
        return process

    def next_serial(self, pid: int) -> int:
        """How often the number was used before; counts this use."""
        serial = self._serials.get(pid, 0)
        self._serials[pid] = serial + 1
        return serial


class CalledProcesses(ProcessTable):
    """The processes of a trace that need not tell the number of the first one."""

    def __init__(self) -> None:
        super().__init__()
        self.attached: set[int] = set()
        """Numbers of which the tool said that it follows them: none of them is the first one."""

    def of(self, number: int | None, at_ns: int) -> Process:
        """The process of that number, or without one the only process there is."""
        if number is None:
            if len(self.alive) == 1:
                return next(iter(self.alive.values()))
            return self.alive.get(0) or (self.all[0] if self.all else self.begin(0, at_ns))
        found = self.alive.get(number)
        if found:
            return found
        unnamed = self.alive.get(0)
        if unnamed is None or number in self.attached:
            return self.begin(number, at_ns)
        del self.alive[0]
        unnamed.pid, unnamed.serial = number, self.next_serial(number)
        self.alive[number] = unnamed
        return unnamed

    def born(self, parent: Process, at_ns: int, result: str) -> None:
        """Takes the result of a call that makes a child, begun at `at_ns`."""
        pid = result.partition("<")[0].strip()
        if not (pid.isascii() and pid.isdigit()) or not 0 < len(pid) < 10 or pid == "0":
            return
        child = self.alive.get(int(pid)) or self.begin(int(pid), at_ns)
        if child is not parent and not _above(child, parent):
            child.parent = parent
        child.started_ns = min(child.started_ns, max(at_ns, parent.started_ns))


def _above(process: Process, below: Process | None) -> bool:
    """Whether `process` is among the ancestors of `below`; a damaged file must not make a circle."""
    for _ in range(_MAX_ANCESTORS):
        if below is None:
            return False
        if below is process:
            return True
        below = below.parent
    return True


def command(arguments: str) -> str:
    """The command that an execve's arguments as printed name: ``"/bin/ls", ["ls", "-l"], ...``."""
    text = arguments[:4096]
    opening = text.find("[")
    words = _ARGUMENT.findall(text, opening, text.find("]", opening) + 1) if opening >= 0 else []
    if not words:
        words = _ARGUMENT.findall(text)[:1]
    return " ".join(words)[:_MAX_COMMAND] or "?"
