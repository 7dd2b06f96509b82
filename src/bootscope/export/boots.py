# SPDX-License-Identifier: Apache-2.0
"""All boots of a run as one table, for spreadsheets: a row for each boot. Times are whole nanoseconds."""

from __future__ import annotations

from bootscope.export.base import BootRow, Subject
from bootscope.export.csv import cell, written


def make(subject: Subject) -> bytes:
    """The bytes of a .csv file: how each boot ended, then a column for each time that any boot has, in the
    order of the first boot that has it. Cells of times that a boot lacks are empty."""
    boots = subject.boots or (BootRow("", subject.failure, subject.trace.known_milestones()),)
    names = list(dict.fromkeys(name for boot in boots for name in boot.times))
    head = ["boot", "complete", "why", *(f"{cell(name)} ns" for name in names)]
    rows = [
        (cell(b.boot_id), "no" if b.why else "yes", cell(b.why), *(b.times.get(name, "") for name in names))
        for b in boots
    ]
    return written([head, *rows])
