# SPDX-License-Identifier: Apache-2.0
"""What only bootscope's own collector puts into a bootchart archive: bootscope_events.log.

Lines of a time (ns of the kernel's monotonic clock), a word, and what the word needs; in no order:

    NS sample NUMBER            block NUMBER of taskstats.log was taken
    NS start PID PARENT NAME    a process that was there when collecting began, or was found by a sample
    NS fork PID PARENT          NS exec PID [NAME]      NS name PID NAME
    NS exit PID CODE CPU IO     in ns; - for what is not known
    NS gone PID                 it was no longer there
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from bootscope.readers.bootchart_log import TICK_NS, Logs, Seen
from bootscope.readers.bootchart_processes import Processes
from bootscope.readers.timespan import LONGEST_NS, whole

LOG = "bootscope_events.log"
_COST = "bootscope.cost."
_CARD = re.compile(r"([\w:.-]{1,40})=(\d{1,15})")
_MOST_CARDS = 16
_CLOCK = re.compile(rb"\[ *(\d{1,9})\.(\d{6})\] bootscope-agent: clock (\d{1,18}) ns")
_LINE = re.compile(
    rb"(\d{1,18}) (?:(sample) (\d{1,9})"
    rb"|(start|fork) (\d{1,9}) (\d{1,9})(?: (.{1,16}))?"
    rb"|(exec|name) (\d{1,9})(?: (.{1,16}))?"
    rb"|(exit) (\d{1,9}) (-|\d{1,10}) (-|\d{1,18}) (-|\d{1,18})"
    rb"|(gone) (\d{1,9}))",
    re.DOTALL,
)
# Of what happened at one moment: who begins before who ends, and a sample sees all of it.
_ORDER = {"start": 0, "fork": 1, "exec": 2, "name": 3, "exit": 4, "gone": 5}


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a process; `cpu_ns` and `blocked_ns` are None where not known."""

    at_ns: int
    what: str
    pid: int
    parent: int = 0
    name: bytes = b""
    cpu_ns: int | None = None
    blocked_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Events:
    """All events in the order of time, and the moments of the samples by their number."""

    events: Sequence[Event]
    samples: Mapping[int, int]


def read_events(data: bytes, tally: Logs) -> Events:
    """Takes the log apart; what it does not understand is counted."""
    events: list[Event] = []
    samples: dict[int, int] = {}
    lines = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        match = _LINE.fullmatch(line)
        match = match if match and int(match[1]) <= LONGEST_NS else None
        if line:
            tally.count(LOG, number, line, match)
        else:
            tally.empty += number < len(lines)
        if match and match[2]:
            samples[int(match[3])] = int(match[1])
        elif match:
            events.append(_event(match))
    events.sort(key=lambda e: (e.at_ns, _ORDER[e.what]))
    return Events(events, samples)


def _event(match: re.Match[bytes]) -> Event:
    at_ns = int(match[1])
    if match[4]:
        return Event(at_ns, match[4].decode(), int(match[5]), int(match[6]), match[7] or b"")
    if match[8]:
        return Event(at_ns, match[8].decode(), int(match[9]), name=match[10] or b"")
    if match[11]:
        return Event(at_ns, "exit", int(match[12]), cpu_ns=_known(match[14]), blocked_ns=_known(match[15]))
    return Event(at_ns, "gone", int(match[17]))


def _known(text: bytes) -> int | None:
    return None if text == b"-" else int(text)


def fill(processes: Processes, events: Events, samples: Iterable[tuple[int, list[Seen]]]) -> list[int]:
    """Tells `processes` of events and samples in the order of time; returns the samples' moments."""
    times: list[int] = []
    waiting = deque(events.events)
    for index, (log_ns, seen) in enumerate(samples):
        # The log has hundredths of a second; where the exact time is known and fits, it is taken.
        exact_ns = events.samples.get(index, log_ns)
        at_ns = exact_ns if 0 <= exact_ns - log_ns < TICK_NS else log_ns
        while waiting and waiting[0].at_ns <= at_ns:
            _tell(processes, waiting.popleft())
        processes.sample(at_ns, seen)
        times.append(at_ns)
    for event in waiting:
        _tell(processes, event)
    return times


def facts(header: Mapping[str, str]) -> dict[str, str]:
    """What the collector says of itself and of its own cost; empty for archives of others."""
    version = header.get("bootscope.agent")
    if not version:
        return {}
    found = {"tool": f"bootscope-agent {version}"}
    for key, name in (("sources", "sources"), ("stopped_by", "stopped by")):
        if text := header.get(f"bootscope.{key}"):
            found[name] = text
    cpu_us = (_number(header, _COST + "setup_ns") + _number(header, _COST + "cpu_ns")) // 1000
    switches, size = (_number(header, _COST + key) for key in ("switches", "bytes"))
    found["cost of collecting"] = (
        f"{cpu_us // 1000:,}.{cpu_us % 1000:03} ms CPU, {switches:,} switches, {size:,} bytes"
    )
    cards = _CARD.finditer(header.get("bootscope.card_erase_bytes", ""))
    for card in islice(cards, _MOST_CARDS):
        found[f"card {card[1]}"] = f"erases {int(card[2]):,} bytes at once: areas begin at multiples of that"
    return found


def clock_error_ns(dmesg: bytes) -> int | None:
    """How far the clock of events is from that of the kernel's log, with the log's resolution; None where
    the collector has not said the time in it."""
    match = _CLOCK.search(dmesg)
    if match is None:
        return None
    return min(LONGEST_NS, abs(int(match[3]) - (int(match[1]) * 10**9 + int(match[2]) * 1000)) + 1000)


def losses(header: Mapping[str, str], tally: Logs) -> None:
    """Counts as repairs what the collector says that it has missed."""
    for key, what in (
        ("unseen", "short processes between two samples are missing"),
        ("lost", "events of processes were lost"),
    ):
        count = _number(header, f"bootscope.{key}")
        if count:
            tally.repair(f"header: {what}", 1, count)
    if header.get("bootscope.memory_limit") == "reached":
        tally.repair("header: the memory limit was reached: later data is missing", 1)


def _number(header: Mapping[str, str], key: str) -> int:
    return whole(header.get(key, "")) or 0


def _tell(processes: Processes, event: Event) -> None:
    if event.what in ("start", "fork"):
        processes.begin(event.at_ns, event.pid, event.parent, event.name, found=event.what == "start")
    elif event.what in ("exec", "name"):
        processes.rename(event.pid, event.name)
    else:
        processes.end(event.at_ns, event.pid, event.cpu_ns, event.blocked_ns, seen=event.what == "exit")
