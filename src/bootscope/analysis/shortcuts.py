# SPDX-License-Identifier: Apache-2.0
"""Ways past the init scripts, as stretches of a recorded boot that would not happen."""

from __future__ import annotations

from collections.abc import Callable
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
    program = running(evidence, name)[0]
    start = evidence.timeline.milestones.get("init", 0)
    end = max((e.at_ns for e in program.execs), default=program.start_ns)
    return Shortcut(
        ((start, end),),
        _still_read(evidence, program, start, end),
        (f"{name} can be the first process", "it starts as fast as init did"),
    )


def before_others(evidence: Evidence, name: str) -> Shortcut:
    """The program `name`, or the script that starts it, comes first among what is started beside it."""
    program = running(evidence, name)[0]
    mine, earlier = program, _before(evidence, program)
    # Upwards to where several things are started one after the other.
    while mine.parent and not earlier:
        mine = mine.parent
        earlier = _before(evidence, mine)
    if not earlier:
        raise UserError(f"nothing that starts before {printable(name)} can start later")
    start, end = earlier[0].start_ns, mine.start_ns
    return Shortcut(
        ((start, end),),
        _still_read(evidence, program, start, end),
        (f"{name} does not depend on what starts before it",),
    )


def running(evidence: Evidence, name: str, also: Callable[[Task], bool] | None = None) -> list[Task]:
    """The tasks that ran the program `name`, and those for which `also` holds.

    Raises UserError when there is none.
    """
    hook_coverage.need(evidence, "processes", "switch", "fork")
    found = [task for task in evidence.scene.tasks if runs(task, name) or (also and also(task))]
    if not found:
        raise UserError(
            f"no program called '{printable(name)}' ran in this boot",
            hint="bootscope show --view processes lists the programs that ran",
        )
    return found


def _before(evidence: Evidence, task: Task) -> list[Task]:
    """What a task's parent started before it."""
    siblings = (t for t in evidence.scene.tasks if task.parent and t.parent is task.parent)
    return [t for t in siblings if t.start_ns < task.start_ns]


def _still_read(evidence: Evidence, program: Task, start: int, end: int) -> frozenset[int]:
    """Reads in a stretch that somebody else did first, of files that the program maps as well."""
    wanted = {mapping.path for mapping in program.maps}
    return frozenset(
        access.index
        for access in accesses(evidence)
        if start <= access.start_ns < end and access.what in wanted and not access.write
    )
