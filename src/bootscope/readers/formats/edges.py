# SPDX-License-Identifier: Apache-2.0
"""Lines of the little analysers that come with bootscope (native/analyser): one for each edge of a pin.

    bs1 TICKS PIN LEVEL
    bs1 TICKS lost COUNT
    bs1 TICKS state tick_ns=N resolution_ns=N ppm=N wrap=N pins=A,B,... levels=01...

The ticks are those of a microcontroller and begin anew at `wrap`. A state is told at the start and once a
second; ticks that go back in one without a wrap tell that the analyser was started anew.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from bootscope.readers.base import Boot, Clock, Options, Reader, Reading, Source
from bootscope.readers.pins import MAX_CHANNELS, Pin, add_pins, edge_limit
from bootscope.readers.tally import MAX_BOOTS, Tally, sample, share

NAME = "edges"
_LINE = re.compile(
    r"bs1 (\d{1,20}) (?:([A-Za-z0-9]{1,12}) ([01])|lost (\d{1,10})|state (.{1,600}))", re.ASCII
)
_HEAD = re.compile(rb"bs1 \d+ (?:state tick_ns=|lost \d|\w+ [01]$)")
_FACT = re.compile(r"(tick_ns|resolution_ns|ppm|wrap)=(\d{1,20})", re.ASCII)
_PINS = re.compile(r"pins=([A-Za-z0-9,]{1,400}) levels=([01]{1,100})$", re.ASCII)
_LATEST_NS = 1 << 60
_DEFAULT_TICK_NS = 1_000
_DEFAULT_WRAP = 1 << 32


@dataclass(frozen=True, slots=True)
class Row:
    """A line: its ticks, and an edge (`pin`, `level`), a number of edges `lost`, or a state."""

    ticks: int
    pin: str = ""
    level: int = 0
    lost: int = 0
    worth: dict[str, int] | None = None
    """What a state says of the stamps; None for another line."""
    levels: tuple[tuple[str, int], ...] = ()


def row(text: str) -> Row | None:
    """What a line says; None for a damaged one, or another text."""
    match = _LINE.fullmatch(text.strip())
    if not match:
        return None
    ticks, pin, level, lost, state = match.groups()
    if state is None:
        return Row(int(ticks), pin or "", int(level or 0), int(lost or 0))
    pins = _PINS.search(state)
    worth = {key: int(value) for key, value in _FACT.findall(state)}
    names = pins[1].split(",") if pins else []
    if not pins or not worth.get("tick_ns") or len(names) != len(pins[2]) or "" in names:
        return None
    return Row(int(ticks), worth=worth, levels=tuple(zip(names, map(int, pins[2]), strict=True)))


class Ticks:
    """Counts ticks on beyond their wraps, in ns. `anew` says that the last line was of another start."""

    def __init__(self) -> None:
        self._last = self._turns = 0
        self._tick_ns, self._wrap = _DEFAULT_TICK_NS, _DEFAULT_WRAP
        self._slack = 0
        self._begun = self.anew = False

    def ns(self, line: Row) -> int | None:
        """The moment of a line; None for one whose ticks cannot be (damaged in a digit)."""
        self.anew = False
        if line.worth is not None:
            self._tick_ns = line.worth["tick_ns"]
            self._wrap = max(2, line.worth.get("wrap", _DEFAULT_WRAP))
            self._slack = line.worth.get("resolution_ns", 0) // self._tick_ns
        if line.ticks >= self._wrap:
            return None
        if self._begun and line.ticks < self._last:
            back = self._last - line.ticks
            wraps = back > self._wrap // 2
            if back <= self._slack:
                return (self._last + self._turns * self._wrap) * self._tick_ns
            if not wraps and line.worth is None:
                return None
            self.anew = not wraps
            self._turns = self._turns + 1 if wraps else 0
        self._begun, self._last = True, line.ticks
        at_ns = (line.ticks + self._turns * self._wrap) * self._tick_ns
        return at_ns if at_ns < _LATEST_NS else None


@dataclass
class _Recording:
    """What was told since the analyser started."""

    pins: dict[str, Pin] = field(default_factory=dict)
    at_ns: int = 0
    worth: dict[str, int] = field(default_factory=dict)
    lost: int = 0


def sure(source: Source) -> int:
    found = share(sample(source), _HEAD)
    return 98 if found >= 80 else found // 2 if found >= 20 else 0


def read(source: Source, options: Options) -> Reading:
    tally, ticks, recordings = Tally(), Ticks(), [_Recording()]

    def take(number: int, text: str) -> bool:
        line = row(text)
        at_ns = ticks.ns(line) if line else None
        if line is None or at_ns is None:
            return False
        if ticks.anew and len(recordings) < MAX_BOOTS:
            tally.repair("the analyser was restarted, read as a separate recording", number)
            recordings.append(_Recording())
        _take(recordings[-1], line, at_ns, options, tally, number)
        return True

    repairs = tally.lines(source, NAME, "lines of an analyser (bs1 ...)", take, once=False)
    return tally.reading([_boot(each, options, tally) for each in recordings], repairs)


def _take(to: _Recording, line: Row, at_ns: int, options: Options, tally: Tally, number: int) -> None:
    at_ns = to.at_ns = max(to.at_ns, at_ns)
    if line.lost:
        to.lost += line.lost
        tally.repair("edges came faster than the analyser could report them: some are lost", number)
    elif line.pin:
        pin = to.pins.get(line.pin) or _new(to, line.pin, options)
        if pin and pin.level is None:
            pin.set(0, 1 - line.level)
        if pin:
            pin.set(at_ns, line.level)
    elif line.worth is not None:
        to.worth = line.worth
        for name, level in line.levels:
            pin = to.pins.get(name) or _new(to, name, options)
            if pin and pin.level is not None and pin.level != level:
                tally.repair("a pin's level changed without a line: an edge was lost", number)
            if pin:
                pin.set(at_ns, level)


def _new(to: _Recording, name: str, options: Options) -> Pin | None:
    if len(to.pins) >= MAX_CHANNELS:
        return None
    found = to.pins[name] = Pin(name, edge_limit(16), options)
    return found


def _boot(recording: _Recording, options: Options, tally: Tally) -> Boot:
    worth = recording.worth
    resolution_ns = min(_LATEST_NS, max(1, worth.get("resolution_ns", 0), worth.get("tick_ns", 0)))
    if not worth:
        resolution_ns = _DEFAULT_TICK_NS
        tally.ask("the analyser did not report the resolution of its stamps: assumed whole µs")
    boot = Boot(Clock("sample", "the start of the analyser", resolution_ns))
    boot.facts["tool"] = "bootscope's analyser"
    if "ppm" in worth:
        boot.facts["clock"] = f"known to {worth['ppm']} ppm"
    if recording.lost:
        boot.facts["lost"] = f"{recording.lost} edges"
    add_pins(boot, recording.pins.values(), recording.at_ns, options, tally)
    return boot


READERS = (
    Reader(
        NAME,
        "edges from bootscope's Arduino sketch or Pico program",
        "picocom -b 115200 /dev/ttyACM0 > edges.txt",
        sure,
        read,
    ),
)
