# SPDX-License-Identifier: Apache-2.0
"""Ways past the init scripts, as stretches of a recorded boot that would not happen."""

from __future__ import annotations

from dataclasses import dataclass

from bootscope.analysis import hook_coverage
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.kernel_activity import Task
from bootscope.analysis.storage import accesses
from bootscope.core.errors import UserError, printable


@dataclass(frozen=True)
class Shortcut:
    """What is left out: stretches of board time, but for the records `kept` in them; and on which
    assumptions."""

    gone: tuple[tuple[int, int], ...]
    kept: frozenset[int]
    assumptions: tuple[str, ...]


def runs(task: Task, name: str) -> bool:
    """Whether a task ran the program `name`, a path or its last part."""
    words = {part.rpartition("/")[2] for e in task.execs for part in (e.file, e.arguments[0])}
    return name in words or any(name in (e.file, e.arguments[0]) for e in task.execs)


def instead_of_init(evidence: Evidence, name: str) -> Shortcut:
    """The kernel starts the program `name` instead of init."""
    program = _program(evidence, name)
    start = evidence.timeline.milestones.get("init", 0)
    end = _last_exec_ns(program)
    return Shortcut(
        ((start, end),),
        _still_read(evidence, program, start, end),
        (f"{name} can be the first process", "it starts as fast as init did"),
    )


def before_others(evidence: Evidence, name: str) -> Shortcut:
    """The program `name`, or the script that starts it, comes first among what is started beside it."""
    program = _program(evidence, name)
    mine, siblings = program, _started_by(evidence, program.parent)
    # Upwards to where several things are started one after the other.
    while mine.parent and len([t for t in siblings if t.start_ns < mine.start_ns]) < 1:
        mine = mine.parent
        siblings = _started_by(evidence, mine.parent)
    earlier = [t for t in siblings if t.start_ns < mine.start_ns]
    if not earlier:
        raise UserError(f"nothing that starts before {printable(name)} can start later")
    start, end = earlier[0].start_ns, mine.start_ns
    return Shortcut(
        ((start, end),),
        _still_read(evidence, program, start, end),
        (f"{name} does not depend on what starts before it",),
    )


def _program(evidence: Evidence, name: str) -> Task:
    hook_coverage.need(evidence, "processes", "switch", "fork")
    found = [task for task in evidence.scene.tasks if runs(task, name)]
    if not found:
        raise UserError(
            f"no program called '{printable(name)}' ran in this boot",
            hint="bootscope show --view processes lists the programs that ran",
        )
    return found[0]


def _last_exec_ns(task: Task) -> int:
    return max((e.at_ns for e in task.execs), default=task.start_ns)


def _started_by(evidence: Evidence, parent: Task | None) -> list[Task]:
    return [task for task in evidence.scene.tasks if parent and task.parent is parent]


def _still_read(evidence: Evidence, program: Task, start: int, end: int) -> frozenset[int]:
    """Reads in a stretch that somebody else did first, of files that the program maps as well."""
    wanted = {mapping.path for mapping in program.maps}
    return frozenset(
        access.index
        for access in accesses(evidence)
        if start <= access.start_ns < end and access.what in wanted and not access.write
    )
