# SPDX-License-Identifier: Apache-2.0
"""Traces of LTTng, and others in the Common Trace Format, as babeltrace2 prints them.

https://babeltrace.org/docs/v2.0/man7/babeltrace2-plugin-text.7/ describes the stamps. Events of the kernel
have the kernel's names for their fields; LTTng calls the number of a task tid:
https://github.com/lttng/lttng-modules/tree/master/include/instrumentation/events
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain

from bootscope.readers.babeltrace_fields import EventFields
from bootscope.readers.base import Boot, Clock, Options, Reader, Reading, Source
from bootscope.readers.kernel_records import TEXTS, WANTED, device, softirq, state, takers
from bootscope.readers.tally import Tally, read_one, sample, share
from bootscope.readers.timespan import seconds_ns
from bootscope.readers.trace_parts import TraceParts

NAME = "babeltrace"
_EVENT = re.compile(
    r"\[(?:(?P<clock>\d\d:\d\d:\d\d\.\d{9})|(?P<seconds>\d{1,11}\.\d{9})|(?P<cycles>\d{20}))\] "
    r"(?:\(\+[\d.?]{3,32}\) )?(?:(?P<where>[^\s{}]{1,120}) )?(?P<name>[\w:.*-]{1,120}): (?=\{)"
)
_SURE = re.compile(rb"\[[\d:.]{15,24}\] (?:\(\+[\d.?]{3,32}\) )?(?:[^\s{}]{1,120} )?[\w:.*-]{1,120}: \{ ")
_FIELDS = {event: [(name, name.replace("pid", "tid")) for name in names] for event, names in WANTED.items()}
"""The wanted fields of an event, each with its other name."""
_RENAMED = {"irq_softirq_entry": "softirq_entry", "irq_softirq_exit": "softirq_exit"}
_RWBS = "WDRABSMEFU"
"""LTTng's bits of a request's kind, the lowest first: write, discard, read, read ahead..."""
_LAST_NS = (1 << 63) - 1
_LONGEST_HEAD, _LONGEST_LINE = 400, 400
_PLACES = ("cpu_id", "common_pid", "perf_tid")
"""Fields that say where any event happened."""


class _Text:
    """Reads the lines of one trace."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._parts = TraceParts()
        self._takers = takers(self._parts.events)
        self._boot = Boot(Clock("kernel", "the kernel's clock began (clock of the trace)", 1))
        self._by_calendar = False
        self._day_ns = self._last_ns = 0
        self._on_cpu: dict[int, tuple[str, int]] = {}
        self._names: dict[int, str] = {0: "<idle>"}
        self._fields = EventFields(frozenset((*_PLACES, *chain(*chain(*_FIELDS.values())))))

    def take(self, number: int, line: str) -> bool:
        found = _EVENT.match(line, 0, _LONGEST_HEAD)
        if not found:
            return False
        clock, seconds, cycles, _, event = found.groups()
        at_ns = int(cycles) if cycles else seconds_ns(seconds) if seconds else self._day(clock)
        if at_ns > _LAST_NS:
            return False
        values = self._fields.of(event, line, found.end())
        name = event.rpartition(":")[2]
        name = _RENAMED.get(name, name)
        cpu = _number(values.get("cpu_id")) or 0
        task, pid = self._running(cpu, values)
        self._parts.events.arrives(at_ns)
        if not self._known(name, at_ns, cpu, task, pid, values):
            rest = line[found.end() : found.end() + _LONGEST_LINE]
            self._boot.log.add(at_ns, f"{task}-{pid} {name}: {rest}")
        return True

    def _day(self, clock: str) -> int:
        """The time in ns of a stamp that is a time of day."""
        self._by_calendar = True
        hours, minutes, seconds = clock.split(":")
        at_ns = (int(hours) * 60 + int(minutes)) * 60_000_000_000 + seconds_ns(seconds)
        if at_ns + self._day_ns < self._last_ns - 12 * 3_600_000_000_000:
            self._day_ns += 24 * 3_600_000_000_000
        self._last_ns = at_ns + self._day_ns
        return self._last_ns

    def _running(self, cpu: int, values: dict[str, str]) -> tuple[str, int]:
        """The task that ran where an event happened: told by the event, else by the last switch there."""
        for field in _PLACES[1:]:
            pid = _number(values.get(field))
            if pid is not None:
                return self._names.get(pid, "<...>"), pid
        return self._on_cpu.get(cpu, ("<...>", 0))

    def _known(self, name: str, at_ns: int, cpu: int, task: str, pid: int, values: dict[str, str]) -> bool:
        """Hands on an event that becomes a part of a track; False for another, and for one without its
        fields."""
        take = self._takers.get(name)
        if take is None:
            return False
        given: list[int | str] = []
        for field, other in _FIELDS[name]:
            text = values.get(other, values.get(field))
            value = _value(field, text) if text is not None else None
            if value is None:
                return False
            given.append(value)
        take(at_ns, cpu, task, pid, *given)
        if name == "sched_switch":
            self._on_cpu[cpu] = (str(given[3]), int(given[4]))
            self._names |= {int(given[1]): str(given[0]), int(given[4]): str(given[3]), 0: "<idle>"}
        return True

    def finish(self) -> Boot:
        boot = self._boot
        if self._by_calendar:
            boot.clock = Clock("counter", "midnight, by the calendar of the traced system", 1)
            self._tally.ask(
                "stamps are times of day, which cannot be joined with the kernel's log: print the trace with "
                "babeltrace2 --clock-cycles"
            )
        boot.facts["tool"] = "babeltrace2"
        self._parts.fill(boot, self._tally)
        return boot


@lru_cache(maxsize=10_000)
def _value(field: str, text: str) -> int | str | None:
    """The value of a field as the tracks want it; None for what is none."""
    number = _number(text)
    if field == "rwbs" and number is not None:
        return "".join(letter for bit, letter in enumerate(_RWBS) if number >> bit & 1)
    if field in TEXTS:
        return text.replace('\\"', '"').replace("\\\\", "\\")
    if number is None:
        return None
    if field == "prev_state":
        return state(number)
    if field == "dev":
        return device(number)
    if field == "vec":
        return softirq(number)
    return f"0x{number:x}" if field == "func" else number


@lru_cache(maxsize=10_000)
def _number(text: str | None) -> int | None:
    if text is None or not text.isascii():
        return None
    try:
        return int(text, 16 if text.startswith(("0x", "-0x")) else 10)
    except ValueError:
        return None


def _sure(source: Source) -> int:
    return share(sample(source), _SURE) * 97 // 100


def _read(source: Source, _options: Options) -> Reading:
    return read_one(source, NAME, "output of babeltrace2", _Text)


READERS = (
    Reader(
        NAME,
        "trace of LTTng (CTF) as babeltrace2 prints it",
        "babeltrace2 --clock-cycles FOLDER > trace.txt",
        _sure,
        _read,
    ),
)
