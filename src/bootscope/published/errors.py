# SPDX-License-Identifier: Apache-2.0
"""The errors of core models against published times, for cores/accuracy.json: what docs/accuracy.md shows, as
data for `show`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import msgspec

from bootscope.cores.accuracy import SCHEMA, UNPACKING, Accuracy, Compared
from bootscope.published.decompressors import TABLES, Measured, Row, Table, rows

COMMAND = "python tools/accuracy_figures.py"
FITTED = ("am335x-2014", "at91-2014")
"""Tables that figures of their core were fitted to; all others were held out."""
_PPM = 1_000_000
_US = 1000


def accuracy(measured: Measured) -> Accuracy:
    """Every comparison of a core's model with a published time."""
    found = (compared for table in TABLES for compared in _of_table(table, measured))
    return Accuracy(schema=SCHEMA, command=COMMAND, rows=tuple(found))


def written(measured: Measured) -> bytes:
    """The file of them."""
    return msgspec.json.format(msgspec.json.encode(accuracy(measured)), indent=1) + b"\n"


def _of_table(table: Table, measured: Measured) -> Iterator[Compared]:
    whole = {row.name: row for row in rows(replace(table, against=""), measured)}
    for row in rows(table, measured):
        # A difference of two times is as far off as both of them together.
        work = [whole[row.name], *([whole[table.against]] if table.against else [])]
        yield _compared(table, row, work)


def _compared(table: Table, row: Row, work: list[Row]) -> Compared:
    work_ms = max(each.ours_ms for each in work)
    memory_ms = max(work, key=lambda each: each.ours_ms).memory_ms
    return Compared(
        core=table.core,
        kind=UNPACKING,
        table=table.id,
        row=row.name,
        published_us=round(row.published_ms * _US),
        ours_us=round(row.ours_ms * _US),
        work_us=round(work_ms * _US),
        error_ppm=round((row.ours_ms - row.published_ms) / _base(row, work_ms, table) * _PPM),
        memory_ppm=round(memory_ms / work_ms * _PPM),
        fitted=table.id in FITTED,
    )


def _base(row: Row, work_ms: float, table: Table) -> float:
    """What an error is a part of: the published time, or of a difference the time of the longer work."""
    return work_ms if table.against else row.published_ms
