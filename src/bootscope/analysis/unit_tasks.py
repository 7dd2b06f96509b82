# SPDX-License-Identifier: Apache-2.0
"""The systemd unit that a process belongs to, and the unit of a milestone.

PID 1 makes a unit's control group and then starts its first program. Programs that it starts for the unit
later are recognised by the unit's own lines (ExecStart= and the like); what a program starts belongs to its
unit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bootscope.analysis.evidence import Evidence
from bootscope.analysis.kernel_activity import Task
from bootscope.analysis.unit_jobs import Job, Jobs, unit_files
from bootscope.system.unit_files import UnitFiles

_PROGRAMS = ("ExecCondition", "ExecStartPre", "ExecStart", "ExecStartPost")
_MARKS = "-@:+!|"
_SECTIONS = ("Service", "Socket", "Mount", "Swap")


def units_of_tasks(evidence: Evidence, jobs: Jobs) -> dict[Task, str]:
    """The unit of each process that belongs to one."""
    found: dict[Task, str] = {}
    programs = _programs(evidence, jobs)
    made = sorted(jobs.jobs.values(), key=lambda job: job.begin_ns)
    at = 0
    for task in sorted(evidence.scene.tasks[1:], key=lambda task: (task.start_ns, task.number)):
        parent = task.parent
        if parent is None or parent.pid != 1:
            if parent in found:
                found[task] = found[parent]
            continue
        begun = at
        while begun < len(made) and made[begun].begin_ns <= task.start_ns:
            begun += 1
        groups = [job for job in made[at:begun] if job.group]
        unit = groups[-1].unit if groups else _by_program(task, programs, jobs)
        at = begun
        if unit:
            found[task] = unit
    return found


def _programs(evidence: Evidence, jobs: Jobs) -> dict[str, list[str]]:
    """Path of a program -> the units whose files start it."""
    known = UnitFiles(unit_files(evidence))
    found: dict[str, list[str]] = {}
    for name in jobs.jobs:
        unit = known.unit(name)
        for line in _lines(unit.settings) if unit else ():
            path = line.lstrip(_MARKS).partition(" ")[0]
            found.setdefault(path, []).append(name)
    return found


def _lines(settings: Mapping[tuple[str, str], tuple[str, ...]]) -> Iterator[str]:
    for section in _SECTIONS:
        for key in _PROGRAMS:
            yield from settings.get((section, key), ())


def _by_program(task: Task, programs: Mapping[str, list[str]], jobs: Jobs) -> str:
    """The unit that began last among those that start one of a task's programs."""
    names = [name for each in task.execs for name in programs.get(each.file, ())]
    begun: list[Job] = [jobs.jobs[name] for name in names if jobs.jobs[name].begin_ns <= task.start_ns]
    return max(begun, key=lambda job: job.begin_ns).unit if begun else ""


def unit_at(evidence: Evidence, jobs: Jobs, at_ns: int) -> str:
    """The unit of a moment: the one whose job ended then, else that of the last process before it that
    belongs to one; else the default target, or empty."""
    over = next((job.unit for job in jobs.jobs.values() if job.end_ns == at_ns), "")
    if over:
        return over
    units, slices = units_of_tasks(evidence, jobs), evidence.scene.slices
    last = slices.index(evidence.slice_at(max(0, at_ns - 1)))
    for number in range(last, -1, -1):
        task = slices[number].task
        if task in units:
            return units[task]
        if task.pid == 1:
            break
    return jobs.target
