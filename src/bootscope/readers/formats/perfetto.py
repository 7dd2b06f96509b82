# SPDX-License-Identifier: Apache-2.0
"""Perfetto's traces (protobuf): events of the kernel, processes, slices that programs wrote.

A trace is a row of packets, field 1 of the message Trace; field numbers are those of protos/perfetto/trace in
Perfetto's sources: https://perfetto.dev/docs/reference/trace-packet-proto
"""

from __future__ import annotations

from bootscope.core.errors import UserError
from bootscope.readers.base import Boot, Clock, FormatError, Options, Reader, Reading, Source
from bootscope.readers.lines import decode
from bootscope.readers.perfetto_ftrace import FtraceBundles
from bootscope.readers.perfetto_packets import PACKET, is_trace, unpacked
from bootscope.readers.proto_fields import DamagedError, fields
from bootscope.readers.slices import Slices
from bootscope.readers.tally import Tally
from bootscope.readers.trace_parts import TraceParts
from bootscope.timeline.trace import Table

NAME = "perfetto"
_PROCESS, _THREAD = 1, 2
_FTRACE, _PROCESSES, _CLOCKS, _STAMP, _SEQUENCE, _EVENT, _INTERNED = 1, 2, 6, 8, 10, 11, 12
_SYSTEM, _STAMP_CLOCK, _DEFAULTS, _TRACK = 45, 58, 59, 60
_BOOTTIME, _MONOTONIC = 6, 3
_LAST_NS = (1 << 63) - 1
_LONGEST_COMMAND, _LONGEST_NAME = 200, 15


class _Trace:
    """Reads the packets of one trace."""

    def __init__(self, data: bytes, tally: Tally) -> None:
        self._data, self._tally = data, tally
        zero = "the kernel's clock began (BOOTTIME: with the time in suspend)"
        self._boot = Boot(Clock("kernel", zero, 1))
        self._parts = TraceParts()
        self._bundles = FtraceBundles(data, self._parts.events, self._boot.log.add)
        self._slices = Slices(data)
        self._processes: dict[int, tuple[int, str]] = {}
        self._behind_ns = {_BOOTTIME: 0}
        """How much later a clock is to be read for BOOTTIME, by the first snapshot that has both."""
        self._clock_of: dict[int, int] = {}
        self._unplaced: dict[int, int] = {}

    def read(self) -> Boot:
        """All packets."""
        number = 0
        try:
            for number, (field, start, end) in enumerate(fields(self._data, 0, len(self._data)), 1):
                if field != PACKET or end < 0:
                    self._tally.miss(number, "no packet")
                    continue
                try:
                    self._packet(start, end)
                    self._tally.understood += 1
                except DamagedError as error:
                    self._tally.miss(number, f"a packet in which {error}")
        except DamagedError as error:
            self._tally.repair(f"the trace breaks off: {error}", number + 1)
        return self._finished()

    def _packet(self, start: int, end: int) -> None:
        found = {field: (value, stop) for field, value, stop in fields(self._data, start, end)}
        sequence = found.get(_SEQUENCE, (0, -1))[0]
        messages = {field: at for field, at in found.items() if at[1] >= 0}
        if _CLOCKS in messages:
            self._snapshot(*messages[_CLOCKS])
        if _DEFAULTS in messages:
            defaults = {field: value for field, value, _ in fields(self._data, *messages[_DEFAULTS])}
            self._clock_of[sequence] = defaults.get(_STAMP_CLOCK, _BOOTTIME)
        if _INTERNED in messages:
            self._slices.interned(sequence, *messages[_INTERNED])
        if _FTRACE in messages:
            self._bundles.bundle(*messages[_FTRACE])
        if _PROCESSES in messages:
            self._tree(*messages[_PROCESSES])
        if _TRACK in messages:
            self._slices.descriptor(*messages[_TRACK])
        if _SYSTEM in messages:
            self._system(*messages[_SYSTEM])
        if _EVENT in messages:
            own = found.get(_STAMP_CLOCK)
            clock = own[0] if own else self._clock_of.get(sequence, _BOOTTIME)
            self._happened(sequence, clock, found.get(_STAMP, (0, -1))[0], messages[_EVENT])

    def _happened(self, sequence: int, clock: int, stamp: int, place: tuple[int, int]) -> None:
        behind_ns = self._behind_ns.get(clock)
        if behind_ns is None or not 0 <= stamp + behind_ns <= _LAST_NS:
            self._unplaced[clock] = self._unplaced.get(clock, 0) + 1
        else:
            self._slices.event(sequence, stamp + behind_ns, *place)

    def _snapshot(self, start: int, end: int) -> None:
        """Takes the readings of several clocks at one moment."""
        now: dict[int, int] = {}
        for field, value, stop in fields(self._data, start, end):
            if field == 1 and stop >= 0:
                parts = {f: v for f, v, s in fields(self._data, value, stop) if s < 0}
                # Clocks that programs make themselves may count from event to event.
                if 1 in parts and 2 in parts and parts[1] < 64:
                    now[parts[1]] = parts[2]
        if _BOOTTIME in now:
            for clock, reading in now.items():
                self._behind_ns.setdefault(clock, now[_BOOTTIME] - reading)

    def _tree(self, start: int, end: int) -> None:
        """Takes processes and threads that there were."""
        for field, value, stop in fields(self._data, start, end):
            if field not in (_PROCESS, _THREAD) or stop < 0:
                continue
            inside = list(fields(self._data, value, stop))
            numbers = {f: v for f, v, s in inside if s < 0}
            words_in = 3 if field == _PROCESS else 2
            words = [decode(self._data[v:s]) for f, v, s in inside if s >= 0 and f == words_in]
            pid, command = numbers.get(1, 0), " ".join(words)[:_LONGEST_COMMAND]
            if field == _PROCESS:
                self._processes.setdefault(pid, (numbers.get(2, 0), command))
            if command:
                name = words[0].rpartition("/")[2] if words[0].startswith("/") else words[0]
                self._bundles.names.setdefault(pid, name[:_LONGEST_NAME])

    def _system(self, start: int, end: int) -> None:
        for field, value, stop in fields(self._data, start, end):
            if field == 1 and stop >= 0:
                parts = {f: decode(self._data[v:s]) for f, v, s in fields(self._data, value, stop) if s >= 0}
                if 3 in parts:
                    self._boot.facts["kernel"] = parts[3]
            elif field == 4 and stop >= 0:
                self._boot.facts["tool"] = decode(self._data[value:stop])[:100]

    def _finished(self) -> Boot:
        boot, tally = self._boot, self._tally
        try:
            self._bundles.finish()
        except DamagedError as error:
            tally.repair(f"an event in which {error}; those behind it are left out", 1)
        boot.facts.setdefault("tool", "Perfetto")
        self._parts.fill(boot, tally)
        boot.tracks += self._slices.tracks()
        boot.points = [*boot.points, *self._slices.points]
        if self._processes:
            rows = tuple((pid, above, name) for pid, (above, name) in sorted(self._processes.items()))
            boot.tables.append(Table("processes that were seen", ("pid", "parent", "command"), rows))
        if self._bundles.lost:
            tally.repair("events were lost while tracing", 1, self._bundles.lost)
        for what, count in (
            ("values of counters, left out", self._slices.counters),
            ("events of other kinds, left out", sum(self._bundles.others.values())),
            ("slices on a clock that no snapshot relates, left out", sum(self._unplaced.values())),
        ):
            if count:
                boot.facts[what] = str(count)
        return boot


def _sure(source: Source) -> int:
    return 96 if is_trace(source.data) else 0


def _read(source: Source, _options: Options) -> Reading:
    if not source.data.startswith(b"\x0a"):
        raise FormatError(source.name, NAME, 1, "it does not begin with a packet")
    tally = Tally()
    boot = _Trace(unpacked(source.data), tally).read()
    if not tally.understood:
        raise FormatError(source.name, NAME, 1, "it has no packets of a trace")
    if not boot.tracks and not boot.points and not len(boot.log):
        raise UserError(
            f"{source.name} is a Perfetto trace without events of the kernel and without slices",
            hint="record the data source linux.ftrace with sched, irq, block and initcall events",
        )
    return tally.reading([boot])


READERS = (
    Reader(NAME, "trace of Perfetto (protobuf)", "perfetto -c boot.cfg --txt -o boot.pftrace", _sure, _read),
)
