# SPDX-License-Identifier: Apache-2.0
"""A serial console as sigrok's UART decoder read it off a logic analyser: a sample range for each byte.

The best stamps a console can have: no adapter, no driver and no host lies between the pin and the clock.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from bootscope.readers.base import FIRST_BYTE, Clock, FormatError, Options, Reader, Reading, Source
from bootscope.readers.console import Tool, read_console
from bootscope.readers.lines import decode, split
from bootscope.readers.pins import sample_rate_hz
from bootscope.readers.stamp_forms import NS, Form
from bootscope.readers.tally import Tally, sample

NAME = "sigrok-uart"
_ROW = re.compile(rb"(?:(\d{1,18})-(\d{1,18}) )?(uart-\d{1,3}): (.{1,200})", re.DOTALL)
_ESCAPED = re.compile(rb"\[([0-9A-F]{2})\]")
_HEX = re.compile(rb"[0-9A-F]{2}")
_STAMP = rb"(\d{1,10})\.(\d{9}) "


@dataclass
class _Line:
    """A console line: the sample at which its first byte began, and its bytes."""

    first: int
    text: bytearray = field(default_factory=bytearray)


@dataclass(slots=True)
class _Row:
    """A line of the decoder's output: samples from and to, the decoder, and what it says it saw."""

    first: int
    last: int
    decoder: bytes
    said: bytes
    number: int


def sure(source: Source) -> int:
    rows = [_ROW.fullmatch(line) for line in sample(source)]
    share = 97 * sum(r is not None for r in rows) // max(1, len(rows))
    return share if any(r and r[1] for r in rows) else min(share, 60)


def read(source: Source, options: Options) -> Reading:
    lines, tally = split(source.data, once=False), Tally()
    rows = list(_rows(lines, tally))
    if not rows:
        raise FormatError(source.name, NAME, 1, "there is no line of sigrok's UART decoder")
    timed = any(row.last for row in rows)
    if not timed:
        tally.ask("without --protocol-decoder-samplenum the decoder's output has no times")
    rate_hz = sample_rate_hz(options)
    if rate_hz is None and timed:
        tally.ask("the file has no sample rate: give --option samplerate_hz=N; assumed 1 MHz")
    console = sorted(_console(rows, tally), key=lambda line: line.first)
    rate_hz = rate_hz or 1_000_000
    clock = Clock("sample", "the start of the recording", max(1, NS // rate_hz), FIRST_BYTE)
    if not timed:
        clock = Clock("none", "nothing: the bytes have no times", 0)
    reading = _reading(source, console, clock, rate_hz)
    for question in reading.questions:
        tally.ask(question)
    return tally.reading(reading.boots, [*lines.repairs, *reading.repairs])


def _rows(lines: Iterable[str], tally: Tally) -> Iterator[_Row]:
    for number, text in enumerate(lines, 1):
        match = _ROW.fullmatch(text.encode("utf-8", "backslashreplace"))
        if match and int(match[1] or 0) <= int(match[2] or 0):
            yield _Row(int(match[1] or 0), int(match[2] or 0), match[3], match[4], number)
        else:
            tally.line(number, text, understood=False)


def _console(rows: list[_Row], tally: Tally) -> list[_Line]:
    """Lines out of bytes, each decoder's by itself; the decoder's remarks on bits are passed over."""
    longest = max(row.last - row.first for row in rows)
    done: list[_Line] = []
    open_lines: dict[bytes, _Line] = {}
    for row in rows:
        # With all annotations shown there are single bits too, which look like the characters 0 and 1.
        byte = _byte(row.said) if 2 * (row.last - row.first) >= longest else None
        if byte is None and len(row.said) <= 2 and 2 * (row.last - row.first) >= longest:
            tally.miss(row.number, decode(row.said))
            continue
        tally.understood += 1
        if byte is None:
            continue
        line = open_lines.setdefault(row.decoder, _Line(row.first))
        if byte == b"\n":
            done.append(open_lines.pop(row.decoder))
        elif byte != b"\r":
            line.text += byte
    return done + list(open_lines.values())


def _byte(said: bytes) -> bytes | None:
    """The byte of ``U`` or ``[0D]`` (format=ascii) or ``55`` (format=hex)."""
    if len(said) == 1:
        return said
    match = _ESCAPED.fullmatch(said)
    if match or _HEX.fullmatch(said):
        return bytes.fromhex((match[1] if match else said).decode("ascii"))
    return None


def _reading(source: Source, console: list[_Line], clock: Clock, rate_hz: int) -> Reading:
    """The lines read as any console's: with the boots, kernel stamps and initcalls in them."""
    form = Form(NAME, _STAMP, clock)
    stamped = bytearray()
    for line in console:
        at_ns = line.first * NS // rate_hz
        stamped += b"%d.%09d %s\n" % (at_ns // NS, at_ns % NS, bytes(line.text))
    try:
        return read_console(Source(source.name, bytes(stamped)), Options(), Tool(NAME, (form,)), form)
    except FormatError as error:
        raise FormatError(source.name, NAME, 1, "its bytes contain no line of text") from error


READERS = (
    Reader(
        NAME,
        "serial console decoded by sigrok",
        "sigrok-cli -i boot.sr -P uart:rx=D0:baudrate=115200:format=ascii -A uart=rx-data"
        " --protocol-decoder-samplenum",
        sure,
        read,
    ),
)
