# SPDX-License-Identifier: Apache-2.0
"""Trusted Firmware-A's time stamps (PMF, built with ENABLE_RUNTIME_INSTRUMENTATION=1) on the console."""

from __future__ import annotations

import re

from bootscope.readers.base import Boot, Clock, Options, Reader, Reading, Source
from bootscope.readers.layout import track
from bootscope.readers.tally import Tally, read_one, sample, share
from bootscope.readers.timespan import LAST_NS, ticks_ns, whole
from bootscope.timeline.trace import Point, Span

NAME = "pmf"
_STAMP = re.compile(r"(?:\[[^\]\n]{1,60}\] {0,2})?PMF:cpu (\d{1,6})\s+tid (\d{1,10})\s+ts (\d{1,20})\s*")
_FITS = re.compile(rb"(?:\[[^\]]{1,60}\] {0,2})?PMF:cpu \d{1,6}\s+tid \d{1,10}\s+ts \d{1,20}")
# include/lib/bootmarker_capture.h: even numbers begin what the next odd one ends.
_BOOT_MARKS = {
    0: "BL1 entry",
    1: "BL1 exit",
    2: "BL2 entry",
    3: "BL2 exit",
    4: "BL31 entry",
    5: "BL31 exit",
    6: "BL1 authentication start",
    7: "BL1 authentication end",
    8: "BL2 authentication start",
    9: "BL2 authentication end",
}
_SPANS = {0: "BL1", 2: "BL2", 4: "BL31", 6: "BL1: authentication", 8: "BL2: authentication"}
_RATE = "the counter's rate is not in the file: give cntfrq_hz=HZ (CNTFRQ_EL0, e.g. 24000000)"


class _Stamps:
    def __init__(self, tally: Tally, hz: str) -> None:
        self._tally = tally
        self._hz = whole(hz, 12) or 0
        if hz and whole(hz, 12) is None:
            tally.ask(f"cntfrq_hz is to be a whole number of Hz, not '{hz[:40]}'")
        self._open: dict[tuple[int, int], int] = {}
        self._spans: dict[int, list[Span]] = {}
        self._points: list[Point] = []
        self._last: dict[int, int] = {}

    def take(self, number: int, line: str) -> bool:
        found = _STAMP.fullmatch(line) if len(line) < 200 else None
        if found:
            self._stamp(int(found[1]), int(found[2]), int(found[3]), number)
        return bool(found)

    def _stamp(self, cpu: int, tid: int, ticks: int, number: int) -> None:
        at_ns = ticks_ns(ticks, self._hz) if self._hz else min(ticks, LAST_NS)
        if at_ns < self._last.get(cpu, 0):
            self._tally.repair("the clock went back", number)
        self._last[cpu] = at_ns
        name = _BOOT_MARKS.get(tid, f"stamp {tid:#x}")
        self._points.append(Point(at_ns, f"TF-A: {name}" if cpu == 0 else f"TF-A: {name} (CPU {cpu})"))
        if tid in _SPANS:
            self._open[cpu, tid] = at_ns
        begun = self._open.pop((cpu, tid - 1), None) if tid - 1 in _SPANS else None
        if begun is not None and begun <= at_ns:
            self._spans.setdefault(cpu, []).append(Span(begun, at_ns, _SPANS[tid - 1]))

    def finish(self) -> Boot:
        if self._hz:
            resolution = max(1, 1_000_000_000 // self._hz)
            clock = Clock("counter", "the counter's zero", resolution, counter_id="arm-generic")
        else:
            self._tally.ask(_RATE)
            clock = Clock("none", "ticks of a counter whose rate is not known, not times", 1)
        boot = Boot(clock, points=self._points, facts={"firmware": "Trusted Firmware-A", "tool": "PMF"})
        for cpu, spans in sorted(self._spans.items()):
            title = "TF-A" if cpu == 0 else f"TF-A on CPU {cpu}"
            boot.tracks.append(track(f"tf-a-{cpu}", "phase", title, spans))
        return boot


def _sure(source: Source) -> int:
    lines = sample(source)
    fit = share(lines, _FITS)
    return max(14, fit * 97 // 100) if any(_FITS.match(line) for line in lines) else 0


def _read(source: Source, options: Options) -> Reading:
    hz = options.values.get("cntfrq_hz", "")
    return read_one(source, NAME, "a console with PMF stamps", lambda tally: _Stamps(tally, hz))


READERS = (Reader(NAME, "time stamps of Trusted Firmware-A", "the serial console", _sure, _read),)
