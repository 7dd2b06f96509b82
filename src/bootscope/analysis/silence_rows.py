# SPDX-License-Identifier: Apache-2.0
"""The view of silences: when the console was silent, between which lines, and the usual reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bootscope.analysis.consumers import phase_at
from bootscope.analysis.rows import Cell, Column, Rows
from bootscope.analysis.silences import Silence, quiet, silences
from bootscope.core.errors import UserError
from bootscope.core.text import visible
from bootscope.importing.files import Understood
from bootscope.timeline.model import Timeline
from bootscope.timeline.trace import Trace

MOST = 1000
"""The number of silences listed for a boot; the rest are shorter."""
COLUMNS = (
    Column("length_ns", "length ms", "ns"),
    Column("start_ns", "start s", "at"),
    Column("reason", "reason", "text"),
    Column("before", "after the line", "text"),
    Column("after", "before the line", "text"),
    Column("do", "what would help", "text"),
)


def view(timeline: Timeline) -> Rows:
    """The silences of a recording."""
    found = silences(timeline, MOST)
    return _rows("the console", found, lambda ns: phase_at(timeline.phases, ns).name)


def of_heard(u: Understood, number: int, trace: Trace, phase: str | None = None) -> Rows:
    """The silences of an imported boot, or of one of a real board; of one phase if named.

    Raises UserError without a console log that has times.
    """
    found = quiet(u, number, trace, MOST)
    if not found:
        raise UserError("the imported data has no silences", hint="they need a console log with times")
    phases = trace.spans("phase")

    def inside(ns: int) -> str:
        return next((p.name for p in reversed(phases) if p.start_ns <= ns), "")

    wanted = [s for s in found if phase is None or inside(s.start_ns) == phase]
    return _rows(visible(trace.title, 80), wanted, inside)


def _rows(title: str, found: Iterable[Silence], inside: Callable[[int], str]) -> Rows:
    return Rows(
        "silences",
        f"Silences of {title}",
        COLUMNS,
        tuple(_row(silence, inside(silence.start_ns)) for silence in found),
        "longest first; from stamp to stamp",
    )


def _row(silence: Silence, phase: str) -> dict[str, Cell]:
    reason = silence.reason
    return {
        "length_ns": silence.duration_ns,
        "start_ns": silence.start_ns,
        "end_ns": silence.end_ns,
        "phase": phase,
        "kind": reason.kind if reason else None,
        "sure": reason.sure if reason else None,
        "reason": visible(reason.words) if reason else "",
        "before": visible(silence.before),
        "after": visible(silence.after),
        "do": reason.do if reason else "",
        "source": reason.source if reason else "",
    }
