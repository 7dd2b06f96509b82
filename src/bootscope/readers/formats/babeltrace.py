# SPDX-License-Identifier: Apache-2.0
"""Traces of LTTng, and others in the Common Trace Format, as babeltrace2 prints them.

https://babeltrace.org/docs/v2.0/man7/babeltrace2-plugin-text.7/ describes the stamps. Events of the kernel
have the kernel's names for their fields; LTTng calls the number of a task tid:
https://github.com/lttng/lttng-modules/tree/master/include/instrumentation/events
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from bootscope.readers.babeltrace_fields import EventFields, Field, Value
from bootscope.readers.base import Boot, Clock, Options, Reader, Reading, Source
from bootscope.readers.kernel_records import TEXTS, WANTED, Take, device, softirq, state, takers
from bootscope.readers.line_blocks import blocks
from bootscope.readers.lines import Lines, Memo, decode, split
from bootscope.readers.tally import Tally, sample, share
from bootscope.readers.timespan import seconds_ns
from bootscope.readers.trace_parts import TraceParts

NAME = "babeltrace"
_EVENT = re.compile(
    r"\[(?:(?P<cycles>[0-9]{20})|(?P<seconds>[0-9]{1,11}\.[0-9]{9})"
    r"|(?P<clock>[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{9}))\] (?:\(\+[0-9.?]{3,32}+\) )?"
    r"(?:(?P<name>[\w:.*-]{1,120}): (?=\{)|[^\s{}]{1,120} (?P<after>[\w:.*-]{1,120}): (?=\{))"
)
_SURE = re.compile(rb"\[[\d:.]{15,24}\] (?:\(\+[\d.?]{3,32}\) )?(?:[^\s{}]{1,120} )?[\w:.*-]{1,120}: \{ ")
_RENAMED = {"irq_softirq_entry": "softirq_entry", "irq_softirq_exit": "softirq_exit"}
_RWBS = "WDRABSMEFU"
"""LTTng's bits of a request's kind, the lowest first: write, discard, read, read ahead..."""
_LAST_NS = (1 << 63) - 1
_LONGEST_HEAD, _LONGEST_LINE = 400, 400


class _Text:
    """Reads the lines of one trace."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._parts = TraceParts()
        self._arrives = self._parts.events.arrives
        known = takers(self._parts.events)
        self._events: Memo[str, tuple[str, Take | None]] = Memo(
            lambda event: (name := _plain_name(event), known.get(name))
        )
        self._boot = Boot(Clock("kernel", "the kernel's clock began (clock of the trace)", 1))
        self._by_calendar = False
        self._day_ns = self._last_ns = 0
        self._on_cpu: dict[Value, tuple[str, Value]] = {}
        self._names: dict[Value, str] = {0: "<idle>"}
        self._fields = EventFields(_wanted)

    def read(self, lines: Lines) -> None:
        """Reads all lines of a file."""
        first = 1
        for block in blocks(lines.blob):
            *texts, _ = decode(block).split("\n")
            for number, line in enumerate(texts, first):
                if self._take(line):
                    self._tally.understood += 1
                else:
                    self._tally.line(number, line, False)
            first += len(texts)

    def _take(self, line: str) -> bool:
        found = _EVENT.match(line, 0, _LONGEST_HEAD)
        if not found:
            return False
        cycles, seconds, clock, name, after = found.groups()
        at_ns = int(cycles) if cycles else seconds_ns(seconds) if seconds else self._day(clock)
        if at_ns > _LAST_NS:
            return False
        event = name or after
        cpu, own, perf, *values = self._fields.of(event, line, found.end())
        cpu = cpu or 0
        pid = perf if own is None else own
        # The task that ran there: told by the event, else by the last switch there.
        task, pid = (
            self._on_cpu.get(cpu, ("<...>", 0)) if pid is None else (self._names.get(pid, "<...>"), pid)
        )
        self._arrives(at_ns)
        known, take = self._events[event]
        if take is None or None in values:
            rest = line[found.end() : found.end() + _LONGEST_LINE]
            self._boot.log.add(at_ns, f"{task}-{pid} {known}: {rest}")
            return True
        take(at_ns, cpu, task, pid, values)
        if known == "sched_switch":
            self._switched(cpu, *values)
        return True

    def _switched(self, cpu: Value, left: Value, left_pid: Value, _: Value, now: Value, pid: Value) -> None:
        self._on_cpu[cpu] = (str(now), pid)
        self._names[left_pid], self._names[pid] = str(left), str(now)
        self._names[0] = "<idle>"

    def _day(self, clock: str) -> int:
        """The time in ns of a stamp that is a time of day."""
        self._by_calendar = True
        hours, minutes, seconds = clock.split(":")
        at_ns = (int(hours) * 60 + int(minutes)) * 60_000_000_000 + seconds_ns(seconds)
        if at_ns + self._day_ns < self._last_ns - 12 * 3_600_000_000_000:
            self._day_ns += 24 * 3_600_000_000_000
        self._last_ns = at_ns + self._day_ns
        return self._last_ns

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


def _plain_name(event: str) -> str:
    """The kernel's name of an event."""
    name = event.rpartition(":")[2]
    return _RENAMED.get(name, name)


def _wanted(event: str) -> Sequence[Field]:
    """Where an event happened (its CPU, and the task by two names), and what becomes a part of a track."""
    return (*_PLACES, *_FIELDS.get(_plain_name(event), ()))


def _number(text: str) -> int | None:
    if not text.isascii():
        return None
    try:
        return int(text, 16 if text.startswith(("0x", "-0x")) else 10)
    except ValueError:
        return None


def _value(field: str, text: str) -> Value:
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


_PLACES = tuple(Field((name,), _number) for name in ("cpu_id", "common_pid", "perf_tid"))
_FIELDS = {
    event: tuple(Field((name.replace("pid", "tid"), name), partial(_value, name)) for name in names)
    for event, names in WANTED.items()
}


def _sure(source: Source) -> int:
    return share(sample(source), _SURE) * 97 // 100


def _read(source: Source, _options: Options) -> Reading:
    lines = split(source.data)
    tally = Tally()
    trace = _Text(tally)
    trace.read(lines)
    tally.require(source, NAME, lines, "output of babeltrace2")
    return tally.reading([trace.finish()], lines.repairs)


READERS = (
    Reader(
        NAME,
        "trace of LTTng (CTF) as babeltrace2 prints it",
        "babeltrace2 --clock-cycles FOLDER > trace.txt",
        _sure,
        _read,
    ),
)
