# SPDX-License-Identifier: Apache-2.0
"""What `dp` of EDK2's UEFI shell prints: how long the firmware's phases, drivers and modules took.

The form is that of ShellPkg/DynamicCommand/DpDynamicCommand/Dp.uni. It tells lengths, not when each began:
they are tables. Of the lists of all records (`-A`, `-R`) nothing is read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from bootscope.readers.base import Boot, Clock, Options, Reader, Reading, Source
from bootscope.readers.tally import Tally, read_one, sample
from bootscope.timeline.trace import Table

NAME = "uefi-dp"
_US_NS, _MS_NS = 1_000, 1_000_000
_IDENT = r"(?: {1,8}\d{1,6})?\s*"
_SECTION = re.compile(r"==\[ (.{1,40}) \]=+\s*")
_PHASE = re.compile(r" {0,6}(SEC|PEI|DXE|BDS) {1,2}Phase Duration: {1,12}(\d{1,14}) \((us|ms)\)\s*")
_TIMEOUT = re.compile(r" {0,12}BDS Timeout: {1,12}(\d{1,14}) \(ms\) included in BDS Duration\s*")
_TOTAL = re.compile(r"Total {1,12}Duration: {1,12}(\d{1,14}) \(ms\)\s*")
_HANDLE = re.compile(
    r" {0,4}\d{1,6}: {1,3}\[ {0,2}[0-9A-Fa-f]{1,6}\] {1,50}(\S.{0,60}?) {2,60}(\S{1,31}) {1,12}(\d{1,14})"
    + _IDENT
)
_PEIM = re.compile(
    r" {0,4}\d{1,6}: {1,6}([0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}) {1,4}PEIM {1,12}(\d{1,14})"
    + _IDENT
)
_GENERAL = re.compile(r" {0,4}\d{1,6}: {0,30}(\S.{0,40}?) {1,60}(\S{1,40}) {1,12}(\d{1,14})" + _IDENT)
_CUMULATIVE = re.compile(r" {0,12}(\S{1,31}) {1,12}(\d{1,9}) {1,14}(\d{1,12})(?: {1,14}\d{1,12}){3}\s*")
_AROUND = re.compile(
    r"-{20,140}|Index\b.*|\(Times in microsec\.\).*| +Name +Count .*|DP Build Version: .*"
    r"|System Performance Timer .*|Measurements less than .*|There were .* measurements taken, of which:"
    r"| {0,8}[\d,]{1,12} (?:are|have) .*"
)
_TITLES = {"Drivers by Handle": "Drivers", "PEIMs": "PEI modules", "General": "Other records"}
_CLOCK = Clock("none", "no times of day, only durations", _US_NS)

Row = tuple[str | int | None, ...]


@dataclass
class _Report:
    """The rows of each table, by the section's name."""

    section: str = ""
    phases: list[Row] = field(default_factory=list)
    rows: dict[str, list[Row]] = field(default_factory=dict)

    def take(self, _number: int, line: str) -> bool:
        """Takes in a line; whether it was understood."""
        if section := _SECTION.fullmatch(line):
            self.section = section[1]
            return True
        if len(line) > 300:
            return False
        return bool(_AROUND.fullmatch(line)) or self._phase(line) or self._row(line)

    def _phase(self, line: str) -> bool:
        if phase := _PHASE.fullmatch(line):
            self.phases.append((phase[1], int(phase[2]) * (_US_NS if phase[3] == "us" else _MS_NS)))
        elif timeout := _TIMEOUT.fullmatch(line):
            self.phases.append(("BDS timeout, part of BDS", int(timeout[1]) * _MS_NS))
        elif total := _TOTAL.fullmatch(line):
            self.phases.append(("all", int(total[1]) * _MS_NS))
        return bool(_PHASE.fullmatch(line) or _TIMEOUT.fullmatch(line) or _TOTAL.fullmatch(line))

    def _row(self, line: str) -> bool:
        row: Row | None = None
        if self.section == "Drivers by Handle" and (found := _HANDLE.fullmatch(line)):
            row = (f"{found[1]}: {found[2]}", int(found[3]) * _US_NS)
        elif self.section == "PEIMs" and (found := _PEIM.fullmatch(line)):
            row = (found[1], int(found[2]) * _US_NS)
        elif self.section == "General" and (found := _GENERAL.fullmatch(line)):
            row = (f"{found[1]}: {found[2]}", int(found[3]) * _US_NS)
        elif self.section == "Cumulative" and (found := _CUMULATIVE.fullmatch(line)):
            row = (f"{found[1]} ({found[2]} times)", int(found[3]) * _US_NS)
        if row:
            self.rows.setdefault(self.section, []).append(row)
        return row is not None

    def finish(self) -> Boot:
        """The boot: lengths only."""
        boot = Boot(_CLOCK, facts={"tool": "dp", "firmware": "UEFI"})
        if self.phases:
            boot.tables.append(Table("UEFI's phases", ("phase", "ns"), tuple(self.phases)))
        for section, rows in self.rows.items():
            ranked = sorted(rows, key=lambda row: -int(row[1] or 0))
            title = f"UEFI: {_TITLES.get(section, 'sums')}"
            boot.tables.append(Table(title, ("what", "ns"), tuple(ranked)))
        return boot


def sure(source: Source) -> int:
    """How surely it is dp's output, of 100."""
    if b"==[ " not in source.head:
        return 0
    lines, report = [line.decode("utf-8", "replace").rstrip("\r") for line in sample(source)], _Report()
    fit = sum(report.take(0, line) for line in lines)
    return 96 * fit // len(lines) if report.phases or report.rows else 0


def _start(_tally: Tally) -> _Report:
    return _Report()


def read(source: Source, options: Options) -> Reading:
    """The lengths that dp tells; FormatError for another file."""
    return read_one(source, NAME, "output of dp", _start)


READERS = (Reader(NAME, "times of a UEFI firmware (EDK2's dp)", "dp (in the UEFI shell)", sure, read),)
