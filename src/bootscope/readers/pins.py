# SPDX-License-Identifier: Apache-2.0
"""Levels of pins over time, as a logic analyser saw them, to tracks and points."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from bootscope.core.errors import UserError, printable
from bootscope.readers.base import FIRST_BYTE, Boot, Options
from bootscope.readers.layout import ordered
from bootscope.readers.lines import decode
from bootscope.readers.markers import split_line
from bootscope.readers.tally import Tally
from bootscope.readers.uart import FEWEST_SAMPLES, NS, Decoder, uart_option
from bootscope.timeline.trace import Point, Span, Track

MAX_EDGES = 100_000
"""Edges of one channel that are kept one by one; a busier channel is summed up."""
MAX_ALL_EDGES = 1_000_000
MAX_CHANNELS = 4096
_PIN_OPTION = "pin"
_SAMPLE_RATE_OPTION = "samplerate_hz"
_NO_DETAIL: Mapping[str, str | int] = {}
_LEVELS = {"high": 1, "1": 1, "low": 0, "0": 0}


class Pin:
    """One channel: fed with levels in the order of time; holds its edges, or their sum when too many.

    One that is a console's line, as the options say, is decoded while it is fed.
    """

    def __init__(self, name: str, limit: int = MAX_EDGES, options: Options | None = None) -> None:
        self.name = name
        uart = uart_option(options) if options else None
        self.decoder = Decoder(uart) if uart and uart.channel == name else None
        self.became_ns: dict[int, int] = {}
        """When it first became each level."""
        self.level: int | None = None
        self.edges = 0
        self.first_ns = self.last_ns = 0
        self.high_ns = 0
        self._limit = limit
        self._since_ns = 0
        self._start: tuple[int, int | None] | None = None
        self._at_ns = array("q")
        self._became = array("b")

    def set(self, at_ns: int, level: int | None) -> None:
        """The level is `level` from `at_ns` on; None for one that is not known (x, z)."""
        if self.decoder:
            self.decoder.set(at_ns, level)
        if self._start is None:
            self._start = (at_ns, level)
            self._since_ns, self.level = at_ns, level
            return
        if level == self.level:
            return
        if self.level == 1:
            self.high_ns += at_ns - self._since_ns
        self._since_ns, self.level = at_ns, level
        if not self.edges:
            self.first_ns = at_ns
        self.last_ns = at_ns
        self.edges += 1
        if level is not None:
            self.became_ns.setdefault(level, at_ns)
        if self.edges <= self._limit:
            self._at_ns.append(at_ns)
            self._became.append(-1 if level is None else level)
        elif self._at_ns:
            del self._at_ns[:], self._became[:]

    @property
    def summed(self) -> bool:
        """Whether there were too many edges to keep each."""
        return self.edges > self._limit

    def changes(self) -> Iterable[tuple[int, int | None]]:
        """(time in ns, level from then on), the first one where recording began; empty when summed."""
        if self._start is None or self.summed:
            return
        yield self._start
        for at_ns, level in zip(self._at_ns, self._became, strict=True):
            yield at_ns, None if level < 0 else level

    def track(self, end_ns: int) -> Track:
        """The spans in which the pin was high, until `end_ns` at most."""
        # Levels may change more than once at one moment.
        return Track(f"pin:{self.name}", "pin", self.name, tuple(ordered(self._spans(end_ns))))

    def _spans(self, end_ns: int) -> Iterable[Span]:
        if self.summed:
            detail = {"edges": self.edges, "high_ns": self.high_ns}
            yield Span(self.first_ns, max(self.last_ns, self.first_ns), "busy", detail)
            return
        since_ns: int | None = None
        for at_ns, level in self.changes():
            if since_ns is not None:
                yield Span(since_ns, at_ns, "high", _NO_DETAIL)
            since_ns = at_ns if level == 1 else None
        if since_ns is not None:
            yield Span(since_ns, max(since_ns, end_ns), "high", _NO_DETAIL)

    def points(self, error_ns: int) -> Iterable[Point]:
        """A point for each edge; where they were summed up, the first and the last."""
        if self.summed:
            yield Point(self.first_ns, f"{self.name} first edge", "pin", error_ns)
            yield Point(self.last_ns, f"{self.name} last edge", "pin", error_ns)
            return
        names = {1: f"{self.name} high", 0: f"{self.name} low", None: f"{self.name} unknown"}
        changes = iter(self.changes())
        next(changes, None)
        for at_ns, level in changes:
            yield Point(at_ns, names[level], "pin", error_ns)


@dataclass(frozen=True, slots=True)
class PinMilestone:
    """A milestone that the user tied to a pin: the first time that `channel` becomes `level`."""

    channel: str
    level: int
    name: str


def not_shown(what: str, names: Sequence[str]) -> str:
    """In words: how many channels of a kind that has no high and low there are, and some names."""
    return f"{len(names)} {what} ({', '.join(printable(name) for name in names[:8])})"


def edge_limit(channels: int) -> int:
    """How many edges of each of that many channels are kept, so that memory stays bounded."""
    return min(MAX_EDGES, max(100, MAX_ALL_EDGES // max(1, channels)))


def pin_milestones(options: Options) -> list[PinMilestone]:
    """What ``pin`` among the options says: ``CHANNEL=high`` or ``CHANNEL=low:NAME``, apart by commas.

    Raises UserError for anything else.
    """
    found = []
    for part in filter(None, (p.strip() for p in options.values.get(_PIN_OPTION, "").split(","))):
        channel, _, rest = part.rpartition("=")
        level, _, name = rest.partition(":")
        if not channel or level not in _LEVELS:
            raise UserError(
                f"pin: '{printable(part)}' is not CHANNEL=high or CHANNEL=low",
                hint="for example --option pin=D0=high:app-ready",
            )
        found.append(PinMilestone(channel, _LEVELS[level], name or f"{channel} {level}"))
    return found


def sample_rate_hz(options: Options) -> int | None:
    """The rate that the user told, in samples a second. Raises UserError when it is not a number."""
    text = options.values.get(_SAMPLE_RATE_OPTION)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and 0 < int(text[:19]) < 10**15):
        raise UserError(f"{_SAMPLE_RATE_OPTION}: '{printable(text)}' is not a number of samples a second")
    return int(text)


def add_pins(boot: Boot, pins: Iterable[Pin], end_ns: int, options: Options, tally: Tally) -> None:
    """Puts tracks, points and milestones of all channels into `boot`, and the lines of a console among them.

    Raises UserError when a milestone or a console is to be at a channel that there is not.
    """
    error_ns = boot.clock.resolution_ns
    wanted, uart = pin_milestones(options), uart_option(options)
    known: dict[str, Pin] = {}
    for number, pin in enumerate(pins):
        if pin.name in known:
            pin.name = f"{pin.name} ({number})"
        known[pin.name] = pin
    asked = [("pin", each.channel) for each in wanted] + ([("uart", uart.channel)] if uart else [])
    for option, name in asked:
        if name not in known:
            names = ", ".join(printable(n) for n in list(known)[:16])
            raise UserError(f"{option}: no channel '{printable(name)}'", hint=f"there are: {names}")
    for pin in known.values():
        if pin.decoder:
            _add_console(boot, pin, pin.decoder, end_ns, tally)
            continue
        boot.tracks.append(pin.track(end_ns))
        boot.points += pin.points(error_ns)
        if pin.summed:
            tally.repair("channel with too many edges to keep each: summed up", 1)
    for each in wanted:
        at_ns = known[each.channel].became_ns.get(each.level)
        if at_ns is None:
            tally.ask(f"pin: {each.channel} never becomes {'high' if each.level else 'low'}")
        else:
            boot.points.append(Point(at_ns, each.name, "milestone", error_ns))


def _add_console(boot: Boot, pin: Pin, decoder: Decoder, end_ns: int, tally: Tally) -> None:
    """The lines that were sent over a pin, in the log and on a track."""
    decoder.finish(end_ns)
    rate = decoder.uart.rate
    spans = []
    for start_ns, stop_ns, raw in decoder.lines():
        text = decode(raw)
        boot.log.add(start_ns, text, kernel_ns=split_line(text)[0])
        if text:
            spans.append(Span(start_ns, stop_ns, text, _NO_DETAIL))
    boot.clock = replace(boot.clock, stamp=FIRST_BYTE)
    boot.facts["console"] = f"{len(decoder.data)} bytes read off {pin.name} at {rate} baud"
    title = f"{pin.name}, a console of {rate} baud"
    boot.tracks.append(Track(f"pin:{pin.name}", "console", title, tuple(spans)))
    if boot.clock.resolution_ns * rate * FEWEST_SAMPLES > NS:
        tally.ask(f"uart: {pin.name} has fewer than {FEWEST_SAMPLES} samples a bit: sample faster")
    if decoder.broken:
        tally.repair(f"{decoder.broken} bytes of the console without a stop bit left out", 1)
    if decoder.broken > len(decoder.data):
        tally.ask(f"uart: {pin.name} is mostly not text at {rate} baud: is the rate right?")
