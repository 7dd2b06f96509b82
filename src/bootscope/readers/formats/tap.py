# SPDX-License-Identifier: Apache-2.0
"""bootscope's own captures of a real board's console (capture/tap.py)."""

from __future__ import annotations

from bootscope.capture import dating, tap
from bootscope.capture.offset import Offset
from bootscope.core.errors import UserError
from bootscope.readers.base import (
    FIRST_BYTE,
    Boot,
    Clock,
    FormatError,
    Options,
    Reader,
    Reading,
    Repair,
    Source,
)
from bootscope.readers.markers import split_line
from bootscope.timeline.trace import Point

EARLY = "early"
"""The fact that says what was left out, being of an earlier time."""
LISTENED = "listened"
"""The fact that says where and how, where that is not this computer."""
_HELD_NS = {"ftdi_sio": 1_000_000, "cdc_acm": 1_000_000}
"""What an adapter keeps bytes back for at most, by its driver: a frame of USB."""
NETWORK_NS = 10_000_000
"""How late a serial server hands over a line: it gathers bytes before it sends them. Of lines of 60 bytes
through ser2net on the same computer the middle one came after 3.4 ms, and 95 of 100 within 5 to 10 ms
(benchmarks/serial_server.py, a few runs). A network between comes on top, and is not known."""


def stamp_error_ns(found: tap.Tap) -> int:
    """By how much the moment of a byte may be off, from what is known of the adapter or the server, the
    process that listened, and the line."""
    facts = found.opened
    timer = facts.get("latency_timer_ms")
    held = timer * 1_000_000 if isinstance(timer, int) else _HELD_NS.get(str(facts.get("driver")), 0)
    late = facts.get("late_99_ns")
    held += NETWORK_NS if over_network(found) else 0
    return held + (late if isinstance(late, int) and late > 0 else 0) + dating.byte_ns(found.rate)


def over_network(found: tap.Tap) -> bool:
    """Whether a server of the network was listened to, and not a port."""
    source = found.opened.get("source")
    return isinstance(source, list) and source[:1] == ["tcp"]


def _sure(source: Source) -> int:
    return 100 if source.data.startswith(tap.MAGICS) else 0


def _read(source: Source, options: Options) -> Reading:
    try:
        found = tap.read(source.data)
    except UserError as error:
        raise FormatError(source.name, "tap", 1, error.message) from error
    zero = dating.zero_of(found)
    zero_ns, error_ns = zero.at_ns, max(1, stamp_error_ns(found) + zero.error_ns)
    boot = Boot(Clock("host", zero.words, error_ns, FIRST_BYTE, at_power=zero.at_power, delay_known=True))
    empty = 0
    for at_ns, line in dating.lines(found, found.rate):
        text = line.decode("utf-8", "backslashreplace")
        empty += not text
        boot.log.add(max(0, at_ns - zero_ns), text, kernel_ns=split_line(text)[0])
    boot.points += [
        Point(max(0, event.at_ns - zero_ns), f"console {event.name}", "event", error_ns)
        for event in found.events
        if event.name in ("lost", "back")
    ]
    boot.facts.update(_facts(found))
    if found.early:
        boot.facts[EARLY] = f"{found.early:,} bytes from before power-on"
    total = len(boot.log)
    repairs = [] if found.whole else [Repair("the capture is truncated", 1, total)]
    lost = len(found.of("lost"))
    if lost:
        repairs.append(Repair("the port vanished during the capture; bytes may be missing", lost, 1))
    return Reading([boot], total, total - empty, empty, [], repairs)


def _facts(found: tap.Tap) -> dict[str, str]:
    names = {"rate": "line rate", "driver": "serial driver", "latency_timer_ms": "latency timer in ms"}
    names |= {"low_latency": "low latency", "priority": "priority of the listener"}
    told = {words: str(found.opened[name]) for name, words in names.items() if name in found.opened}
    told = {"tool": "bootscope", **told}
    refused = [str(event.facts["refused"]) for event in found.of("tapped") if "refused" in event.facts]
    if found.host:
        told[LISTENED] = f"on {found.host}" + (
            f", whose clock is {_clock(found.clock)}" if found.clock else ""
        )
    elif refused:
        told[LISTENED] = f"over the network: {refused[0]}"
    return told


def _clock(clock: Offset) -> str:
    """How well the clock of the computer that listened is known, in words."""
    error, shortest, moved = (
        f"{ns / 1e6:.3f} ms" for ns in (clock.error_ns, clock.shortest_ns, clock.moved_ns)
    )
    return f"known to ±{error} ({clock.trips} round trips, the shortest of {shortest}; it moved by {moved})"


READERS = (
    Reader(
        "tap",
        "bootscope's capture of a console",
        "bootscope record --board serial:/dev/ttyUSB0",
        _sure,
        _read,
    ),
)
