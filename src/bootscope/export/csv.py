# SPDX-License-Identifier: Apache-2.0
"""One table of all spans and points, for spreadsheets. Times are whole nanoseconds."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping

from bootscope.export.base import Subject
from bootscope.export.text import MAX_KEY, plain
from bootscope.timeline.trace import Trace

COLUMNS = (
    "record", "kind", "track", "under", "name", "start_ns", "end_ns", "duration_ns", "error_ns", "detail",
)  # fmt: skip
_FORMULA = "=+-@\t\r"


def cell(text: str) -> str:
    """Text that no spreadsheet takes for a formula: one that looks like a formula gets an apostrophe."""
    shown = plain(text)
    return f"'{shown}" if shown.lstrip()[:1] in tuple(_FORMULA) else shown


def _detail(detail: Mapping[str, str | int]) -> str:
    return cell("; ".join(f"{plain(k, MAX_KEY)}={plain(str(v))}" for k, v in detail.items()))


def rows(trace: Trace) -> Iterator[tuple[str | int, ...]]:
    """The rows below the header: spans track by track, then points by time."""
    titles = {track.ident: track.title for track in trace.tracks}
    for track in trace.tracks:
        where = (cell(track.kind), cell(track.title), cell(titles.get(track.parent, "")))
        for s in track.spans:
            times = (s.start_ns, s.end_ns, s.end_ns - s.start_ns)
            yield ("span", *where, cell(s.name), *times, "", _detail(s.detail))
    for p in sorted(trace.points, key=lambda point: point.at_ns):
        kind, error = cell(p.kind), p.error_ns or ""
        yield ("point", kind, "", "", cell(p.name), p.at_ns, p.at_ns, 0, error, "")


def written(found: Iterable[Iterable[str | int]]) -> bytes:
    """Rows as the bytes of a .csv file (UTF-8, line ends as in RFC 4180)."""
    out = io.StringIO()
    csv.writer(out).writerows(found)
    return out.getvalue().encode()


def make(subject: Subject) -> bytes:
    """The bytes of a .csv file."""
    return written([COLUMNS, *rows(subject.trace)])
