# SPDX-License-Identifier: Apache-2.0
"""systemd's units of an imported boot, and the chain in which they came after each other."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bootscope.analysis.rows import Cell, Column, Rows
from bootscope.core.errors import UserError
from bootscope.core.text import visible
from bootscope.readers.systemd_units import CHAIN_TITLE, LAST_BEFORE, WAITS_FOR
from bootscope.timeline.trace import Span, Trace

UNITS = (
    Column("what", "unit", "text"),
    Column("kind", "kind", "text"),
    Column("start_ns", "start s", "at"),
    Column("ready_ns", "active s", "at"),
    Column("total_ns", "took ms", "ns"),
    Column("waited_for", "waited for", "text"),
    Column("wait_ns", "wait ms", "ns"),
)
CHAIN = (
    Column("what", "unit", "text"),
    Column("gap_ns", "gap ms", "ns"),
    Column("start_ns", "start s", "at"),
    Column("ready_ns", "active s", "at"),
    Column("total_ns", "took ms", "ns"),
)
TOLD = (
    Column("what", "unit", "text"),
    Column("start_ns", "start s", "at"),
    Column("total_ns", "took ms", "ns"),
)
_KINDS = re.compile(r"\.(service|socket|device|mount|automount|swap|target|path|timer|slice|scope)$")
_TARGETS = ("graphical.target", "multi-user.target", "default.target")


def units(trace: Trace) -> Rows:
    """Each unit that was started, the longest first. Raises UserError where the logs tell of none."""
    rows = list(_units(trace))
    if not rows:
        raise UserError(
            "the imported data has no units of systemd",
            hint="import the output of: systemctl show '*', or: systemd-analyze plot",
        )
    rows.sort(key=lambda row: (-int(row["total_ns"] or 0), str(row["what"])))
    return Rows("units", f"Units of {visible(trace.title, 80)}", UNITS, tuple(rows), "longest first")


def chain(trace: Trace) -> Rows:
    """What the default target, or else the last unit, came after, back to where the logs do not tell more;
    in order of time. A long gap before a unit says that something else was waited for.

    By systemd's own chain where only that is known. Raises UserError where neither is.
    """
    known = {str(row["what"]): row for row in _units(trace)}
    title = f"Critical chain of {visible(trace.title, 80)}"
    if any(row["after"] for row in known.values()):
        rows = _walked(known)
        note = "each unit is ordered after the one above it (After=), the last of those that was active"
        return Rows("critical-path", title, CHAIN, tuple(rows), "in order of time", (note,))
    told = next((t for t in trace.tables if t.title.startswith(CHAIN_TITLE)), None)
    if not told:
        raise UserError(
            "the imported data does not tell which unit waited for which",
            hint="import the output of: systemctl show '*', or: systemd-analyze critical-chain",
        )
    begins_ns = next((p.at_ns for p in trace.points if p.name == "systemd"), 0)
    listed = [
        {"what": name, "start_ns": None if at is None else begins_ns + int(at), "total_ns": took}
        for _depth, name, at, took in reversed(told.rows)
    ]
    note = "systemd's own chain: the order of units, which need not be the cause of a wait"
    return Rows("critical-path", title, TOLD, tuple(listed), "in order of time", (note,))


def _units(trace: Trace) -> Iterator[dict[str, Cell]]:
    waits = {t.parent: t.spans[0] for t in trace.tracks if t.kind == "wait" and t.parent and t.spans}
    for track in trace.tracks:
        kind = _KINDS.search(track.title)
        starting = next((s for s in track.spans if s.name == "starting"), None)
        if track.kind != "service" or not kind or not starting:
            continue
        wait: Span | None = waits.get(track.ident)
        yield {
            "what": track.title,
            "kind": kind[1],
            "start_ns": starting.start_ns,
            "ready_ns": starting.end_ns,
            "total_ns": starting.duration_ns,
            "waited_for": str(wait.detail.get(WAITS_FOR, "")) if wait else "",
            "wait_ns": wait.duration_ns if wait else None,
            "after": str(starting.detail.get(LAST_BEFORE, "")),
        }


def _walked(known: dict[str, dict[str, Cell]]) -> list[dict[str, Cell]]:
    """From the default target, or the unit that was active last, back along the order."""
    last = max(known, key=lambda name: int(known[name]["ready_ns"] or 0))
    name = next((target for target in _TARGETS if target in known), last)
    path: list[dict[str, Cell]] = []
    left = dict(known)
    while name in left:
        row = left.pop(name)
        name = str(row["after"])
        ready_ns = known[name]["ready_ns"] if name in known else None
        gap_ns = None if ready_ns is None else int(row["start_ns"] or 0) - int(ready_ns)
        path.append({**row, "gap_ns": gap_ns})
    return path[::-1]
