# SPDX-License-Identifier: Apache-2.0
"""perf: samples and events as `perf script` prints them, tables as `perf report --stdio` does."""

from __future__ import annotations

import re
from array import array

from bootscope.readers.base import Boot, Clock, Options, Reader, Reading, Source
from bootscope.readers.kernel_events import KernelEvents
from bootscope.readers.perf_report import Report, sure_report
from bootscope.readers.profile import Profile
from bootscope.readers.tally import Tally, read_one, sample, share
from bootscope.readers.timespan import seconds_ns
from bootscope.readers.trace_event import Event

SCRIPT, REPORT = "perf-script", "perf-report"
_HEAD_CHARS = 300
_SAMPLE = re.compile(
    r" {0,40}(?P<task>\S.{0,31}?) +(?P<pid>-?\d{1,9})(?:/(?P<tid>-?\d{1,9}))? +(?:\[(?P<cpu>\d{1,4})\] +)?"
    r"(?:[\w.#+]{4,9} +)?(?P<at>\d{1,10}\.\d{3,9}): +(?:(?P<period>\d{1,18}) +)?"
    r"(?P<event>[\w.:/=,@-]{1,80}?):(?= |$)"
)
# A task may be called as a number is written, dd: its line goes on with its own number and a time.
_FRAME = re.compile(
    r"\s{1,40}([0-9a-f]{1,16}) "
    r"(?! {0,9}-?\d{1,9}(?:/-?\d{1,9})? +(?:\[\d{1,4}\] +)?\d{1,10}\.\d{3,9}: )(\S.*)"
)
_OFFSET = re.compile(r"\+0x[0-9a-f]{1,16}$")
_FACT = re.compile(r"# (os release|perf version|arch|cpudesc|cmdline) : (.{1,400})")
_MODIFIERS = frozenset("ukhGHIpPSDWebR")
_CLOCK_EVENTS = ("cpu-clock", "task-clock")
_MAX_FRAMES = 1024
_SAMPLE_BYTES = re.compile(
    rb" {0,40}\S.{0,40}? +-?\d{1,9}(?:/\d{1,9})? +(?:\[\d{1,4}\] +)?\d{1,10}\.\d{3,9}: +"
    rb"(?:\d{1,18} +)?[\w.:/=,@-]{1,80}:"
)
_SURE = re.compile(
    _SAMPLE_BYTES.pattern + rb"(?: |\r?$)"
    rb"|\s{1,40}[0-9a-f]{4,16} (?:\S.{0,300}\(.{1,300}\)|\S{1,200})\r?$"
    rb"|# (?:captured on|event :|hostname :)"
)


class _Script:
    """Reads samples with their stacks, and events."""

    def __init__(self, _tally: Tally) -> None:
        self._profile = Profile()
        self._events = KernelEvents()
        self._task = ""
        self._ns: int | None = 0
        self._frames: list[tuple[str, str]] = []
        self._open = self._sampled = False
        self._last: dict[str, int] = {}
        self._gaps = array("q")
        self._boot = Boot(Clock("kernel", "the kernel's clock began (perf's clock)", 1_000))
        self._event_names: dict[str, int] = {}

    def take(self, number: int, line: str) -> bool:
        if not line.strip():
            self._end()
            return False
        if line.startswith("#"):
            self._fact(line)
            return True
        return self._frame(line) or self._sample(line)

    def _fact(self, line: str) -> None:
        fact = _FACT.match(line)
        if fact:
            self._boot.facts.setdefault("kernel" if fact[1] == "os release" else fact[1], fact[2].strip())

    def _frame(self, line: str) -> bool:
        if not self._open:
            return False
        found = _FRAME.match(line)
        if not found:
            return False
        if len(self._frames) < _MAX_FRAMES:
            self._frames.append(_symbol(found[2], found[1]))
        return True

    def _sample(self, line: str) -> bool:
        found = _SAMPLE.match(line[:_HEAD_CHARS])
        if not found:
            return False
        self._end()
        at_ns = seconds_ns(found["at"])
        if len(found["at"].partition(".")[2]) > 6:
            self._boot.clock = Clock("kernel", self._boot.clock.zero, 1)
        name, rest = found["event"], line[found.end() :].strip()
        self._event_names[name] = self._event_names.get(name, 0) + 1
        self._open = True
        if _is_tracepoint(name):
            self._sampled = False
            self._event(found, at_ns, name.rpartition(":")[2], rest)
            return True
        self._sampled, self._task = True, found["task"]
        timed = name.partition(":")[0] in _CLOCK_EVENTS and found["period"]
        self._ns = int(found["period"]) if timed else None
        self._gap(found["cpu"] or f"task {found['tid'] or found['pid']}", at_ns)
        flat = _FRAME.match(" " + rest) if rest else None
        if flat:
            self._frames.append(_symbol(flat[2], flat[1]))
            self._end()
        return True

    def _event(self, found: re.Match[str], at_ns: int, name: str, rest: str) -> None:
        pid = max(0, int(found["tid"] or found["pid"]))
        event = Event(at_ns, int(found["cpu"] or 0), found["task"], pid, name, rest)
        if not self._events.take(event):
            self._boot.log.add(at_ns, f"{event.task}-{pid} {name}: {rest}")

    def _gap(self, where: str, at_ns: int) -> None:
        before = self._last.get(where)
        if before is not None and at_ns > before:
            self._gaps.append(at_ns - before)
        self._last[where] = at_ns

    def _end(self) -> None:
        """A sample is complete."""
        if self._open and self._sampled:
            self._profile.add(self._task, self._frames[::-1], self._ns)
        self._frames = []
        self._open = False

    def finish(self) -> Boot:
        self._end()
        boot = self._boot
        boot.facts["tool"] = "perf script"
        if self._event_names:
            boot.facts["events"] = ", ".join(f"{n} {name}" for name, n in self._event_names.items())
        each_ns = sorted(self._gaps)[len(self._gaps) // 2] if self._gaps else 0
        if self._profile.untimed:
            boot.facts["time of a sample"] = (
                f"{each_ns} ns: the median gap between samples, as events do not count time"
            )
        boot.stacks = self._profile.stacks(each_ns)
        boot.tables = [*self._profile.tables(each_ns), *self._events.tables()]
        boot.tracks = self._events.tracks()
        boot.points = self._events.points
        return boot


def _symbol(text: str, address: str) -> tuple[str, str]:
    """(symbol, object) of a frame such as ``main+0x1c (/bin/work)``."""
    name, dso = text.rstrip(), ""
    if name.endswith(")"):
        cut = name.rfind(" (")
        if cut > 0:
            name, dso = name[:cut], name[cut + 2 : -1]
    name = _OFFSET.sub("", name[-4096:])
    return (f"[unknown] {address}" if name == "[unknown]" and not dso else name), dso


def _is_tracepoint(name: str) -> bool:
    group, colon, rest = name.partition(":")
    return bool(colon and group and rest) and not set(rest) <= _MODIFIERS and "/" not in group


def _sure_script(source: Source) -> int:
    lines = sample(source)
    if not any(_SAMPLE_BYTES.match(line) for line in lines[:60]):
        return 0
    return share(lines, _SURE) * 97 // 100


def _read_script(source: Source, _options: Options) -> Reading:
    return read_one(source, SCRIPT, "output of perf script", _Script)


def _read_report(source: Source, _options: Options) -> Reading:
    return read_one(source, REPORT, "output of perf report", Report)


READERS = (
    Reader(SCRIPT, "samples and events of perf", "perf script", _sure_script, _read_script),
    Reader(REPORT, "tables of perf", "perf report --stdio", sure_report, _read_report),
)
