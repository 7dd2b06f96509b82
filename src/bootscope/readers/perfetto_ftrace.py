# SPDX-License-Identifier: Apache-2.0
"""The kernel's events in Perfetto traces: bundles of one CPU each, with switches of tasks in columns.

Field numbers are those of protos/perfetto/trace/ftrace in Perfetto's sources:
https://perfetto.dev/docs/reference/trace-packet-proto#FtraceEventBundle
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter

from bootscope.readers.kernel_events import KernelEvents
from bootscope.readers.kernel_records import TEXTS, WANTED, Take, device, softirq, state, takers
from bootscope.readers.lines import Memo, decode
from bootscope.readers.proto_fields import DamagedError, fields, packed, signed, varint

_CPU, _EVENT, _LOST, _COMPACT, _DESCRIPTOR = 1, 2, 3, 4, 11
_AT, _PID = 1, 2
_KNOWN: Mapping[int, tuple[str, tuple[int, ...]]] = {
    3: ("print", (2,)),
    4: ("sched_switch", (1, 2, 4, 5, 6)),
    17: ("sched_wakeup", (1, 2)),
    24: ("softirq_entry", (1,)),
    25: ("softirq_exit", (1,)),
    36: ("irq_handler_entry", (1, 2)),
    37: ("irq_handler_exit", (1,)),
    45: ("block_rq_issue", (1, 2, 4, 5)),
    114: ("sched_wakeup_new", (1, 2)),
    125: ("block_rq_complete", (1, 2, 3)),
    237: ("sched_process_exec", (1, 2)),
    238: ("sched_process_exit", (1, 2)),
    239: ("sched_process_fork", (1, 2, 4)),
}
"""Of each event's field in FtraceEvent: its name, and the fields in it that WANTED asks for."""
_FIRST_DYNAMIC = 65_536
_TURNS: Mapping[str, Callable[[int], str]] = {
    "prev_state": lru_cache(state),
    "dev": lru_cache(device),
    "vec": lru_cache(softirq),
    "func": lambda address: f"0x{address & (1 << 64) - 1:x}",
}
_LAST_NS = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class _Described:
    """An event that the trace itself describes: its name, and its fields by number."""

    name: str
    fields: Mapping[int, str]


@dataclass(slots=True)
class _Switches:
    """Columns of compact_sched, by their field numbers: times (each after the one before), states of the
    tasks that were left, numbers and names (places in `comms`) of the next ones."""

    columns: dict[int, list[int]]
    comms: list[str]


_Found = tuple[int, int, int, int, int, int | str]
"""Of an event: time in ns, field, CPU, task, and its start and end in the file, 0 for one that tells nothing
else. Of a switch in columns: time in ns, _SWITCH, CPU, the state of the task that was left, the number and
name of the next."""
_SWITCH = -1
_USUAL = re.compile(
    rb"\x08([\x80-\xff]{0,7}+[\x00-\x7f])\x10([\x80-\xff]{0,9}+[\x00-\x7f])"
    rb"([\x80-\xff]{0,4}+[\x00-\x7f])([\x00-\x7f])"
)
"""An event with its time, its task and one short message: the field of that, and its size."""
_BYTES_KIND = 2
Turn = Callable[[int], int | str] | None
"""What makes the value that is wanted of a number; None for text."""


class FtraceBundles:
    """Collects events, and hands them on by their time."""

    def __init__(self, data: bytes, events: KernelEvents, log: Callable[[int, str], None]) -> None:
        self._data, self._events, self._log = data, events, log
        self._takers = takers(events)
        self._words: Memo[bytes, str] = Memo(decode)
        self._states: Memo[int, str] = Memo(lambda bits: state(signed(bits)))
        self._numbers: Memo[bytes, int] = Memo(lambda raw: varint(raw, 0, len(raw))[0])
        self._values: Memo[tuple[int, bytes], list[int | str]] = Memo(self._values_of)
        self._found: list[_Found] = []
        self._described: dict[int, _Described] = {}
        self._on_cpu: dict[int, tuple[int, str]] = {}
        self._plans: dict[int, tuple[str, Take | None]] = {}
        self._turns: dict[int, list[tuple[Turn, int]]] = {}
        """Of an event's field: the fields of its values, and what becomes of each."""
        self.names: dict[int, str] = {0: "<idle>"}
        """Of tasks by number, as far as the trace tells them."""
        self.lost = 0
        self.others: dict[int, int] = {}
        """How often there was an event of which nothing is known, by its field number."""

    def bundle(self, start: int, end: int) -> None:
        """Takes the bundle between two places of the trace. Raises DamagedError."""
        cpu, events, columns = 0, [], []
        for number, value, stop in fields(self._data, start, end):
            if number == _CPU and stop < 0:
                cpu = value
            elif number == _LOST and stop < 0:
                self.lost += value
            elif number == _EVENT and stop >= 0:
                events.append((value, stop))
            elif number == _COMPACT and stop >= 0:
                columns.append((value, stop))
            elif number == _DESCRIPTOR and stop >= 0:
                self._describe(value, stop)
        for value, stop in events:
            if not self._usual(cpu, value, stop):
                self._event(cpu, value, stop)
        for value, stop in columns:
            self._compact(cpu, value, stop)

    def _usual(self, cpu: int, start: int, end: int) -> bool:
        """Takes an event of the usual form; False for another one."""
        found = _USUAL.match(self._data, start, end)
        if not found:
            return False
        at, pid, field, size = found.groups()
        tag, body = self._numbers[field], found.end()
        if tag & 7 != _BYTES_KIND or body + size[0] != end:
            return False
        self._found.append((_small(at), tag >> 3, cpu, self._numbers[pid], body, end))
        return True

    def _event(self, cpu: int, start: int, end: int) -> None:
        at_ns, pid = 0, 0
        told: list[tuple[int, int, int]] = []
        for field in fields(self._data, start, end):
            number, value, stop = field
            if stop >= 0:
                told.append(field)
            elif number == _AT:
                at_ns = value
            elif number == _PID:
                pid = value
        if at_ns <= _LAST_NS:
            for field in told or [(0, 0, 0)]:
                number, value, stop = field
                self._found.append((at_ns, number, cpu, pid, value, stop))

    def _compact(self, cpu: int, start: int, end: int) -> None:
        found = _Switches({1: [], 2: [], 3: [], 6: []}, [])
        for number, value, stop in fields(self._data, start, end):
            if number == 5 and stop >= 0:
                found.comms.append(self._words[self._data[value:stop]])
            elif number in found.columns:
                found.columns[number] += [value] if stop < 0 else packed(self._data, value, stop)
        at_ns = 0
        for later, left, pid, name in zip(*(found.columns[n] for n in (1, 2, 3, 6)), strict=False):
            at_ns += later
            if at_ns > _LAST_NS:
                raise DamagedError("a time is too large")
            comm = found.comms[name] if name < len(found.comms) else "?"
            self._found.append((at_ns, _SWITCH, cpu, left, signed(pid), comm))

    def _describe(self, start: int, end: int) -> None:
        """Takes the description of an event: a protobuf descriptor, of which names and numbers matter."""
        number, described = 0, (0, 0)
        for field, value, stop in fields(self._data, start, end):
            if field == 1 and stop < 0:
                number = value
            elif field == 2 and stop >= 0:
                described = (value, stop)
        name, inside = "", {}
        for field, value, stop in fields(self._data, *described):
            if field == 1 and stop >= 0:
                name = self._words[self._data[value:stop]]
            elif field == 2 and stop >= 0:
                parts = {f: (v, s) for f, v, s in fields(self._data, value, stop)}
                if 1 in parts and 3 in parts and parts[1][1] >= 0:
                    inside[parts[3][0]] = self._words[self._data[parts[1][0] : parts[1][1]]]
        if number >= _FIRST_DYNAMIC:
            self._described[number] = _Described(name, inside)

    # ---- in the order of time

    def finish(self) -> None:
        """Hands on all events."""
        self._found.sort(key=itemgetter(0))
        arrives = self._events.arrives
        for at_ns, number, cpu, pid, start, end in self._found:
            arrives(at_ns)
            if isinstance(end, str):
                self._switch(at_ns, cpu, pid, start, end)
            elif end:
                self._taken(number, at_ns, cpu, pid, start, end)

    def _switch(self, at_ns: int, cpu: int, left: int, pid: int, name: str) -> None:
        before = self._on_cpu.get(cpu)
        if before is None:
            self._events.scheduling.runs(at_ns, cpu, pid)
        else:
            was, task = before
            self._events.scheduling.switched(at_ns, cpu, task, was, self._states[left], name, pid)
        self._on_cpu[cpu] = (pid, name)
        if pid:
            self.names[pid] = name

    def _taken(self, number: int, at_ns: int, cpu: int, pid: int, start: int, end: int) -> None:
        known = self._plans.get(number)
        if known is None:
            known = self._plans[number] = self._plan(number)
        name, take = known
        task = self.names.get(pid, "<...>")
        if take:
            values = self._values[number, self._data[start:end]]
            take(at_ns, cpu, task, pid, values)
            if name == "sched_switch":
                self._on_cpu[cpu] = (int(values[4]), str(values[3]))
                self.names[int(values[4])] = str(values[3])
            return
        inside = {f: (value, stop) for f, value, stop in fields(self._data, start, end)}
        if described := self._described.get(number):
            shown = [f"{n}={self._shown(inside[f])}" for f, n in described.fields.items() if f in inside]
            self._log(at_ns, f"{task}-{pid} {described.name}: {' '.join(shown)[:400]}")
        else:
            self.others[number] = self.others.get(number, 0) + 1

    def _values_of(self, event: tuple[int, bytes]) -> list[int | str]:
        """The values of an event's field and message. Raises DamagedError."""
        number, body = event
        inside = {f: (value, stop) for f, value, stop in fields(body, 0, len(body))}
        return [self._value(body, turn, inside.get(f)) for turn, f in self._turns[number]]

    def _plan(self, number: int) -> tuple[str, Take | None]:
        """The name of an event that becomes a part of a track, and what takes it; else nothing."""
        name, numbers = _KNOWN.get(number, ("", ()))
        described = self._described.get(number)
        if described and described.name in self._takers:
            by_name = {name: f for f, name in described.fields.items()}
            name = described.name
            numbers = tuple(by_name.get(wanted, 0) for wanted in WANTED[name])
        turns = [None if wanted in TEXTS else _TURNS.get(wanted, int) for wanted in WANTED.get(name, ())]
        self._turns[number] = list(zip(turns, numbers, strict=True))
        return name, self._takers.get(name)

    def _value(self, body: bytes, turn: Turn, found: tuple[int, int] | None) -> int | str:
        if turn is None:
            return self._words[body[found[0] : found[1]]] if found and found[1] >= 0 else ""
        return turn(signed(found[0]) if found and found[1] < 0 else 0)

    def _shown(self, found: tuple[int, int]) -> str:
        value, stop = found
        return str(signed(value)) if stop < 0 else self._words[self._data[value:stop]]


def _small(raw: bytes) -> int:
    """The number in up to eight bytes of seven bits each, the lowest first: neighbours are moved together,
    then pairs, then fours, which takes less than a turn for each byte."""
    value = int.from_bytes(raw, "little") & 0x7F7F7F7F7F7F7F7F
    value = value & 0x007F007F007F007F | (value & 0x7F007F007F007F00) >> 1
    value = value & 0x00003FFF00003FFF | (value & 0x3FFF00003FFF0000) >> 2
    return value & 0x0FFFFFFF | (value & 0x0FFFFFFF00000000) >> 4
