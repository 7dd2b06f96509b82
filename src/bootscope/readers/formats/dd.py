# SPDX-License-Identifier: Apache-2.0
"""What `dd` says when it ends, GNU's and BusyBox's: the rate of a device by the size of the reads."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bootscope.readers.base import Boot, Clock, Options, Reader, Reading, Source
from bootscope.readers.tally import Tally, read_one, sample
from bootscope.readers.timespan import decimal_ns
from bootscope.timeline.trace import Table

NAME = "dd"
_SECOND_NS = 1_000_000_000
_RECORDS = re.compile(r"(\d{1,15})\+(\d{1,15}) records (in|out)", re.ASCII)
_COPIED = re.compile(
    r"(\d{1,18}) bytes?(?: \([^()]{1,60}\))? copied, "
    r"(\d{1,12}(?:[.,]\d{1,12})?(?:e[-+]\d{1,2})?) s(?:econds)?, [^/]{1,40}/s",
    re.ASCII,
)
_TRUNCATED = re.compile(r"\d{1,15} truncated records?", re.ASCII)
_ANY = re.compile(
    rb"\r?(?:\d{1,15}\+\d{1,15} records (?:in|out)\s{0,8}$"
    rb"|\d{1,18} bytes?(?: \([^()]{1,60}\))? copied, [\d.,e+-]{1,30} s)"
)
_COLUMNS = ("block bytes", "blocks", "partial blocks", "bytes", "ns", "bytes/s")
_SIZES = 3
"""The least number of block sizes that two figures are fitted to."""
_MOST_BYTES_PER_S = 10**15


@dataclass(slots=True)
class _Run:
    """What one dd said."""

    read: tuple[int, int]
    """Full and partial blocks."""
    written: tuple[int, int] | None = None
    bytes_: int | None = None
    ns: int | None = None

    def block_bytes(self) -> int | None:
        """The size of a block, if only one fits: each partial one has at least a byte, and lacks at least
        one. None too if the blocks that were written are others than those that were read: the bytes are
        those that were written."""
        full, partial = self.read
        if not full or not self.bytes_ or self.written != self.read:
            return None
        least = -(-(self.bytes_ + partial) // (full + partial))
        return least if least == (self.bytes_ - partial) // full else None

    def row(self) -> tuple[int | None, ...]:
        rate = self.bytes_ * _SECOND_NS // self.ns if self.bytes_ is not None and self.ns else None
        return self.block_bytes(), *self.read, self.bytes_, self.ns, rate


class _File:
    def __init__(self, _tally: Tally) -> None:
        self._runs: list[_Run] = []

    def take(self, number: int, line: str) -> bool:
        if len(line) > 400:
            return False
        line = line.strip()
        if found := _RECORDS.fullmatch(line):
            self._records((int(found[1]), int(found[2])), found[3])
        elif found := _COPIED.fullmatch(line):
            self._copied(int(found[1]), found[2])
        else:
            return bool(_TRUNCATED.fullmatch(line))
        return True

    def _records(self, blocks: tuple[int, int], way: str) -> None:
        if way == "in":
            self._runs.append(_Run(blocks))
        elif self._runs and self._runs[-1].written is None:
            self._runs[-1].written = blocks

    def _copied(self, count: int, seconds: str) -> None:
        """Completes the last run. Without a run that waits for it, the line is one of status=progress."""
        if self._runs and self._runs[-1].written is not None and self._runs[-1].bytes_ is None:
            self._runs[-1].bytes_ = count
            self._runs[-1].ns = decimal_ns(seconds.replace(",", "."))

    def finish(self) -> Boot:
        boot = Boot(Clock("none", "durations only", 1_000), facts={"tool": NAME})
        if self._runs:
            rows = tuple(run.row() for run in self._runs)
            boot.tables.append(Table("reads by block size", _COLUMNS, rows))
        if fitted := _fitted(self._runs):
            boot.tables.append(fitted)
        return boot


def _fitted(runs: list[_Run]) -> Table | None:
    """The time of a command and the bandwidth with which the runs would have taken nearly as long.

    Least squares of the deviations relative to each time. None where the runs do not tell both.
    """
    sizes: set[int] = set()
    shares: list[tuple[float, float]] = []
    """Blocks, and bytes, for each nanosecond of a run."""
    for run in runs:
        size = run.block_bytes()
        if size and run.bytes_ and run.ns:
            sizes.add(size)
            shares.append((sum(run.read) / run.ns, run.bytes_ / run.ns))
    if len(sizes) < _SIZES:
        return None
    nn = sum(n * n for n, _ in shares)
    nb = sum(n * b for n, b in shares)
    bb = sum(b * b for _, b in shares)
    n1, b1 = sum(n for n, _ in shares), sum(b for _, b in shares)
    both = nn * bb - nb * nb
    if both <= 1e-9 * nn * bb:
        return None
    command_ns, byte_ns = (n1 * bb - b1 * nb) / both, (b1 * nn - n1 * nb) / both
    # With either at its bound of 0, the sweep does not tell that one.
    if round(command_ns) < 1 or byte_ns * _MOST_BYTES_PER_S <= _SECOND_NS:
        return None
    off = max(abs(n * command_ns + b * byte_ns - 1) for n, b in shares)
    rows = (
        ("command_latency_ns", round(command_ns)),
        ("bandwidth_bytes_per_s", round(_SECOND_NS / byte_ns)),
        ("largest deviation, %", f"{100 * off:.1f}"),
    )
    return Table("as a board profile has it", ("figure", "value"), rows)


def _sure(source: Source) -> int:
    lines = sample(source)
    fit = sum(1 for line in lines if _ANY.match(line))
    if fit < 2 or not any(b" records in" in line for line in lines):
        return 0
    return min(95, 40 + 55 * fit // len(lines)) if fit * 2 >= len(lines) else 5


def _read(source: Source, _options: Options) -> Reading:
    return read_one(source, NAME, "output of dd", _File)


READERS = (Reader(NAME, "rate of a device by block size", "dd bs=SIZE 2>> sweep.txt", _sure, _read),)
