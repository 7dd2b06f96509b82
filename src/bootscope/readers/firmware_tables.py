# SPDX-License-Identifier: Apache-2.0
"""Reports of firmware inside a console's log: what it measured itself, on its own clock, as tables.

How that clock lies to the log's is not told, so that nothing of it is placed on the log's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise

from bootscope.core.errors import UserError
from bootscope.readers.base import Boot, Log, Options, Reader, Source
from bootscope.readers.formats import bootstage, cbmem, firmware_lines, pmf, uefi_dp
from bootscope.timeline.trace import Table

_LONGEST_REPORT = 400
_MOST_LINES = 10_000


@dataclass(frozen=True, slots=True)
class _Report:
    """A report: what its reader is, and the text by which its first line is found, or, without `block`, each
    of its lines."""

    reader: Reader
    sign: bytes
    title: str
    block: bool = True


_SLIM, _TRACKER = firmware_lines.READERS
_REPORTS = (
    _Report(bootstage.READERS[0], b"Timer summary in microseconds (", "U-Boot's stages (bootstage)"),
    _Report(cbmem.READERS[0], b" entries total:", "coreboot's stages (cbmem)"),
    _Report(_SLIM, b"| Delta (ms) | Description", "Slim Bootloader's stages"),
    _Report(uefi_dp.READERS[0], b"==[ Major Phases ]==", "UEFI's own times (dp)"),
    _Report(pmf.READERS[0], b"PMF:cpu ", "TF-A's stages (PMF)", block=False),
    _Report(_TRACKER, b"[BOOT TRACKER]", "Stages of TI's boot tracker", block=False),
)
SIGNS = tuple(report.sign for report in _REPORTS)
"""The texts by which a log's lines are looked for."""


def tables(log: Log, options: Options) -> Iterator[Table]:
    """A table for each kind of report in a log, the last one where there are several."""
    for report in _REPORTS:
        text = b"\n".join(_lines(log, report))
        boot = _boot(report.reader, text, options) if text else None
        if boot:
            yield from _tables(report.title, boot)


def _lines(log: Log, report: _Report) -> Iterator[bytes]:
    found = islice(log.lines_with(report.sign), _MOST_LINES)
    if not report.block:
        yield from map(log.raw, found)
        return
    last = max(found, default=-1)
    if last >= 0:
        yield from map(log.raw, range(last, min(last + _LONGEST_REPORT, len(log))))


def _boot(reader: Reader, text: bytes, options: Options) -> Boot | None:
    try:
        boots = reader.read(Source("console", text + b"\n"), options).boots
    except UserError:
        return None
    return boots[-1] if boots else None


def _tables(title: str, boot: Boot) -> Iterator[Table]:
    marks = [(p.at_ns, p.name) for p in boot.points]
    ticks = boot.clock.name == "none"
    clock = "in ticks (--option cntfrq_hz=HZ makes them times)" if ticks else "on the firmware's own clock"
    columns = (
        ("stage", "at, ticks", "since before, ticks") if ticks else ("stage", "at_ns", "since before_ns")
    )
    before = [None, *(later - earlier for (earlier, _), (later, _) in pairwise(marks))]
    rows = tuple((name, at, gap) for (at, name), gap in zip(marks, before, strict=False))
    if rows:
        yield Table(f"{title}, {clock}", columns, rows)
    for table in boot.tables:
        yield Table(f"{title}: {table.title}", table.columns, table.rows)
