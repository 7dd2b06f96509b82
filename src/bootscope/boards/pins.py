# SPDX-License-Identifier: Apache-2.0
"""Pins of a real board that a logic analyser watches while it boots: `[pins]` of a board file."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bootscope.core.settings import Setting

POWER = "power"
"""The name of the edge that is time zero: the board's supply."""
DEFAULT_RATE = 115200
TAP = "pins.tap"
"""A port's output is kept in the format of a console's."""
FILE = "{file}"
"""Placeholder in a command for its output file."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,59}")
_CHANNEL = re.compile(r"[^\s,=](?:[^,=\n]{0,58}[^\s,=])?")
_SAMPLERATE = re.compile(r"[0-9]{1,12} ?[kKmMgG]?(?:[hH]z)?")
_KEPT = re.compile(r"pins\.[a-z0-9]{1,8}")


class Edge(Setting, frozen=True):
    """The milestones at a channel's first change to each level; empty for none."""

    high: str = ""
    low: str = ""


class PinConsole(Setting, frozen=True):
    """The channel on the board's transmit line, from which its console is read. `rate`, in baud, is the
    console's by default."""

    channel: str
    rate: int = 0
    inverted: bool = False


class Pins(Setting, frozen=True):
    """The analyser that watches, and the meaning of its channels.

    `driver` (sigrok's name, with `:conn=...` where there are several), `samplerate` and `channels` (all by
    default) make a command of sigrok-cli. `command` is one of your own, a list of words that is run without a
    shell: ``{file}`` in it is replaced by the file to write, and without that its output is kept; a newline
    on its standard input ends it. `file` is the name of the file. `port` is the serial port of one of the
    analysers that come with bootscope, at `rate` baud. A boot begins once something has been written, or
    after `ready_s`.
    """

    driver: str = ""
    samplerate: str = "1m"
    channels: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    port: str = ""
    rate: int = DEFAULT_RATE
    file: str = "pins.vcd"
    ready_s: float = 15.0
    edges: dict[str, Edge] = {}
    uart: PinConsole | None = None


def demands(pins: Pins, console_rate: int) -> Iterator[tuple[str, bool, str]]:
    """(key, whether its value is valid, what is expected there)."""
    one = sum(map(bool, (pins.driver, pins.command, pins.port))) == 1
    yield "pins", one, "one of driver (a sigrok driver, such as fx2lafw), port and command"
    yield "pins.rate", 0 < pins.rate <= 10_000_000, "a line rate in baud"
    yield "pins.samplerate", bool(_SAMPLERATE.fullmatch(pins.samplerate)), 'samples a second, such as "1m"'
    yield "pins.driver", not pins.driver.startswith("-"), "a sigrok driver, such as fx2lafw"
    for channel in (*pins.channels, *pins.edges, *([pins.uart.channel] if pins.uart else [])):
        yield f"pins: channel '{channel}'", bool(_CHANNEL.fullmatch(channel)), "a name without , and ="
    yield "pins.file", bool(_KEPT.fullmatch(pins.file)), "pins. and an ending, such as pins.sr"
    yield "pins.ready_s", 0 <= pins.ready_s <= 300, "0 to 300 seconds"
    names = [name for edge in pins.edges.values() for name in (edge.high, edge.low) if name]
    for name in names:
        yield f"pins.edges: name '{name}'", bool(_NAME.fullmatch(name)), "letters, digits, space, . _ or -"
    yield "pins.edges", len(set(names)) == len(names), "each name once"
    if pins.uart:
        yield "pins.uart.channel", pins.uart.channel not in pins.edges, "no channel that is an edge too"
        rate = pins.uart.rate or console_rate
        yield "pins.uart.rate", 0 < rate <= 50_000_000, "a line rate in baud"


def edge_names(pins: Pins) -> dict[str, tuple[str, int]]:
    """Name -> channel and level, of each named edge."""
    found = ((c, level, name) for c, e in pins.edges.items() for level, name in ((1, e.high), (0, e.low)))
    return {name: (channel, level) for channel, level, name in found if name}


def kept_as(pins: Pins) -> str:
    """The name of the file in a boot's folder."""
    return TAP if pins.port else pins.file
