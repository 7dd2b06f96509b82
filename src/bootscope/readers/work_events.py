# SPDX-License-Identifier: Apache-2.0
"""Events of initcalls, storage requests and interrupts, each with a beginning and an end."""

from __future__ import annotations

import re

from bootscope.devices.model import SECTOR_BYTES
from bootscope.readers.layout import ended, track
from bootscope.readers.trace_event import Event
from bootscope.timeline.trace import Span, Track

_ISSUE = re.compile(
    r"(\d{1,6},\d{1,8}) (\w{1,12}) (\d{1,12}) \([0-9a-f ]*\) (\d{1,20}) \+ (\d{1,12})(?: \S+)? \[(.{0,64})\]"
)
_COMPLETE = re.compile(
    r"(\d{1,6},\d{1,8}) (\w{1,12}) \([0-9a-f ]*\) (\d{1,20}) \+ (\d{1,12})(?: \S+)? \[(-?\w{1,12})\]"
)
_FUNCTION = re.compile(r"func=([^\s+]{1,200})(?:\+\S+)?(?: \[([\w-]+)\])?")
_RET = re.compile(r"ret=(\S{1,32})")
_IRQ = re.compile(r"irq=(\d{1,6})(?: (?:name|handler)=(\S{1,64}))?")
_SOFTIRQ = re.compile(r"vec=(\d{1,4})(?: \[action=(\w{1,32})\])?")


class Storage:
    """Requests to block devices, from issue to completion."""

    def __init__(self) -> None:
        self._requests: dict[tuple[str, int], tuple[Event, str, int]] = {}
        self._storage: dict[str, list[Span]] = {}
        self.takers = {"block_rq_issue": self._issue, "block_rq_complete": self._complete}

    def _issue(self, event: Event) -> bool:
        found = _ISSUE.search(event.text)
        if found:
            self._requests[found[1], int(found[4])] = (event, found[2], int(found[3]))
        return bool(found)

    def _complete(self, event: Event) -> bool:
        found = _COMPLETE.search(event.text)
        if not found:
            return False
        request = self._requests.pop((found[1], int(found[3])), None)
        if request:
            issued, kind, size = request
            size = size or int(found[4]) * SECTOR_BYTES
            detail: dict[str, str | int] = {
                "bytes": size,
                "sector": int(found[3]),
                "by": f"{issued.task} ({issued.pid})",
                "kind": kind,
            }
            name = f"{_direction(kind)} {size:,} bytes"
            end_ns = max(issued.at_ns, event.at_ns)
            self._storage.setdefault(found[1], []).append(Span(issued.at_ns, end_ns, name, detail))
        return True

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
        self._initcalls: dict[int, list[tuple[str, int]]] = {}
        self._initcall_spans: dict[int, list[Span]] = {}
        self._levels: list[tuple[int, str]] = []
        self.takers = {
            "initcall_level": self._level,
            "initcall_start": self._initcall_start,
            "initcall_finish": self._initcall_finish,
        }

    def _level(self, event: Event) -> bool:
        self._levels.append((event.at_ns, event.text.strip().removeprefix("level=")[:64]))
        return True

    def _initcall_start(self, event: Event) -> bool:
        found = _FUNCTION.search(event.text)
        if found:
            self._initcalls.setdefault(event.pid, []).append((found[1], event.at_ns))
        return bool(found)

    def _initcall_finish(self, event: Event) -> bool:
        found, ret = _FUNCTION.search(event.text), _RET.search(event.text)
        if not found:
            return False
        name = found[1]
        begun = ended(self._initcalls.get(event.pid, []), lambda call: call[0] == name)
        if begun:
            span = Span(begun[1], max(begun[1], event.at_ns), name, {"returned": ret[1] if ret else "?"})
            self._initcall_spans.setdefault(event.pid, []).append(span)
        return True

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
        self._irqs: dict[int, list[tuple[str, int]]] = {}
        self._irq_spans: dict[int, list[Span]] = {}
        self.takers = {
            "irq_handler_entry": self._irq_entry,
            "irq_handler_exit": self._irq_exit,
            "softirq_entry": self._irq_entry,
            "softirq_exit": self._irq_exit,
        }

    def _irq_entry(self, event: Event) -> bool:
        name = _irq_name(event)
        if name:
            self._irqs.setdefault(event.cpu, []).append((name, event.at_ns))
            self._irqs[event.cpu][:-64] = []
        return bool(name)

    def _irq_exit(self, event: Event) -> bool:
        name = _irq_name(event)
        if not name:
            return False
        # The exit names the number only; the innermost of that number has ended.
        number = name.split(" ", 2)[:2]
        begun = ended(self._irqs.get(event.cpu, []), lambda irq: irq[0].split(" ", 2)[:2] == number)
        if begun:
            span = Span(begun[1], max(begun[1], event.at_ns), begun[0])
            self._irq_spans.setdefault(event.cpu, []).append(span)
        return True

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
