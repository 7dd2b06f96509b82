# SPDX-License-Identifier: Apache-2.0
"""What each of several concurrent CPUs did: it ran instructions, or slept and waited for others."""

from __future__ import annotations

from bootscope.analysis.evidence import Evidence
from bootscope.analysis.rows import Cell, Column, Rows
from bootscope.core.errors import UserError
from bootscope.timeline.model import Phase

COLUMNS = (
    Column("what", "CPU", "text"),
    Column("busy_ns", "busy ms", "ns"),
    Column("asleep_ns", "asleep ms", "ns"),
    Column("devices_ns", "devices ms", "ns"),
    Column("share_ppm", "busy", "share"),
)
_FULL_PPM = 1_000_000
_ANY = "at least one"


def view(evidence: Evidence, phase: str | None = None) -> Rows:
    """Busy time of each CPU, in a phase if named. `busy_ns + asleep_ns + devices_ns` of a row is the length
    of the stretch; `asleep_ns` includes waiting for another CPU in a loop that yields.

    Raises UserError if CPUs have no times of their own.
    """
    sleeps = evidence.timeline.cpu_sleeps
    if not sleeps:
        raise UserError(
            "this recording is not of several CPUs that work at once",
            hint="set qemu.cpus in the board profile",
        )
    told = [p for p in evidence.timeline.phases if phase is None or p.name == phase]
    start_ns, end_ns = told[0].start_ns, told[-1].end_ns
    asleep = [sum(max(0, min(end_ns, s.end_ns) - max(start_ns, s.start_ns)) for s in each) for each in sleeps]
    rows = [_row(f"CPU {cpu}", told, asleep_ns) for cpu, asleep_ns in enumerate(asleep)]
    busy_ns = sum(int(row["busy_ns"] or 0) for row in rows)
    rows.append(_row(_ANY, told, sum(p.idle_ns for p in told)))
    if phase:
        rows = [row | {"phase": phase} for row in rows]
    return Rows(
        "cpus",
        "What each CPU did",
        COLUMNS,
        tuple(rows),
        "in order of their numbers",
        ("devices: the model has all CPUs stand still while the card or the serial line takes its time",),
        {"busy_ns": busy_ns, "total_ns": end_ns - start_ns},
    )


def _row(what: str, told: list[Phase], asleep_ns: int) -> dict[str, Cell]:
    devices_ns = sum(p.storage_ns + p.console_ns + p.fixed_ns for p in told)
    length_ns = sum(p.duration_ns for p in told) - devices_ns
    asleep_ns = min(asleep_ns, length_ns)
    return {
        "what": what,
        "busy_ns": length_ns - asleep_ns,
        "asleep_ns": asleep_ns,
        "devices_ns": devices_ns,
        "share_ppm": (length_ns - asleep_ns) * _FULL_PPM // length_ns if length_ns else 0,
    }
