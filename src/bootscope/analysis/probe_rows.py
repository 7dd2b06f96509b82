# SPDX-License-Identifier: Apache-2.0
"""Functions named by the user (`record --probe`): all their calls, with exact entry and return."""

from __future__ import annotations

from collections.abc import Iterator

from bootscope.analysis.call_pairs import pairs
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.kernel_activity import Call
from bootscope.analysis.rows import Cell, Column, Rows
from bootscope.capture.record import PROBED, RETURNED
from bootscope.core.errors import UserError

SUMS = (
    Column("what", "function", "text"),
    Column("times", "calls", "count"),
    Column("total_ns", "total ms", "ns"),
    Column("cpu_ns", "CPU", "ns"),
    Column("console_ns", "console", "ns"),
    Column("storage_ns", "storage", "ns"),
    Column("longest_ns", "longest", "ns"),
    Column("start_ns", "first s", "at"),
)
CALLS = (
    Column("start_ns", "start s", "at"),
    Column("what", "function", "text"),
    Column("total_ns", "length ms", "ns"),
    Column("cpu_ns", "CPU", "ns"),
    Column("task", "in", "text"),
    Column("caller", "called by", "text"),
    Column("arguments", "arguments", "text"),
    Column("result", "returned", "text"),
)
_OPEN, _IN_KERNEL = "not returned", "kernel:"


def calls(evidence: Evidence) -> tuple[tuple[Call, tuple[int, ...]], ...]:
    """(call, its arguments) of every call, by start. `text` is PROGRAM:FUNCTION; `open`: it did not return
    before the recording ended or the next program took over."""
    found = pairs(evidence, PROBED, takes_caller=True)
    for call, _ in found:
        # Another program has taken over where a boot loader's phase ends.
        if call.open and not call.text.startswith(_IN_KERNEL):
            phases = reversed(evidence.timeline.phases)
            call.end_ns = next(p.end_ns for p in phases if p.start_ns <= call.start_ns)
            call.last = max(call.first, evidence.index_at(call.end_ns))
    return found


def view(evidence: Evidence, phase: str | None = None) -> tuple[Rows, Rows]:
    """The functions, and each of their calls. Raises UserError for a recording without probed functions."""
    if not any(name.startswith(PROBED) for name in evidence.run.watch.hooks.values()):
        raise UserError(
            "no function was probed in this recording",
            hint="bootscope record SYSTEM --probe SYMBOL",
        )
    rows = [_row(call, arguments, evidence) for call, arguments in calls(evidence)]
    rows = [row for row in rows if phase is None or row["phase"] == phase]
    sums = Rows(
        "probes",
        "Probed functions",
        SUMS,
        tuple(_sums(rows, evidence)),
        "longest first",
        ("A call within another call of the same function is counted once, in the outer one.",),
    )
    each = Rows(
        "calls", "Their calls", CALLS, tuple(rows), "in order of time", weight="total_ns", notes=_notes(rows)
    )
    return sums, each


def _notes(rows: list[dict[str, Cell]]) -> tuple[str, ...]:
    left = sum(row["result"] == _OPEN for row in rows)
    until = "their length is up to the end of the recording, or of their boot loader"
    return (f"{left} did not return: {until}.",) if left else ()


def _row(call: Call, arguments: tuple[int, ...], evidence: Evidence) -> dict[str, Cell]:
    spent = evidence.ledger.of_call(call)
    phase = evidence.phase_at(call.start_ns)
    caller = evidence.names.name(phase, evidence.arch.call_before(call.caller))
    return {
        "what": call.text,
        "phase": phase,
        "start_ns": call.start_ns,
        "end_ns": call.end_ns,
        "total_ns": call.end_ns - call.start_ns,
        "cpu_ns": spent.cpu_ns,
        "console_ns": spent.console_ns,
        "storage_ns": spent.storage_ns,
        "task": evidence.who(call.task, call.start_ns),
        "caller": caller.partition(" ")[2] or caller,
        "arguments": " ".join(map(hex, arguments)),
        "result": _OPEN if call.open else hex(call.result),
    }


def _sums(rows: list[dict[str, Cell]], evidence: Evidence) -> Iterator[dict[str, Cell]]:
    """A row for each function, including those never called."""
    names = (
        name.removeprefix(PROBED) for name in evidence.run.watch.hooks.values() if name.startswith(PROBED)
    )
    found: dict[str, list[dict[str, Cell]]] = {n: [] for n in names if not n.endswith(RETURNED)}
    for row in rows:
        found.setdefault(str(row["what"]), []).append(row)
    keys = ("total_ns", "cpu_ns", "console_ns", "storage_ns")
    made: list[dict[str, Cell]] = []
    for name, own in found.items():
        outer = list(_outermost(own))
        made.append(
            {
                "what": name,
                "times": len(own),
                "longest_ns": max((int(row["total_ns"] or 0) for row in own), default=None),
                "start_ns": own[0]["start_ns"] if own else None,
                **{key: sum(int(row[key] or 0) for row in outer) for key in keys},
            }
        )
    yield from sorted(made, key=lambda row: -int(row["total_ns"] or 0))


def _outermost(rows: list[dict[str, Cell]]) -> Iterator[dict[str, Cell]]:
    """The calls of one function that are not inside another of its calls in the same task."""
    ends: dict[Cell, int] = {}
    for row in rows:
        start, end = int(row["start_ns"] or 0), int(row["end_ns"] or 0)
        if start >= ends.get(row["task"], 0):
            ends[row["task"]] = end
            yield row
