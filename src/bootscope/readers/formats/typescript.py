# SPDX-License-Identifier: Apache-2.0
"""What `script` (util-linux, term-utils/script.c) recorded of a terminal: its output and, in a second file,
when each piece of it came. Both are needed: a folder or an archive of just these two.

Classic: ``0.023 26``, seconds since the piece before and bytes. Advanced: the same behind ``O``; ``I`` is
input, ``S`` a signal, ``H`` says something of the session.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from bootscope.readers.base import FIRST_BYTE, Clock, FormatError, Options, Reader, Reading, Repair, Source
from bootscope.readers.timed_output import read_pieces
from bootscope.readers.timespan import seconds_ns

NAME = "typescript"
_CLOCK = Clock("host", "the start of script", 1_000, FIRST_BYTE)
_BEGIN = b"Script started on "
_END = re.compile(rb"\r?\n?Script done on [^\n]{1,400}\n?\Z")
_ENTRY = re.compile(rb"(?:([OI]) )?(\d{1,10}\.\d{1,9}) (\d{1,12})")
_SIGNAL = re.compile(rb"S (\d{1,10}\.\d{1,9}) .{0,200}")
_FACT = re.compile(rb"H \d{1,10}\.\d{1,9} ([A-Z_]{1,40}) (.{0,4000})")
_LOOKED_AT = 65536


@dataclass
class _Timing:
    """Pieces (ns since the start, bytes, whether it is output) and what is said of the session."""

    pieces: list[tuple[int, int, bool]] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    broken: int = 0

    def take(self, line: bytes, now_ns: int) -> int:
        """Takes in a line; the time after it."""
        if entry := _ENTRY.fullmatch(line):
            now_ns += seconds_ns(entry[2].decode("ascii"))
            self.pieces.append((now_ns, int(entry[3]), entry[1] != b"I"))
        elif signal := _SIGNAL.fullmatch(line):
            now_ns += seconds_ns(signal[1].decode("ascii"))
        elif fact := _FACT.fullmatch(line):
            self.facts[fact[1].decode("ascii")] = fact[2].decode("utf-8", "backslashreplace")
        else:
            self.broken += bool(line.strip())
        return now_ns

    @property
    def mixed(self) -> bool:
        """Whether what was typed stands in the same file as the output (`--log-io`)."""
        return self.facts.get("INPUT_LOG", "-") == self.facts.get("OUTPUT_LOG", "")


def _pair(source: Source) -> tuple[bytes, bytes] | None:
    """The output and its times, of a folder that holds these alone."""
    files = [data for data in source.members.values() if data]
    outputs = [data for data in files if data.startswith(_BEGIN)]
    timings = [data for data in files if _is_timing(data)]
    alone = len(files) == 2 and len(outputs) == len(timings) == 1
    return (outputs[0], timings[0]) if alone else None


def _is_timing(data: bytes) -> bool:
    lines = data[:_LOOKED_AT].splitlines()[:200]
    whole = lines[:-1] if len(data) > _LOOKED_AT else lines
    fit = sum(bool(form.fullmatch(line)) for line in whole for form in (_ENTRY, _SIGNAL, _FACT))
    return bool(whole) and fit * 10 >= len(whole) * 9


def _timing(data: bytes) -> _Timing:
    timing, now_ns = _Timing(), 0
    for line in data.splitlines():
        now_ns = timing.take(line, now_ns)
    return timing


def _pieces(output: bytes, timing: _Timing) -> Iterator[tuple[int, bytes]]:
    """The output's pieces with their times; what the times do not cover came with the last of them."""
    at = last_ns = 0
    for now_ns, size, shown in timing.pieces:
        if not shown and not timing.mixed:
            continue
        if shown:
            yield now_ns, output[at : at + size]
        at, last_ns = at + size, now_ns
    if rest := output[at:]:
        yield last_ns, rest


def sure(source: Source) -> int:
    """How surely it is a folder of the two, of 100."""
    return 97 if _pair(source) else 0


def read(source: Source, options: Options) -> Reading:
    """The output as lines, stamped when their first byte came; FormatError without both files."""
    pair = _pair(source)
    if not pair:
        raise FormatError(source.name, NAME, 1, "it does not hold just a typescript and its times")
    head, _, output = pair[0].partition(b"\n")
    output = _END.sub(b"", output)
    timing = _timing(pair[1])
    reading = read_pieces(source, options, NAME, _CLOCK, _pieces(output, timing))
    told = sum(size for _, size, shown in timing.pieces if shown or timing.mixed)
    if told != len(output):
        what = f"the times are of {told:,} bytes, the typescript has {len(output):,}"
        reading.repairs.append(Repair(what, 1, 1))
    if timing.broken:
        reading.repairs.append(Repair("lines of the times not understood, left out", timing.broken, 1))
    for boot in reading.boots:
        boot.facts["started"] = head[len(_BEGIN) :][:25].decode("utf-8", "backslashreplace")
    return reading


READERS = (
    Reader(
        NAME,
        "script, a typescript and its times (a folder or archive)",
        "script -O boot/typescript -T boot/timing -c 'picocom /dev/ttyUSB0'",
        sure,
        read,
    ),
)
