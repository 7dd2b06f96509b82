# SPDX-License-Identifier: Apache-2.0
"""Output of a terminal in pieces with their times, as a console's log whose lines have stamps."""

from __future__ import annotations

from collections.abc import Iterable

from bootscope.readers.base import Clock, Options, Reading, Source
from bootscope.readers.console import Tool, read_console
from bootscope.readers.stamp_forms import LATEST_NS, Form

STAMP = rb"(\d{1,10})\.(\d{9}) "
"""What stands before each line that `stamped` gives."""


def stamped(pieces: Iterable[tuple[int, bytes]]) -> bytes:
    """Lines of the pieces (ns, bytes), each behind the time of its first byte; never a time before 0."""
    found = bytearray()
    begins = True
    for at_ns, data in pieces:
        stamp = b"%d.%09d " % divmod(min(max(at_ns, 0), LATEST_NS), 1_000_000_000)
        for line in _lines(data):
            found += (stamp if begins else b"") + line
            begins = line.endswith(b"\n")
    return bytes(found)


def _lines(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return [line for line in lines if line]


def read_pieces(
    source: Source, options: Options, tool: str, clock: Clock, pieces: Iterable[tuple[int, bytes]]
) -> Reading:
    """The reading of a terminal's output; FormatError where there is none."""
    form = Form("", STAMP, clock)
    return read_console(Source(source.name, stamped(pieces)), options, Tool(tool, (form,), loose=True), form)
