# SPDX-License-Identifier: Apache-2.0
"""asciinema's recording of a terminal (asciicast v2 and v3, docs.asciinema.org): a header, then a piece of
output on each line with its time: since the start, or, in v3, since the piece before."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from bootscope.readers.base import FIRST_BYTE, Clock, FormatError, Options, Reader, Reading, Repair, Source
from bootscope.readers.timed_output import read_pieces
from bootscope.readers.timespan import decimal_ns

NAME = "asciicast"
_START = re.compile(rb'\{[^\n]{0,4000}?"version" ?: ?([23])[,}]')
_DIGITS = {2: 6, 3: 3}


@dataclass
class _Cast:
    """The pieces of output, and how many lines are no events."""

    pieces: list[tuple[int, bytes]] = field(default_factory=list)
    broken: int = 0

    def take(self, line: bytes, before_ns: int, *, gaps: bool) -> int:
        """Takes in a line; the time after it."""
        event = _event(line)
        if event is None:
            self.broken += bool(line.strip()) and not line.startswith(b"#")
            return before_ns
        at_ns, kind, text = event
        now_ns = before_ns + at_ns if gaps else at_ns
        if kind == "o":
            self.pieces.append((now_ns, text.encode("utf-8", "backslashreplace")))
        return now_ns


def _event(line: bytes) -> tuple[int, str, str] | None:
    """A line ``[seconds, "o", "text"]``; None for another. Its number is kept exact."""
    if not line.startswith(b"["):
        return None
    try:
        found = json.loads(line.decode("utf-8", "backslashreplace"), parse_float=str, parse_int=str)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list) or len(found) != 3 or not all(isinstance(part, str) for part in found):
        return None
    at_ns = decimal_ns(found[0])
    return (at_ns, found[1], found[2]) if at_ns is not None and at_ns >= 0 else None


def sure(source: Source) -> int:
    """How surely it is such a recording, of 100."""
    head, _, rest = source.head.partition(b"\n")
    first = next((line for line in rest.split(b"\n") if line.startswith(b"[")), b"")
    return 97 if _START.match(head) and _event(first) else 0


def read(source: Source, options: Options) -> Reading:
    """The output as lines, stamped when their first byte came; FormatError for another file."""
    begin = _START.match(source.data)
    if not begin:
        raise FormatError(source.name, NAME, 1, "it has no header of asciicast v2 or v3")
    version, cast, now_ns = int(begin[1]), _Cast(), 0
    for line in source.data.split(b"\n")[1:]:
        now_ns = cast.take(line, now_ns, gaps=version == 3)
    clock = Clock("host", "the start of asciinema", 10 ** (9 - _DIGITS[version]), FIRST_BYTE)
    reading = read_pieces(source, options, NAME, clock, cast.pieces)
    if cast.broken:
        reading.repairs.append(Repair("lines that are no events left out", cast.broken, 1))
    return reading


READERS = (
    Reader(NAME, "recording of asciinema", "asciinema rec -c 'picocom /dev/ttyUSB0' boot.cast", sure, read),
)
