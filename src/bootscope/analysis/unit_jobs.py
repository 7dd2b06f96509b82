# SPDX-License-Identifier: Apache-2.0
"""systemd's units of a recorded boot: when the job of each began and ended, exactly.

A job begins when PID 1 makes the unit's control group, just before it starts the unit's program; without a
control group, when PID 1 reports it. It ends when PID 1 says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import msgspec

from bootscope.analysis.evidence import Evidence
from bootscope.analysis.manager import BEGINS, HOOKS, MADE, QUEUED, Said, said
from bootscope.analysis.unit_order import after
from bootscope.capture import objects
from bootscope.readers.systemd_units import Unit, unit_tracks
from bootscope.system.unit_files import UnitFiles
from bootscope.timeline.trace import Track


@dataclass(frozen=True, slots=True)
class Job:
    """The first start of a unit, in ns of board time: PID 1 begins it, reports that (None if it never does),
    and it ends (None if it did not), with its result."""

    unit: str
    begin_ns: int
    said_ns: int | None
    end_ns: int | None
    result: str
    group: bool = False
    """Whether a control group was made for it."""


@dataclass(frozen=True)
class Jobs:
    """All jobs by unit, and when those of the default target were queued, if that was reported."""

    jobs: Mapping[str, Job] = field(default_factory=dict)
    target: str = ""
    queued_ns: int | None = None


def recorded(evidence: Evidence) -> bool:
    """Whether a recording includes what systemd reports."""
    return any(hook in evidence.run.watch.hooks.values() for hook in HOOKS)


def unit_files(evidence: Evidence) -> dict[str, str]:
    """The unit files of the root file system, by path; empty if none were kept."""
    return msgspec.json.decode(objects.unpacked(evidence.load(objects.UNITS)) or b"{}", type=dict[str, str])


def jobs(evidence: Evidence) -> Jobs:
    """The jobs of a recorded boot, in the order in which they began."""
    return of_said(said(evidence, descriptions(unit_files(evidence))))


def descriptions(files: Mapping[str, str]) -> dict[str, str]:
    """Description -> the only unit that has it."""
    known = UnitFiles(files)
    found: dict[str, str] = {}
    for name in known.names():
        unit = known.unit(name)
        text = unit.last("Unit", "Description") if unit and unit.name == name else ""
        if text:
            found[text] = "" if text in found else name
    return {text: name for text, name in found.items() if name}


def of_said(words: Iterable[Said]) -> Jobs:
    """The jobs from reports in order of time."""
    found: dict[str, Job] = {}
    target, queued_ns = "", None
    for each in words:
        known = found.get(each.unit) or Job(each.unit, each.at_ns, None, None, "", each.what == MADE)
        if each.what == QUEUED:
            target, queued_ns = each.unit, each.at_ns
        elif known.end_ns is None:
            found[each.unit] = _later(known, each)
    return Jobs(found, target, queued_ns)


def _later(job: Job, said: Said) -> Job:
    """A job that is not over, updated by a report."""
    if said.what == MADE:
        return job
    if said.what == BEGINS:
        return replace(job, said_ns=job.said_ns or said.at_ns)
    return replace(job, end_ns=said.at_ns, result=said.what)


def tracks(evidence: Evidence, known: Jobs | None = None) -> list[Track]:
    """A track for each unit, as for imported boots, and below it one for its wait for another unit.
    A unit whose job was not over when the recording ended is left out."""
    known = known or jobs(evidence)
    order = after(known.jobs, unit_files(evidence))
    units = []
    for job in known.jobs.values():
        failed = job.result not in ("", "done")
        detail: dict[str, str | int] = {"result": job.result} if failed else {}
        end = None if failed else job.end_ns
        units.append(
            Unit(job.unit, job.begin_ns, end, None, job.end_ns, order.get(job.unit, ()), detail=detail)
        )
    # From the last of them on, a unit waits only for PID 1, which starts units one after the other.
    return unit_tracks(units, release_ns=evidence.timeline.total_ns)
