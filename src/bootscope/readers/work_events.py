# SPDX-License-Identifier: Apache-2.0
"""Events of initcalls, storage requests and interrupts, each with a beginning and an end."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from bootscope.devices.model import SECTOR_BYTES
from bootscope.readers.layout import ended, track
from bootscope.readers.lines import Memo
from bootscope.readers.trace_event import Event
from bootscope.timeline.trace import Span, Track

_ISSUE = re.compile(
    r"(\d{1,6},\d{1,8}) (\w{1,12}) (\d{1,12}) \([0-9a-f ]*\) (\d{1,20}) \+ (\d{1,12})(?: \S+)? \[(.{0,64})\]"
)
_COMPLETE = re.compile(
    r"(\d{1,6},\d{1,8}) (\w{1,12}) \([0-9a-f ]*\) (\d{1,20}) \+ (\d{1,12})(?: \S+)? \[(-?\w{1,12})\]"
)
_FUNCTION = re.compile(r"func=([^\s+]{1,200})(?:\+\S+)?(?: \[([\w-]+)\])?")
_FINISHED = re.compile(_FUNCTION.pattern + r" ret=(\S{1,32})")
_RET = re.compile(r"ret=(\S{1,32})")
_IRQ = re.compile(r"irq=(\d{1,6})(?: (?:name|handler)=(\S{1,64}))?")
_REQUEST = ("bytes", "sector", "by", "kind")
_SOFTIRQ = re.compile(r"vec=(\d{1,4})(?: \[action=(\w{1,32})\])?")


class _Request(Mapping[str, str | int]):
    """The details of a request, ``{"bytes", "sector", "by", "kind"}``, in a third of the memory of a dict."""

    __slots__ = ("_told",)

    def __init__(self, size_bytes: int, sector: int, by: str, kind: str) -> None:
        self._told = (size_bytes, sector, by, kind)

    def __getitem__(self, label: str) -> str | int:
        if label in _REQUEST:
            return self._told[_REQUEST.index(label)]
        raise KeyError(label)

    def __iter__(self) -> Iterator[str]:
        return iter(_REQUEST)

    def __len__(self) -> int:
        return len(_REQUEST)

    def __repr__(self) -> str:
        return repr(dict(self))


class Storage:
    """Requests to block devices, from issue to completion."""

    def __init__(self) -> None:
        self._requests: dict[tuple[str, int], tuple[int, str, str, int]] = {}
        self._storage: dict[str, list[Span]] = {}
        self._names: Memo[tuple[str, int], str] = Memo(lambda of: f"{_direction(of[0])} {of[1]:,} bytes")
        self.takers = {"block_rq_issue": self._issue, "block_rq_complete": self._complete}

    def _issue(self, event: Event) -> bool:
        found = _ISSUE.search(event.text)
        if found:
            by = f"{event.task} ({event.pid})"
            self.issued(event.at_ns, by, found[1], int(found[4]), int(found[3]), found[2])
        return bool(found)

    def issued(self, at_ns: int, by: str, device: str, sector: int, size_bytes: int, kind: str) -> None:
        """A request goes to a device (``254,0``): 0 bytes where the trace does not tell its size, and what
        kind it is in letters (``RA``)."""
        self._requests[device, sector] = (at_ns, by, kind, size_bytes)

    def _complete(self, event: Event) -> bool:
        found = _COMPLETE.search(event.text)
        if found:
            self.completed(event.at_ns, found[1], int(found[3]), int(found[4]))
        return bool(found)

    def completed(self, at_ns: int, device: str, sector: int, sectors: int) -> None:
        """A device has done a request of so many sectors."""
        request = self._requests.pop((device, sector), None)
        if request is None:
            return
        issued_ns, by, kind, size = request
        size = size or sectors * SECTOR_BYTES
        detail = _Request(size, sector, by, kind)
        span = Span(issued_ns, max(issued_ns, at_ns), self._names[kind, size], detail)
        self._storage.setdefault(device, []).append(span)

    @property
    def unfinished(self) -> int:
        """Requests whose end is not in the trace."""
        return len(self._requests)

    def tracks(self) -> list[Track]:
        """A row for each device."""
        rows = self._storage.items()
        return [track(f"storage-{dev}", "storage", f"block device {dev}", spans) for dev, spans in rows]


class Initcalls:
    """Initcalls by task, and the levels they belong to."""

    def __init__(self) -> None:
        self._initcalls: dict[int, list[tuple[str, int]]] = defaultdict(list)
        self._initcall_spans: dict[int, list[Span]] = defaultdict(list)
        self._details: Memo[str, dict[str, str | int]] = Memo(lambda returned: {"returned": returned})
        self._levels: list[tuple[int, str]] = []
        self.takers = {
            "initcall_level": self._level,
            "initcall_start": self._initcall_start,
            "initcall_finish": self._initcall_finish,
        }

    def _level(self, event: Event) -> bool:
        self.level(event.at_ns, event.text.strip().removeprefix("level="))
        return True

    def level(self, at_ns: int, name: str) -> None:
        """The calls of a level begin."""
        self._levels.append((at_ns, name[:64]))

    def _initcall_start(self, event: Event) -> bool:
        found = _FUNCTION.search(event.text)
        if found:
            self.started(event.at_ns, event.pid, found[1])
        return bool(found)

    def started(self, at_ns: int, pid: int, name: str) -> None:
        """A task calls the function `name`."""
        self._initcalls[pid].append((name, at_ns))

    def _initcall_finish(self, event: Event) -> bool:
        text = event.text
        if usual := _FINISHED.match(text):
            self.finished(event.at_ns, event.pid, usual[1], usual[3])
            return True
        found, ret = _FUNCTION.search(text), _RET.search(text)
        if found:
            self.finished(event.at_ns, event.pid, found[1], ret[1] if ret else "?")
        return bool(found)

    def finished(self, at_ns: int, pid: int, name: str, returned: str) -> None:
        """The call of `name` is over."""
        calls = self._initcalls[pid]
        usual = bool(calls) and calls[-1][0] == name
        begun = calls.pop() if usual else ended(calls, lambda call: call[0] == name)
        if begun:
            start_ns = begun[1]
            end_ns = at_ns if at_ns > start_ns else start_ns
            self._initcall_spans[pid].append(Span(start_ns, end_ns, name, self._details[returned]))

    def tracks(self) -> list[Track]:
        """The levels, then a row for each task that ran initcalls."""
        made = [self._level_track()] if self._levels else []
        for pid, spans in self._initcall_spans.items():
            made.append(track(f"initcalls-{pid}", "initcall", f"initcalls (task {pid})", spans))
        return made

    def _level_track(self) -> Track:
        last_ns = max((s.end_ns for spans in self._initcall_spans.values() for s in spans), default=0)
        ends = [at for at, _ in self._levels[1:]] + [last_ns]
        spans = [Span(at, max(at, end), name) for (at, name), end in zip(self._levels, ends, strict=True)]
        return track("initcall-levels", "phase", "initcall levels", spans)


class Interrupts:
    """Interrupts and softirqs by CPU."""

    def __init__(self) -> None:
        self._irqs: dict[int, list[tuple[str, int]]] = defaultdict(list)
        self._irq_spans: dict[int, list[Span]] = defaultdict(list)
        self._numbers: Memo[str, list[str]] = Memo(lambda name: name.split(" ", 2)[:2])
        self.takers = {
            "irq_handler_entry": self._irq_entry,
            "irq_handler_exit": self._irq_exit,
            "softirq_entry": self._irq_entry,
            "softirq_exit": self._irq_exit,
        }

    def _irq_entry(self, event: Event) -> bool:
        name = _irq_name(event)
        if name:
            self.entered(event.at_ns, event.cpu, name)
        return bool(name)

    def entered(self, at_ns: int, cpu: int, name: str) -> None:
        """A CPU begins an interrupt, ``irq 11 arch_timer`` or ``softirq 1 TIMER``."""
        begun = self._irqs[cpu]
        begun.append((name, at_ns))
        if len(begun) > 64:
            del begun[:-64]

    def _irq_exit(self, event: Event) -> bool:
        name = _irq_name(event)
        if name:
            self.left(event.at_ns, event.cpu, name)
        return bool(name)

    def left(self, at_ns: int, cpu: int, name: str) -> None:
        """A CPU ends an interrupt, of which the exit tells the kind and the number only."""
        # The innermost of that number has ended.
        numbers, calls = self._numbers, self._irqs[cpu]
        number = numbers[name]
        usual = bool(calls) and numbers[calls[-1][0]] == number
        begun = calls.pop() if usual else ended(calls, lambda irq: numbers[irq[0]] == number)
        if begun:
            self._irq_spans[cpu].append(Span(begun[1], max(begun[1], at_ns), begun[0]))

    def tracks(self) -> list[Track]:
        """A row for each CPU."""
        rows = sorted(self._irq_spans.items())
        return [track(f"irq-{cpu}", "irq", f"CPU {cpu}: interrupts", spans) for cpu, spans in rows]


def _direction(kind: str) -> str:
    letters = kind.upper()
    if "R" in letters[:2]:
        return "read"
    if "W" in letters[:2]:
        return "write"
    if "D" in letters:
        return "discard"
    return "flush" if "F" in letters else "request of"


def _irq_name(event: Event) -> str:
    """The kind of an interrupt, its number, and its name if it is told; empty for another text."""
    kind, pattern = ("softirq", _SOFTIRQ) if event.name.startswith("softirq") else ("irq", _IRQ)
    found = pattern.search(event.text)
    return f"{kind} {found[1]} {found[2] or ''}".strip() if found else ""
