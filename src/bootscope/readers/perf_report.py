# SPDX-License-Identifier: Apache-2.0
"""The tables of `perf report --stdio`."""

from __future__ import annotations

import re

from bootscope.readers.base import Boot, Clock, Source
from bootscope.readers.tally import Tally
from bootscope.readers.timespan import whole
from bootscope.timeline.trace import Table

_EVENT = re.compile(r"# Samples: (\S{1,20}) +of events? '([^']{1,200})'")
_COUNT = re.compile(r"# Event count \(approx\.\): (\d{1,18})")
_RULE = re.compile(r"# \.{2,}[ .]*")
_PERCENT = re.compile(r"(\d{1,3})\.(\d\d)%")
_DRAWN = re.compile(r"[ |]{4,}[-|]|[ |]{8,}\S")
_CLOCK_EVENTS = ("cpu-clock", "task-clock")
_GRAPH_HINT = "call graphs in the file are not read: give the output of perf script for call stacks"


def sure_report(source: Source) -> int:
    """Whether a source is a report: it names its columns in a comment."""
    head = source.head
    if not (b"\n# Overhead" in head or b"\n# Children" in head):
        return 0
    return 96 if b"# Event count (approx.)" in head else 60


class Report:
    """Reads the lines of a report; each event has a table of its own."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._event = ""
        self._count = 0
        self._names = ""
        self._cuts: list[tuple[int, int]] = []
        self._columns: tuple[str, ...] = ()
        self._timed = 0  # how many of the columns are shares of a time that is known
        self._rows: list[tuple[str | int | None, ...]] = []
        self._tables: list[Table] = []
        self._drawn = 0

    def take(self, number: int, line: str) -> bool:
        """Reads line `number` (from 1); whether it was understood."""
        if line.startswith("#"):
            self._comment(line)
            return True
        if not self._cuts:
            return False
        if self._row(line):
            return True
        drawn = bool(_DRAWN.match(line))
        if drawn:
            self._drawn += 1
            self._tally.ask(_GRAPH_HINT)
        return drawn

    def finish(self) -> Boot:
        """The tables, as a boot without a clock."""
        self._close()
        boot = Boot(Clock("none", "shares only", 1), tables=self._tables, facts={"tool": "perf report"})
        if self._drawn:
            boot.facts["lines of call graphs, not read"] = str(self._drawn)
        return boot

    def _comment(self, line: str) -> None:
        event, count = _EVENT.match(line), _COUNT.match(line)
        if event:
            self._close()
            self._event, self._count = event[2], 0
        elif count:
            self._count = int(count[1])
        elif _RULE.fullmatch(line):
            self._close()
            self._name_columns(line)
        else:
            self._names = line

    def _cells(self, line: str) -> list[str]:
        ends = [end for _, end in self._cuts[:-1]] + [len(line)]
        starts = [0] + [start for start, _ in self._cuts[1:]]
        return [line[start:end].strip() for start, end in zip(starts, ends, strict=True)]

    def _row(self, line: str) -> bool:
        cells = self._cells(line)
        if not _PERCENT.fullmatch(cells[0]):
            return False
        row: list[str | int | None] = [c if (n := whole(c, 15)) is None else n for c in cells]
        # Shares, with two decimals, of the time that was sampled.
        shares = [match for cell in cells if (match := _PERCENT.fullmatch(cell))][: self._timed]
        row += [self._count * int(share[1] + share[2]) // 10_000 for share in shares]
        row += [None] * (len(self._columns) - len(row))
        self._rows.append(tuple(row))
        return True

    def _name_columns(self, rule: str) -> None:
        """Takes the row of dots under the names of the columns."""
        self._cuts = [m.span() for m in re.finditer(r"\.+", rule)]
        names = self._cells(" " + self._names[1:])
        timed = self._event.partition(":")[0] in _CLOCK_EVENTS and self._count > 0
        shares = [name for name in names if name in ("Overhead", "Children", "Self")] if timed else []
        self._columns = (*names, *(f"{name} ns" for name in shares))
        self._timed = len(shares)

    def _close(self) -> None:
        if self._rows:
            self._tables.append(Table(f"perf report: {self._event}", self._columns, tuple(self._rows)))
        self._rows, self._cuts, self._columns = [], [], ()
