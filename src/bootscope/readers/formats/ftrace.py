# SPDX-License-Identifier: Apache-2.0
"""ftrace's text: /sys/kernel/tracing/trace with any tracer, and what trace-cmd report prints."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bootscope.readers.base import Boot, Clock, Options, Reader, Reading, Source
from bootscope.readers.call_graph import GRAPH, PLAIN_GRAPH, SWITCH, length_of
from bootscope.readers.line_blocks import blocks
from bootscope.readers.lines import Lines, Memo, decode, split
from bootscope.readers.tally import Tally, sample, share
from bootscope.readers.timespan import seconds_ns, stamp_ns, ticks_ns, whole
from bootscope.readers.trace_event import Event
from bootscope.readers.trace_parts import KERNEL_CLOCKS, TraceParts

NAME = "ftrace"
_HEAD_CHARS = 200  # of a line, all that the expressions for its beginning see
_EVENT = re.compile(
    r" {0,30}(?P<task>\S.{0,31}?)-(?P<pid>\d{1,9}) +(?:\( *(?:\d{1,9}|-{1,9})\) +)?\[(?P<cpu>\d{1,4})\] +"
    r"(?:(?P<flags>[\w.#+]{4,9}) +)?(?P<at>\d{1,15}(?:\.\d{3,9})?): +"
)
# Any line; the groups are there for an event, or a call with its caller, in plain ASCII, that cannot be of a
# header or anything else. The first is all up to the end of its stamp.
_PLAIN = re.compile(
    rb"( {1,30}([!-,.-<>-~][ -<>-~]{0,31}?)-(\d{1,9}) +(?:\( *(?:\d{1,9}|-{1,9})\) +)?\[(\d{1,4})\] +"
    rb"(?:[\w.#+]{4,9} +)?(\d{1,15})(?:\.(\d{3,9}))?): +"
    rb"(?:(?!funcgraph_)([\w:.-]{1,80}): {1,40}([^\n]*)|([\w.]{1,200}) <-[!-~][^\n]*)\n|[^\n]*\n"
)
_LATENCY = re.compile(
    r" {0,30}(?P<task>\S.{0,31}?)-(?P<pid>\d{1,9}) +(?P<cpu>\d{1,4})(?P<flags>[a-zA-Z.#][\w.#]{2,8}) +"
    r"(?P<us>\d{1,15})us[ +!#*@$]{0,2}: +"
)
_NAMED = re.compile(r"([\w:.-]{1,80}): {0,40}")
_CALLED = re.compile(r"(\S{1,200}) <-(\S{1,200})")
_GRAPH_EVENT = re.compile(
    r"(funcgraph_entry|funcgraph_exit): +(?:[+!#*@$] +)?(?:(\d[\d.]{0,15}) us +)?\|(.*)"
)
_COMMENT = re.compile(r"/\* ([\w:.-]{1,80}): (.*?)(?: \*/)?$")
_TRACER = re.compile(r"# tracer: (\S{1,40})")
_LOST = re.compile(r"CPU:\d+ \[(?:LOST (?:\d+ )?EVENTS|EVENTS DROPPED)\]")
_CLOCK = re.compile(r"trace_clock[=:] ?\[?(\w{2,12})\]?")
_LATENCY_HEAD = re.compile(r"# \S{1,40} latency trace v\S{1,20} on (\S{1,80})")
_QUIET = re.compile(r"#|-{20,}| -{20,}|version = \d|cpus=\d|CPU \d+ is empty|.{0,30}[=<]=+>? \|")
_SURE = re.compile(
    rb"# tracer: |.{0,80}-\d{1,9} +(?:\([ \d-]{1,9}\) +)?\[\d{3,4}\] +"
    rb"(?:[\w.#+]{4,9} +)?\d{1,15}(?:\.\d{3,9})?: +\S"
    rb"|.{0,40}\d{1,4}\).{0,60}\|  +(?:[\w.]{1,80}\(.*\)(?:;| \{)|\})|#|\s*$"
)


class FtraceText:
    """Reads the lines of one file."""

    def __init__(self, tally: Tally, options: Options) -> None:
        self._tally = tally
        self._clock = options.values.get("trace_clock", "")
        self._hz = whole(options.values.get("trace_clock_hz", ""), 12) or 0
        self._words: Memo[bytes, str] = Memo(decode)
        self._numbers: Memo[bytes, int] = Memo(int)
        self._events: Memo[bytes, str] = Memo(lambda name: decode(name).rpartition(":")[2])
        self._lengths: Memo[bytes, int | None] = Memo(lambda us: length_of(us.decode("ascii")))
        self.boots: list[Boot] = []
        self._begin()

    def _begin(self) -> None:
        self._parts = TraceParts()
        self._graph = self._parts.graph
        self._boot = Boot(Clock("none", "", 0))
        self._at_ns: int | None = None
        self._whole = False
        self._relative = False
        self._used = False
        self._unplaced = 0
        self._header = False
        self._drawing = False

    def read(self, lines: Lines) -> None:
        """Reads all lines of a file."""
        number = 1
        for block in blocks(lines.blob):
            number += self._block(number, block)

    def _block(self, first: int, block: bytes) -> int:
        """Reads some lines, of which `first` is the number of the first one; returns how many they are."""
        drawing = self._drawing
        found = (PLAIN_GRAPH if drawing else _PLAIN).findall(block)
        plain = self._plain_drawn if drawing else self._plain
        odd: list[bytes] = []
        for number, fields in enumerate(found, first):
            if fields[0] and self._drawing is drawing and plain(number, fields):
                self._tally.understood += 1
            else:
                odd = odd or block.split(b"\n")
                self.take(number, decode(odd[number - first]))
        return len(found)

    def _plain(self, number: int, fields: Sequence[bytes]) -> bool:
        """An event that `_PLAIN` took apart; no when it may be something else."""
        head, task, pid, cpu, seconds, part, name, text, called = fields
        if not 35 <= len(head) <= _HEAD_CHARS - 30:
            return False
        if len(part) == 6 and len(seconds) < 10:  # nearly all that there are
            at_ns = int(seconds + part) * 1_000
        else:
            at_ns = stamp_ns(seconds + b"." + part) if part else self._ticks_ns(int(seconds))
        if self._at_ns is None or at_ns < self._at_ns or self._header:
            self._now(at_ns, number)
        self._at_ns = at_ns
        if called:
            self._parts.events.arrives(at_ns)
            self._parts.called(self._words[called])
        else:
            event, numbers = self._events[name], self._numbers
            self._pass_on(Event(at_ns, numbers[cpu], self._words[task], numbers[pid], event, decode(text)))
        return True

    def _plain_drawn(self, number: int, fields: Sequence[bytes]) -> bool:
        """A drawn call that `PLAIN_GRAPH` took apart; no when it cannot be taken like that."""
        _, stamp, cpu_text, task, pid, us, name, leaf, closed = fields
        length_ns = self._lengths[us] if us else None
        if leaf and length_ns is None:
            return False
        at_ns = stamp_ns(stamp) if stamp else None
        if at_ns is not None:
            self._now(at_ns, number)
        self._used = True
        cpu = int(cpu_text or 0)
        words, graph = self._words, self._graph
        row = graph.row_of(cpu, words[task], words[pid]) if task else graph.row_of(cpu, None, None)
        graph.arrives(row, at_ns)
        if leaf and length_ns is not None:
            return graph.leaf(row, at_ns, length_ns, words[name])
        if name:
            return graph.open(row, at_ns, words[name])
        graph.close(row, at_ns, length_ns, words[closed] if closed else None)
        return True

    def take(self, number: int, line: str) -> None:
        """Reads line `number` (from 1)."""
        if not line.strip():
            self._tally.empty += 1
        elif self._fits(number, line):
            self._tally.understood += 1
        elif _LOST.match(line):
            self._tally.understood += 1
            self._tally.repair("events were lost while tracing: " + line.strip()[:60], number)
        elif line.startswith(" => ") and self._at_ns is not None:
            self._tally.understood += 1
            self._boot.log.add(self._at_ns, line)
        else:
            self._tally.miss(number, line)

    def _fits(self, number: int, line: str) -> bool:
        """Tries first what the line before was: a file is mostly of one kind."""
        around = line[0] in "#vcC" or "---" in line[:60] or "===" in line[:60]
        if around and self._head(line):
            return True
        if self._drawing:
            return self._drawn(number, line) or self._event(number, line)
        return self._event(number, line) or self._drawn(number, line)

    # ---- what stands around the events

    def _head(self, line: str) -> bool:
        if not _QUIET.match(line[:_HEAD_CHARS]):
            return False
        tracer, latency, clock = _TRACER.match(line), _LATENCY_HEAD.match(line), _CLOCK.search(line[:4096])
        if tracer:
            self._header = self._used
            self._boot.facts.setdefault("tracer", tracer[1])
        if latency:
            self._boot.facts["kernel"] = latency[1]
        if clock:
            self._clock = self._clock or clock[1]
        return True

    def _now(self, at_ns: int, number: int) -> None:
        """Takes the time of the next event; a new header with an earlier time is another boot's."""
        if self._at_ns is not None and at_ns < self._at_ns:
            what = "the clock went back"
            if self._header:
                what = "a second trace with an earlier clock, read as another boot"
                self.finish()
            self._tally.repair(what, number)
        self._header = False
        self._used = True
        self._at_ns = at_ns
        self._parts.events.arrives(at_ns)

    # ---- events

    def _event(self, number: int, line: str) -> bool:
        found = _EVENT.match(line[:_HEAD_CHARS])
        latency = None if found else _LATENCY.match(line[:_HEAD_CHARS])
        match = found or latency
        if not match:
            return False
        if found:
            at_ns = self._stamp(found["at"])
        else:
            self._relative = True
            at_ns = int(match["us"]) * 1_000
        rest = line[match.end() :]
        called, named = _CALLED.match(rest), _NAMED.match(rest)
        if not called and not named:
            return False
        self._drawing = False
        self._now(at_ns, number)
        drawn = _GRAPH_EVENT.match(rest)
        if drawn:
            return self._traced(match, at_ns, drawn)
        if called and not (named and " " in rest[: named.end()]):
            self._parts.called(called[1])
            return True
        assert named  # it is one of both
        name = named[1].rpartition(":")[2]
        event = Event(at_ns, int(match["cpu"]), match["task"], int(match["pid"]), name, rest[named.end() :])
        self._pass_on(event)
        return True

    def _traced(self, match: re.Match[str], at_ns: int, drawn: re.Match[str]) -> bool:
        """A call as trace-cmd prints it, as an event."""
        row = self._graph.row_of(int(match["cpu"]), match["task"], match["pid"])
        return self._graph.take(row, at_ns, length_of(drawn[2]), drawn[3])

    def _pass_on(self, event: Event) -> None:
        if not self._parts.events.take(event):
            text = f"{event.task}-{event.pid} {event.name}: {event.text}"
            self._boot.log.add(event.at_ns, text)

    def _stamp(self, text: str) -> int:
        return seconds_ns(text) if "." in text else self._ticks_ns(int(text))

    def _ticks_ns(self, ticks: int) -> int:
        self._whole = True
        if self._clock == "uptime":
            return ticks_ns(ticks, 100)  # jiffies in USER_HZ
        return ticks_ns(ticks, self._hz) if self._hz else ticks

    # ---- calls drawn by function_graph

    def _drawn(self, number: int, line: str) -> bool:
        switch = SWITCH.match(line[:_HEAD_CHARS]) if " => " in line else None
        if switch:
            self._graph.switch(int(switch[1]), switch[4], switch[5])
            return True
        found = GRAPH.match(line) if "|" in line[:_HEAD_CHARS] else None
        if not found:
            return False
        self._drawing = True
        at_ns = seconds_ns(found["at"]) if found["at"] else None
        if at_ns is not None:
            self._now(at_ns, number)
        self._used = True
        cpu = int(found["cpu"] or 0)
        body = found["body"].strip()
        if body.startswith("/*"):
            return self._comment(found, at_ns, cpu, body)
        row = self._graph.row_of(cpu, found["task"], found["pid"])
        return self._graph.take(row, at_ns, length_of(found["us"]), body)

    def _comment(self, found: re.Match[str], at_ns: int | None, cpu: int, body: str) -> bool:
        event = _COMMENT.match(body)
        if event and at_ns is not None:
            pid = int(found["pid"] or 0)
            self._pass_on(Event(at_ns, cpu, found["task"] or "?", pid, event[1].rpartition(":")[2], event[2]))
        elif event:
            self._unplaced += 1
        return bool(event)

    # ---- what came of it

    def finish(self) -> None:
        """Closes the boot that is being read."""
        boot = self._boot
        boot.clock = self._named_clock()
        boot.facts["tool"] = NAME
        self._parts.fill(boot, self._tally, without_stamp=self._unplaced)
        self.boots.append(boot)
        self._begin()

    def _named_clock(self) -> Clock:
        if self._relative:
            return Clock("kernel", "the first event of the trace", 1_000)
        if self._whole and self._clock == "uptime":
            return Clock("kernel", "the kernel's start, in ticks of 10 ms", 10_000_000)
        if self._whole and not self._hz:
            self._tally.ask(
                "stamps are whole numbers, assumed nanoseconds: give the clock with "
                "trace_clock=uptime, or its rate with trace_clock_hz=HZ"
            )
            return Clock("none", "the file does not name the unit of its stamps", 1)
        if self._whole:
            return Clock("counter", "the counter's zero", max(1, 1_000_000_000 // self._hz))
        if self._at_ns is None:
            return Clock("none", "durations only", 1)
        clock = self._clock if self._clock in KERNEL_CLOCKS else "not named, usually 'local'"
        return Clock("kernel", f"the kernel's clock began (trace_clock {clock})", 1_000)


def _sure(source: Source) -> int:
    lines = sample(source)
    fit = share(lines, _SURE)
    if any(line.startswith(b"# tracer: ") for line in lines):
        return max(95, fit)
    real = [line for line in lines if not line.startswith(b"#")]
    return share(real, _SURE) * 9 // 10 if len(real) > 2 else 0


def _read(source: Source, options: Options) -> Reading:
    lines: Lines = split(source.data)
    tally = Tally()
    trace = FtraceText(tally, options)
    trace.read(lines)
    tally.require(source, NAME, lines, "text of ftrace")
    trace.finish()
    return tally.reading(trace.boots, lines.repairs)


READERS = (Reader(NAME, "trace of the kernel (ftrace)", "cat /sys/kernel/tracing/trace", _sure, _read),)
