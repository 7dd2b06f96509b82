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
from bootscope.readers.lines import Lines, decode, split
from bootscope.readers.tally import Tally, sample, share
from bootscope.readers.timespan import seconds_ns
from bootscope.readers.trace_parts import TraceParts

NAME = "babeltrace"
_EVENT = re.compile(
    r"\[(?P<stamp>[0-9]{20}|[0-9]{1,11}\.[0-9]{9}|[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{9})\] "
    r"(?:\(\+[0-9.?]{3,32}+\) )?"
    r"(?:(?P<name>[\w:.*-]{1,120}): (?=\{)|[^\s{}]{1,120} (?P<after>[\w:.*-]{1,120}): (?=\{))"
)
# Whole lines in ASCII: the stamp, the event and its fields.
_ROW = re.compile(
    rb"^\[([0-9]{20}|[0-9]{1,11}\.[0-9]{9}|[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{9})\] "
    rb"(?:\(\+[0-9.?]{3,32}+\) )?(?:[^\s\x1c-\x1f{}]{1,120} )??([\w:.*-]{1,120}): (\{.*)$",
    re.MULTILINE,
)
_SURE = re.compile(rb"\[[\d:.]{15,24}\] (?:\(\+[\d.?]{3,32}\) )?(?:[^\s{}]{1,120} )?[\w:.*-]{1,120}: \{ ")
_RENAMED = {"irq_softirq_entry": "softirq_entry", "irq_softirq_exit": "softirq_exit"}
_RWBS = "WDRABSMEFU"
"""LTTng's bits of a request's kind, the lowest first: write, discard, read, read ahead..."""
_LAST_NS = (1 << 63) - 1
_LONGEST_HEAD, _LONGEST_LINE = 400, 400


_Happened = tuple[Take | None, Value, Value, Sequence[Value]]
"""Of an event: what takes it, None where it becomes a line; its CPU; its task, None where it tells none; its
values."""
_NOBODY = ("<...>", 0)


class BabeltraceText:
    """Reads the lines of one trace."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._parts = TraceParts()
        self._takers = takers(self._parts.events)
        self._ran, self._takers["sched_switch"] = self._takers["sched_switch"], self._switched
        self._boot = Boot(Clock("kernel", "the kernel's clock began (clock of the trace)", 1))
        self._by_calendar = False
        self._day_ns = self._last_ns = 0
        self._on_cpu: dict[Value, tuple[str, Value]] = {}
        self._names: dict[Value, str] = {0: "<idle>"}
        self._fields = EventFields(_wanted, self._happened)

    def read(self, lines: Lines) -> None:
        """Reads all lines of a file: those of a block at once, or one by one where one of them is odd."""
        first = 1
        for block in blocks(lines.blob):
            count = block.count(b"\n")
            rows = _ROW.findall(block) if block.isascii() else []
            if len(rows) == count:
                self._rows(first, rows, block)
            else:
                for number, line in enumerate(decode(block).split("\n")[:-1], first):
                    self.take(number, line)
            first += count

    def _rows(self, first: int, rows: Sequence[tuple[bytes, bytes, bytes]], block: bytes) -> None:
        quick, told = self._fields.quick, self._told
        for number, (stamp, event, rest) in enumerate(rows, first):
            at_ns = int(stamp) if stamp.isdigit() else self._at_ns(stamp.decode())
            if at_ns > _LAST_NS:
                self._tally.line(number, decode(block.split(b"\n")[number - first]), False)
                continue
            self._tally.understood += 1
            found = quick(event, rest) or self._fields.of(event.decode(), rest.decode())
            told(at_ns, found, event, rest)

    def take(self, number: int, line: str) -> None:
        """Reads a line (number from 1) closely."""
        found = _EVENT.match(line, 0, _LONGEST_HEAD)
        at_ns = self._at_ns(found["stamp"]) if found else _LAST_NS + 1
        self._tally.line(number, line, at_ns <= _LAST_NS)
        if found and at_ns <= _LAST_NS:
            event, rest = found["name"] or found["after"], line[found.end() :]
            plain = event.isascii() and rest.isascii()
            known = self._fields.quick(event.encode(), rest.encode()) if plain else None
            self._told(at_ns, known or self._fields.of(event, rest), event, rest)

    def _happened(self, event: str, found: Sequence[Value]) -> _Happened:
        cpu, own, perf, *values = found
        take = None if None in values else self._takers.get(_plain_name(event))
        return take, cpu or 0, perf if own is None else own, values

    def _told(self, at_ns: int, found: _Happened, event: str | bytes, rest: str | bytes) -> None:
        take, cpu, pid, values = found
        # The task that ran there: told by the event, else by the last switch there.
        if pid is None:
            task, pid = self._on_cpu.get(cpu, _NOBODY)
        else:
            task = self._names.get(pid, "<...>")
        self._parts.events.arrives(at_ns)
        if take:
            take(at_ns, cpu, task, pid, values)
        else:
            name, text = (decode(x) if isinstance(x, bytes) else x for x in (event, rest[:_LONGEST_LINE]))
            self._boot.log.add(at_ns, f"{task}-{pid} {_plain_name(name)}: {text}")

    def _switched(self, at_ns: int, cpu: int, task: str, pid: int, values: Sequence[Value]) -> None:
        self._ran(at_ns, cpu, task, pid, values)
        left, left_pid, _, now, now_pid = values
        self._on_cpu[cpu] = (str(now), now_pid)
        self._names[left_pid], self._names[now_pid] = str(left), str(now)
        self._names[0] = "<idle>"

    def _at_ns(self, stamp: str) -> int:
        if stamp.isdigit():
            return int(stamp)
        return self._day(stamp) if ":" in stamp else seconds_ns(stamp)

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
        """What all lines come to."""
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
    trace = BabeltraceText(tally)
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
