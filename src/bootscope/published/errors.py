# SPDX-License-Identifier: Apache-2.0
"""The errors of core models against published times, for cores/accuracy.json: the content of
docs/accuracy.md, as data for `show`."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from bootscope.cores.accuracy import SCHEMA, UNPACKING, Accuracy, Compared
from bootscope.published.decompressors import TABLES, Measured, Table, rows

COMMAND = "python tools/accuracy_figures.py"
FITTED = ("am335x-2014", "at91-2014")
"""Tables that figures of their core were fitted to. For other tables, only the constant part of their times
was fitted."""
_PPM = 1_000_000
_US = 1000


def accuracy(measured: Measured) -> Accuracy:
    """Every comparison of a core's model with a published time."""
    found = (compared for table in TABLES for compared in _of_table(table, measured))
    return Accuracy(schema=SCHEMA, command=COMMAND, rows=tuple(found))


def written(measured: Measured) -> bytes:
    """The content of the file with them."""
    return msgspec.json.format(msgspec.json.encode(accuracy(measured)), indent=1) + b"\n"


def _of_table(table: Table, measured: Measured) -> Iterator[Compared]:
    for row in rows(table, measured):
        yield Compared(
            core=table.core,
            kind=UNPACKING,
            table=table.id,
            row=row.name,
            published_us=round(row.published_ms * _US),
            ours_us=round(row.ours_ms * _US),
            error_ppm=round((row.ratio - 1) * _PPM),
            memory_ppm=round(row.memory_ms / row.ours_ms * _PPM),
            fitted=table.id in FITTED,
        )
