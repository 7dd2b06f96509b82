# SPDX-License-Identifier: Apache-2.0
"""Puts a logic analyser's capture of a boot on one clock with its console.

The analyser's clock is the reference wherever it shows when power came on: by an edge called `power`, which
is then time zero, or by console lines that it captured too. Otherwise its samples are placed by the times, on
this computer's clock, between which it was started.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from bootscope.boards.pins import POWER, Pins
from bootscope.capture import dating, tap
from bootscope.capture.measured import PinCapture, read_pins
from bootscope.capture.tap import MAGICS, Tap
from bootscope.core.errors import UserError, printable
from bootscope.core.text import seconds
from bootscope.readers.base import Boot, Clock, Log, Reading
from bootscope.readers.fit import LATE, Map, fit
from bootscope.readers.formats import edges
from bootscope.readers.formats.tap import stamp_error_ns
from bootscope.readers.join import File
from bootscope.readers.link import HOST, LINES, SAME_STAMPS, Link, Side, extent, link
from bootscope.readers.markers import split_line
from bootscope.readers.match import Moments
from bootscope.readers.uart import Uart
from bootscope.readers.unpack import MAX_BYTES
from bootscope.timeline.trace import Point, Span

_CRYSTALS_PPM = 100
"""The most by which the clocks of two devices may differ."""
_RESONATOR_PPT = 20_000_000_000
"""The most by which a microcontroller's clock may differ, in 1e-12."""
_STALE_NS = 200_000_000
_TOLERANCE_NS = 1_000_000
_CONSOLE, _PINS = 0, 1


@dataclass(frozen=True)
class Kept:
    """A capture of pins in a boot's folder; without `data` when there is none to read."""

    about: PinCapture | None
    data: bytes
    notes: tuple[str, ...]
    tap: Tap | None = None
    """The capture of the port, if it came from one: with the times of arrival on this computer's clock."""

    @property
    def name(self) -> str:
        """The name of its file."""
        return self.about.file if self.about else ""


@dataclass(frozen=True)
class Together:
    """Both readings, known links, the index of the file whose clock is the reference, and remarks."""

    console: Reading
    pins: Reading
    links: tuple[Link, ...]
    reference: int
    notes: tuple[str, ...]


def kept_pins(folder: Path) -> Kept:
    """The capture of pins in a boot's folder. Never raises: its problems are in its notes."""
    try:
        about = read_pins(folder)
        if about is None:
            return Kept(None, b"", ("the logic analyser's capture is missing",))
        notes = (about.message,) if about.message else ()
        path = folder / Path(about.file).name
        if not about.file:
            return Kept(about, b"", notes)
        if path.stat().st_size > MAX_BYTES:
            return Kept(about, b"", (*notes, f"{path.name} is larger than {MAX_BYTES >> 20} MB: not read"))
        data = path.read_bytes()
        if not data.startswith(MAGICS):
            return Kept(about, data, notes)
        heard = tap.read(data)
        return Kept(about, bytes(heard.data), notes, heard)
    except UserError as error:
        return Kept(None, b"", (f"the logic analyser's capture cannot be read: {error.message}",))
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        why = error.strerror if isinstance(error, OSError) else error
        return Kept(None, b"", (f"the logic analyser's capture cannot be read: {why}",))


def together(console: File, watched: File, pins: Pins, found: Tap, kept: Kept) -> Together:
    """Joins a console, captured as `found`, with the pins that were watched beside it.

    Of several recordings (of an analyser that was restarted) the last one counts.
    """
    return _Together(console, watched, pins, found, kept).done()


class _Together:
    """The work of :func:`together`; times are ns of the host's clock, of the capture, or of the boot."""

    def __init__(self, console: File, watched: File, pins: Pins, found: Tap, kept: Kept) -> None:
        self._notes: list[str] = []
        self._files = console, watched
        self._heard, self._seen = console.reading.boots[0], watched.reading.boots[-1]
        self._pins, self._tap = pins, found
        zero = dating.zero_of(found)
        self._zero_ns, self._half_ns = zero.at_ns, zero.error_ns
        # The earliest and the latest time at which the first sample may have been taken.
        self._first_ns, self._last_ns = 0, 0
        if kept.about:
            self._first_ns = kept.about.started_ns
            self._last_ns = kept.about.seen_ns or kept.about.ended_ns
        if kept.tap:
            self._place(kept.tap)

    def _place(self, kept: Tap) -> None:
        """Puts a port's capture on this computer's clock, by the arrival of each line: never before it was
        written, and seldom much later."""
        way, error_ns = _way(kept)
        self._seen = _moved(self._seen, way, error_ns)
        self._first_ns, self._last_ns = -stamp_error_ns(kept), 0

    def done(self) -> Together:
        exact = replace(
            self._heard, clock=replace(self._heard.clock, resolution_ns=stamp_error_ns(self._tap))
        )
        lines = self._lines(exact)
        power_ns = self._power()
        heard, zero_ns = self._heard, 0
        # The console's clock knows when power came on: an analyser's does so only by an edge or by lines.
        reference = _CONSOLE
        if power_ns is not None:
            heard, zero_ns, reference = exact, power_ns, _PINS
            edge = next(f"{name} {level}" for name, level, title in _edges(self._pins) if title == POWER)
            words = f"power on, the edge {printable(edge)}"
            clock = replace(self._seen.clock, zero=words, at_power=True)
            seen = _from(self._seen, zero_ns, 0, clock, self._pins)
        elif lines:
            zero_ns, reference = lines.map.inverse().at(0), _PINS
            told = self._heard.clock
            clock = replace(self._seen.clock, zero=told.zero, at_power=told.at_power)
            seen = _from(self._seen, zero_ns, lines.error_ns + self._half_ns, clock, self._pins)
        else:
            by_host = self._by_host(0, self._half_ns)
            seen = _named_since(self._seen, by_host.map.inverse().at(0) - by_host.error_ns, self._pins)
        link_ = self._by_host(zero_ns, 0 if power_ns is not None else self._half_ns)
        if lines:
            heard = _without(heard, seen.log)
        console, watched = (f.reading for f in self._files)
        return Together(
            replace(console, boots=[heard]),
            replace(watched, boots=[seen]),
            (lines_of(lines, zero_ns), link_) if lines else (link_,),
            reference,
            tuple(self._notes),
        )

    def _lines(self, heard: Boot) -> Link | None:
        """The map from the capture to the console, by the lines that both have."""
        if not len(self._seen.log):
            return None
        sides = [
            Side(index, 0, file.reader, Moments(boot))
            for index, (file, boot) in enumerate(zip(self._files, (heard, self._seen), strict=True))
        ]
        found = link(*sides)
        return found if isinstance(found, Link) and found.how in (SAME_STAMPS, LINES) else None

    def _power(self) -> int | None:
        """The time of the edge called `power`, if it lies where power may have come on."""
        at_ns = next((p.at_ns for p in self._seen.points if (p.kind, p.name) == ("milestone", POWER)), None)
        if at_ns is None:
            return None
        # Power-on is between the call and its return where those are known, and before the first byte.
        latest_ns = self._zero_ns + self._half_ns
        earliest_ns = self._zero_ns - self._half_ns if self._tap.of("power") else -(1 << 62)
        first_ns, last_ns = max(self._first_ns, earliest_ns - at_ns), min(self._last_ns, latest_ns - at_ns)
        if first_ns > last_ns + _TOLERANCE_NS:
            self._notes.append(
                f"the edge called {POWER}, {seconds(at_ns, 6)} s after the capture began, lies "
                f"{seconds(first_ns - last_ns, 6)} s off the moment of power-on: it is not time zero"
            )
            return None
        self._first_ns, self._last_ns = min(first_ns, last_ns), max(first_ns, last_ns)
        return at_ns

    def _by_host(self, zero_ns: int, extra_ns: int) -> Link:
        """The map from the capture (whose zero is moved to `zero_ns`) to the console, by this computer's
        clock."""
        half_ns = (self._last_ns - self._first_ns) // 2
        begins_ns = self._first_ns + half_ns - self._zero_ns
        low_ns, high_ns = extent(self._seen)
        drift_ns = (high_ns - low_ns) * _CRYSTALS_PPM // 1_000_000
        error_ns = half_ns + drift_ns + max(extra_ns, self._tap.clock_error_ns)
        return Link((_CONSOLE, 0), (_PINS, 0), HOST, Map(0, begins_ns + zero_ns), error_ns)


def _way(kept: Tap) -> tuple[Map, int]:
    """The map from a small analyser's clock to this computer's, and its error."""
    ticks = edges.Ticks()
    pairs: list[tuple[int, int]] = []
    for at_ns, raw in dating.lines(kept, kept.rate):
        line = edges.row(raw.decode("ascii", "replace"))
        told_ns = ticks.ns(line) if line else None
        if ticks.anew:
            pairs.clear()
        if told_ns is not None:
            pairs.append((told_ns, at_ns))
    # What it wrote before listening began arrives at once, and its arrival says nothing about its time.
    opened = next((event.at_ns for event in kept.of("open")), 0)
    pairs = [pair for pair in pairs if pair[1] > opened + _STALE_NS] or pairs
    if not pairs:
        return Map(), 0
    found = fit(pairs, LATE, 1_000)
    if found.credible and abs(found.map.drift_ppt) <= _RESONATOR_PPT:
        return found.map, found.error_ns
    offsets = [at_ns - told_ns for told_ns, at_ns in pairs]
    return Map(0, min(offsets)), max(offsets) - min(offsets)


def _lines(log: Log, wanted: Iterable[int], way: Map) -> Log:
    """The lines of a log that are `wanted`, on the clock to which `way` maps."""
    found = Log()
    for index in wanted:
        found.add(way.at(log.at_ns[index]), log.text(index), kernel_ns=log.kernel_ns[index])
    return found


def _moved(boot: Boot, way: Map, error_ns: int) -> Boot:
    """A boot on another clock, to which `way` maps within `error_ns`."""
    log = _lines(boot.log, range(len(boot.log)), way)
    tracks = [replace(track, spans=tuple(map(way.span, track.spans))) for track in boot.tracks]
    points = [Point(way.at(p.at_ns), p.name, p.kind, p.error_ns + error_ns) for p in boot.points]
    clock = replace(boot.clock, resolution_ns=boot.clock.resolution_ns + error_ns)
    return replace(boot, clock=clock, log=log, tracks=tracks, points=points)


def lines_of(found: Link, zero_ns: int) -> Link:
    """The same link, from a capture whose zero was moved to `zero_ns`."""
    return replace(found, map=Map(0, zero_ns).then(found.map))


def _edges(pins: Pins) -> Iterator[tuple[str, str, str]]:
    """(channel, `high` or `low`, name) of each edge that has a name."""
    for channel, edge in pins.edges.items():
        yield from ((channel, what, name) for what, name in (("high", edge.high), ("low", edge.low)) if name)


def pin_options(pins: Pins, console_rate: int) -> dict[str, str]:
    """The `[pins]` of a board file as the readers' options, which name the channels."""
    edges = ",".join(f"{channel}={level}:{name}" for channel, level, name in _edges(pins))
    values = {"pin": edges} if edges else {}
    if pins.uart:
        uart = Uart(pins.uart.channel, pins.uart.rate or console_rate, pins.uart.inverted)
        values["uart"] = uart.text
    return values


def _from(boot: Boot, zero_ns: int, error_ns: int, clock: Clock, pins: Pins) -> Boot:
    """A boot from `zero_ns` of its recording on, on `clock`; all its times may be off by another
    `error_ns`."""
    since = (index for index, at_ns in enumerate(boot.log.at_ns) if at_ns >= zero_ns)
    log = _lines(boot.log, since, Map())
    tracks = [replace(track, spans=tuple(_cut(track.spans, zero_ns))) for track in boot.tracks]
    points = list(_named_after(boot.points, zero_ns, pins))
    rest = replace(boot, clock=clock, log=log, tracks=tracks, points=points)
    return _moved(rest, Map(zero_ns, 0), error_ns)


def _cut(spans: Iterable[Span], zero_ns: int) -> Iterator[Span]:
    for span in spans:
        if span.end_ns > zero_ns:
            yield Span(max(zero_ns, span.start_ns), span.end_ns, span.name, span.detail)


def _named_after(points: Iterable[Point], zero_ns: int, pins: Pins) -> Iterator[Point]:
    """The points from `zero_ns` on; a name given to an earlier edge goes to the first such edge after
    that."""
    after = [p for p in points if p.at_ns >= zero_ns]
    yield from after
    named = {p.name for p in after if p.kind == "milestone"}
    for channel, level, name in _edges(pins):
        if name not in named:
            edge = f"{channel} {level}"
            found = next((p for p in after if (p.kind, p.name) == ("pin", edge)), None)
            if found:
                yield Point(found.at_ns, name, "milestone", found.error_ns)


def _named_since(boot: Boot, since_ns: int, pins: Pins) -> Boot:
    """A boot whose named edges are the first ones from `since_ns` on: earlier ones belong to the boot
    before."""
    before = [p for p in boot.points if p.at_ns < since_ns and p.kind != "milestone"]
    return replace(boot, points=[*before, *_named_after(boot.points, since_ns, pins)])


def _without(boot: Boot, better: Log) -> Boot:
    """A console's boot without the lines that `better` also has."""
    known = {split_line(text)[1] for _, text in better}
    own = (index for index, (_, text) in enumerate(boot.log) if split_line(text)[1] not in known)
    return replace(boot, log=_lines(boot.log, own, Map()))
