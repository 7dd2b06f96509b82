# SPDX-License-Identifier: Apache-2.0
"""All boots of a run as one table, for spreadsheets: a row for each boot. Times are whole nanoseconds."""

from __future__ import annotations

import csv
import io

from bootscope.export.base import BootRow, Exporter, Subject
from bootscope.export.csv import cell

_FIRST = ("boot", "complete", "why")


def make(subject: Subject) -> bytes:
    """The bytes of a .csv file: how each boot ended, then a column for each time that any boot has, in the
    order of the first boot that has it. Empty where a boot does not have it."""
    rows = subject.boots or (BootRow("", subject.failure, subject.trace.milestones()),)
    names = list(dict.fromkeys(name for row in rows for name in row.times))
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([*_FIRST, *(f"{cell(name)} ns" for name in names)])
    for row in rows:
        times = [row.times.get(name, "") for name in names]
        writer.writerow([cell(row.boot_id), "no" if row.why else "yes", cell(row.why), *times])
    return out.getvalue().encode()


EXPORTER = Exporter(
    name="boots",
    title="table of all boots of a run",
    opened_by="spreadsheets, pandas, R",
    suffixes=(".boots.csv",),
    make=make,
    whole_run=True,
)
