# SPDX-License-Identifier: Apache-2.0
"""trace-cmd's binary files (trace.dat): the same events as in the text of `trace-cmd report`, with stamps
in ns, which the text cuts to microseconds."""

from __future__ import annotations

import heapq
import struct
from collections.abc import Callable, Mapping
from functools import partial

from bootscope.core.errors import UserError
from bootscope.readers.base import Boot, Clock, FormatError, Options, Reader, Reading, Source
from bootscope.readers.drawn_records import DrawnRecords
from bootscope.readers.event_formats import EventFormat, Get, getter, getters, parsed
from bootscope.readers.formats import ftrace
from bootscope.readers.kernel_records import TEXTS, WANTED, Take, device, softirq, state, takers
from bootscope.readers.kernel_symbols import Symbols, formats, tasks
from bootscope.readers.lines import Memo, decode
from bootscope.readers.ring_buffer import Record, records
from bootscope.readers.tally import Tally
from bootscope.readers.timespan import ticks_ns, whole
from bootscope.readers.trace_dat import MAGIC, BrokenError, TraceDat, opened
from bootscope.readers.trace_parts import KERNEL_CLOCKS, TraceParts

NAME = "trace-cmd"
_UPTIME_HZ = 100
_LAST_NS = (1 << 63) - 1
_NO_TASK = "<...>"
_SHOWN_CHARS = 400
_CODE = ("ip", "parent_ip", "call_site", "caller_ip", "func", "function")

Handler = Callable[[int, Record, str, int], bool]
"""Takes a record of one kind: its time in ns, the record, the task and its number."""


class _Trace:
    """Reads the records of one file."""

    def __init__(self, file: TraceDat, tally: Tally, options: Options) -> None:
        self._file, self._tally = file, tally
        self._parts = TraceParts()
        self._takers = takers(self._parts.events)
        self._words: Memo[bytes, str] = Memo(decode)
        self._symbols = Symbols(file.kallsyms)
        self._printed = formats(file.printk)
        self._tasks = tasks(file.cmdlines)
        self._drawn = DrawnRecords(self._parts.graph, self._symbols.name)
        self._boot = Boot(_clock(file, tally, options))
        self._hz = _rate(self._boot.clock, options)
        self._handlers: dict[int, Handler] = {}
        for text in file.formats:
            form = parsed(text)
            if form:
                self._handlers[form.number] = self._handler(form)

    def read(self) -> Boot:
        """All records of all CPUs by their time."""
        kind_of = struct.Struct(self._file.order + "HBBi").unpack_from
        get_handler, get_task, arrives = self._handlers.get, self._tasks.get, self._parts.events.arrives
        unknown: dict[int, int] = {}
        number = 0
        for number, record in enumerate(heapq.merge(*map(records, self._file.buffers)), 1):
            stamp, _cpu, start, end, data = record
            if end - start < 8:
                self._tally.miss(number, "a record without a head")
                continue
            kind, _, _, pid = kind_of(data, start)
            handler = get_handler(kind)
            if handler is None:
                unknown[kind] = unknown.get(kind, 0) + 1
                self._tally.miss(number, f"an event of kind {kind}, which the file does not describe")
                continue
            at_ns = stamp if self._hz is None else ticks_ns(stamp, self._hz)
            if at_ns > _LAST_NS:
                self._tally.miss(number, f"the stamp {stamp} is no time")
                continue
            arrives(at_ns)
            try:
                fits = handler(at_ns, record, get_task(pid, _NO_TASK), pid)
            except (IndexError, struct.error):
                fits = False
            if fits:
                self._tally.understood += 1
            else:
                self._tally.miss(number, "a record that is shorter than its description says")
        return self._finished(number)

    def _finished(self, last: int) -> Boot:
        boot = self._boot
        self._drawn.flush()
        boot.facts["tool"] = self._file.tool
        if self._file.kernel:
            boot.facts["kernel"] = self._file.kernel
        lost = [count for buffer in self._file.buffers for count in buffer.lost]
        if lost:
            known = f", {sum(lost):,} or more" if sum(lost) else ""
            self._tally.repair(f"events were lost while tracing{known}", 1, len(lost))
        if any(buffer.cut for buffer in self._file.buffers):
            self._tally.repair("records that reach behind their page were left out", last)
        self._parts.fill(boot, self._tally)
        return boot

    # ---- what to do with each kind of event

    def _handler(self, form: EventFormat) -> Handler:
        names = WANTED.get(form.name)
        got = getters(form, names, self._file.order, self._words, TEXTS) if names else None
        if names and got:
            turns = self._turns(form)
            ways = [
                _through(get, turns[name]) if name in turns else get
                for get, name in zip(got, names, strict=True)
            ]
            return partial(_known, self._takers[form.name], ways)
        special = {
            "funcgraph_entry": ("func",),
            "funcgraph_exit": ("func",),
            "function": ("ip",),
            "bprint": ("fmt",),
            "bputs": ("str",),
        }.get(form.name, ())
        got = getters(form, special, self._file.order, self._words) if special else None
        if got:
            return self._special(form, got[0])
        own = [(one.name, getter(one, self._file.order, self._words)) for one in form.own]
        shown = [(name, self._named(name, get)) for name, get in own if get]
        return partial(self._logged, form.name, shown)

    def _named(self, field: str, get: Get) -> Get:
        """Shows the fields that hold an address of code as the function there."""
        return _through(get, _remembered(self._symbols.name)) if field in _CODE else get

    def _turns(self, form: EventFormat) -> Mapping[str, Callable[[int], str]]:
        """How the numbers of an event become what WANTED says."""
        if form.name == "sched_switch":
            letters = form.symbols()
            return {"prev_state": _remembered(lambda bits: state(bits, letters) if letters else state(bits))}
        if form.name.startswith("block_rq"):
            return {"dev": _remembered(device)}
        if form.name.startswith("softirq"):
            words = form.symbols()
            return {"vec": _remembered(lambda vec: softirq(vec, words))}
        return {"func": _remembered(self._symbols.name)} if form.name.startswith("initcall") else {}

    def _special(self, form: EventFormat, get: Get) -> Handler:
        if form.name == "function":
            name_of = _remembered(self._symbols.name)
            return lambda at_ns, record, task, pid: self._counted(
                name_of(int(get(record[4], record[2], record[3])))
            )
        if form.name == "funcgraph_entry":
            return partial(self._drawn.entry, get)
        if form.name == "funcgraph_exit":
            times = getters(form, ("calltime", "rettime"), self._file.order, self._words)
            return partial(self._drawn.exit, get, times)
        return partial(self._mark, get)

    def _counted(self, function: str) -> bool:
        self._parts.called(function)
        return True

    def _mark(self, get: Get, at_ns: int, record: Record, _task: str, _pid: int) -> bool:
        address = int(get(record[4], record[2], record[3]))
        self._parts.events.mark(at_ns, self._printed.get(address, f"trace_printk of 0x{address:x}"))
        return True

    def _logged(
        self, name: str, fields: list[tuple[str, Get]], at_ns: int, record: Record, task: str, pid: int
    ) -> bool:
        """An event that becomes a line: its fields by name."""
        _, _, start, end, data = record
        words = " ".join(f"{field}={get(data, start, end)}" for field, get in fields)
        self._boot.log.add(at_ns, f"{task}-{pid} {name}: {words[:_SHOWN_CHARS]}")
        return True


def _known(take: Take, ways: list[Get], at_ns: int, record: Record, task: str, pid: int) -> bool:
    _, cpu, start, end, data = record
    take(at_ns, cpu, task, pid, [get(data, start, end) for get in ways])
    return True


def _through(get: Get, turn: Callable[[int], str]) -> Get:
    return lambda data, start, end: turn(int(get(data, start, end)))


def _remembered(make: Callable[[int], str]) -> Callable[[int], str]:
    known: dict[int, str] = {}

    def remembered(value: int) -> str:
        found = known.get(value)
        if found is None:
            if len(known) > 100_000:
                known.clear()
            found = known[value] = make(value)
        return found

    return remembered


def _clock(file: TraceDat, tally: Tally, options: Options) -> Clock:
    name = options.values.get("trace_clock") or file.clock
    hz = whole(options.values.get("trace_clock_hz", ""), 12)
    if name == "uptime":
        return Clock("kernel", "the kernel's start, in ticks of 10 ms", 1_000_000_000 // _UPTIME_HZ)
    if name in KERNEL_CLOCKS or not name:
        return Clock(
            "kernel", f"the kernel's clock began (trace_clock {name or 'not named, usually local'})", 1
        )
    if hz:
        return Clock("counter", "the counter's zero", max(1, 1_000_000_000 // hz))
    tally.ask(f"stamps count trace_clock {name}: give its rate with trace_clock_hz=HZ")
    return Clock("none", "the file does not name the unit of its stamps", 1)


def _rate(clock: Clock, options: Options) -> int | None:
    """How often the clock counts in a second; None for nanoseconds."""
    if clock.name == "counter":
        return whole(options.values.get("trace_clock_hz", ""), 12)
    return _UPTIME_HZ if "ticks of 10 ms" in clock.zero else None


def _sure(source: Source) -> int:
    return 100 if source.data.startswith(MAGIC) else 0


def _read(source: Source, options: Options) -> Reading:
    if not source.data.startswith(MAGIC):
        raise FormatError(source.name, NAME, 1, "it does not begin as a trace.dat of trace-cmd does")
    try:
        file = opened(source.data)
    except BrokenError as error:
        raise UserError(f"{source.name} cannot be read: {error.message}", hint=REPORT) from error
    if file.text:
        return ftrace.READERS[0].read(Source(source.name, file.text), options)
    tally = Tally()
    if file.broken:
        tally.repair(file.broken, 1)
    boot = _Trace(file, tally, options).read()
    if not tally.understood:
        raise FormatError(source.name, NAME, 1, file.broken or "the file has no events")
    return tally.reading([boot])


REPORT = "trace-cmd report -t FILE > trace.txt writes text that bootscope reads"
READERS = (Reader(NAME, "trace of trace-cmd (trace.dat)", "trace-cmd extract -o trace.dat", _sure, _read),)
