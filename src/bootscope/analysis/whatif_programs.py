# SPDX-License-Identifier: Apache-2.0
"""What if fewer programs were started, or in another order, or later?"""

from __future__ import annotations

import fnmatch
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from fractions import Fraction

from bootscope.analysis import hook_coverage
from bootscope.analysis.critical import READY, Step
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.kernel_activity import Task
from bootscope.analysis.storage import accesses
from bootscope.analysis.whatif_plan import Gone, Plan, having, on_path
from bootscope.analysis.whatif_samples import briefer
from bootscope.core.errors import UserError, printable


def later(plan: Plan, evidence: Evidence, steps: list[Step], name: str) -> None:
    """A program and what it starts run after the milestone."""
    tasks = with_children(evidence, _matching(evidence, name))
    if steps and steps[-1].task in tasks:
        raise UserError(
            f"the boot ends in '{printable(name)}' or its children: they cannot run later",
            hint="name a program that runs before it",
        )
    plan.gone += _theirs(evidence, steps, tasks)
    plan.assume(f"nothing before the milestone needs {name}")


def instead_of_init(plan: Plan, evidence: Evidence, steps: list[Step], name: str) -> None:
    """The kernel starts the program `name` instead of init."""
    program = _running(evidence, name)[0]
    end = max((e.at_ns for e in program.execs), default=program.start_ns)
    _skip(plan, evidence, program, evidence.timeline.milestones.get("init", 0), end)
    plan.assume(f"{name} can be the first process", "it starts as fast as init did")


def before_others(plan: Plan, evidence: Evidence, steps: list[Step], name: str) -> None:
    """The program `name`, or the script that starts it, comes first among its siblings."""
    mine = program = _running(evidence, name)[0]
    # Upwards to a parent that starts several things one after the other.
    while not (earlier := _before(evidence, mine)) and mine.parent:
        mine = mine.parent
    if not earlier:
        raise UserError(f"nothing that starts before {printable(name)} can start later")
    _skip(plan, evidence, program, earlier[0].start_ns, mine.start_ns)
    plan.assume(f"{name} does not depend on what starts before it")


def _before(evidence: Evidence, task: Task) -> list[Task]:
    """What a task's parent started before the task."""
    siblings = (t for t in evidence.scene.tasks if task.parent and t.parent is task.parent)
    return [t for t in siblings if t.start_ns < task.start_ns]


def _skip(plan: Plan, evidence: Evidence, program: Task, start: int, end: int) -> None:
    """Removes a stretch, except reads in it of files that the program maps as well: it would have to read
    them first."""
    plan.gone.append((start, end))
    wanted = {mapping.path for mapping in program.maps}
    plan.kept |= {
        access.index
        for access in accesses(evidence)
        if start <= access.start_ns < end and access.what in wanted and not access.write
    }


def builtins(plan: Plan, evidence: Evidence, steps: list[Step], name: str) -> None:
    """A script does its work without other programs."""
    scripts = _matching(evidence, name)
    started = with_children(evidence, scripts) - scripts
    if steps and steps[-1].task in started:
        raise UserError(f"the boot ends in a child of '{printable(name)}', which has to run")
    plan.gone += _theirs(evidence, steps, started)
    briefer(plan, [(_STARTING, Fraction(0))], scripts)
    plan.assume(
        f"the shell itself does the work of the programs that {name} starts, in no time",
        "it does not fork, wait for them or copy pages for them",
    )


_STARTING = ("kernel_clone", "copy_process", "do_wait", "kernel_wait4", "do_wp_page", "wp_page_copy")
"""A shell's own cost of starting a program: the fork, copying its pages when it next writes to them, and
waiting for the program's end."""


def _theirs(evidence: Evidence, steps: list[Step], tasks: set[Task]) -> list[tuple[int, int]]:
    """What the boot does not wait for without the tasks: their parts of the path, and the time in which they
    had the CPU."""
    everything = on_path(steps, tasks, 0, evidence.timeline.total_ns)
    return everything + having(evidence, (step for step in steps if step.how == READY), tasks)


def more(plan: Plan, evidence: Evidence, steps: list[Step], value: str) -> None:
    """A script starts more programs, or fewer."""
    if not re.fullmatch(r"-?[0-9]{1,3}", value, re.ASCII):
        raise UserError(f"'{printable(value)}' is not a number of programs", hint="for example programs=3")
    lives = [t.end_ns - t.start_ns for t in _commands(evidence) if t.end_ns]
    if not lives:
        raise UserError("no script started a program in this boot")
    plan.counted_ns -= int(value) * min(lives)
    more_by = f"{value} more programs" if int(value) >= 0 else f"{-int(value)} fewer programs"
    plan.assume(f"{more_by} take as long as the shortest did: {min(lives) / 1e6:.1f} ms each")


def applets(plan: Plan, evidence: Evidence) -> None:
    """A BusyBox shell runs BusyBox's commands without executing a program anew."""
    found = [t for t in _commands(evidence) if _is_busybox(t)]
    lives = [t.end_ns - t.execs[0].at_ns for t in found if t.end_ns]
    if not lives:
        raise UserError("no script started a command of BusyBox in this boot")
    plan.last.append(lambda: _without_exec(plan, found, lives))


def _without_exec(plan: Plan, found: list[Task], lives: list[int]) -> None:
    """After all other changes: they may remove commands."""
    gone, of = Gone(plan.gone), defaultdict[Task, list[Step]](list)
    for step in plan.ground.steps:
        of[step.task].append(step)
    count = sum(_remains(of[task], gone) for task in found)
    plan.counted_ns += count * min(lives)
    plan.assume(
        f"{count} commands of scripts are BusyBox applets",
        f"one takes as long to run as the shortest of them: {min(lives) / 1e6:.1f} ms",
        "forking stays as it is",
    )


def _remains(steps: list[Step], gone: Gone) -> bool:
    """Whether something is left of a task's part of the path; waiting for the CPU is a part only if there is
    no other."""
    own = [step for step in steps if step.how != READY] or steps
    return any(s.end_ns - s.start_ns > gone.inside(s.start_ns, s.end_ns) for s in own)


def one_shell(plan: Plan, evidence: Evidence) -> None:
    """The shell that started the scripts reads them itself."""
    scripts = _scripts(evidence)
    inner = [t for t in scripts if t.parent in scripts]
    if not inner:
        raise UserError("no script started another script in this boot")
    for task in inner:
        end = evidence.timeline.total_ns if task.end_ns is None else task.end_ns
        started = [t for t in evidence.scene.tasks if t.parent is task]
        begin = min((t.start_ns for t in started), default=end)
        over = max((t.end_ns for t in started if t.end_ns is not None), default=end)
        plan.gone += [(task.start_ns, begin), (over, end)] if over > begin else [(task.start_ns, begin)]
        # The scripts themselves are still read.
        first, last = evidence.index_at(task.start_ns), evidence.index_at(begin)
        plan.kept |= {event.index for event in evidence.events if first <= event.index < last}
    plan.assume(
        f"{len(inner)} scripts need no separate shell",
        "a script takes no time before it starts its first program",
    )


def together(plan: Plan, evidence: Evidence, steps: list[Step], name: str) -> None:
    """Programs that match a pattern, started one after the other, all start at the same time.

    They share one CPU evenly: when the one in which the boot ends is done, each of the others has had as much
    CPU time as that one, or all that it needs.
    """
    beside = sorted(_matching(evidence, name), key=lambda task: task.start_ns)
    jobs = [t for t in beside if t.parent not in beside]
    paths = [on_path(steps, with_children(evidence, [t]), 0, evidence.timeline.total_ns) for t in jobs]
    if not steps or not paths[-1] or steps[-1].task not in with_children(evidence, [jobs[-1]]):
        raise UserError(
            f"the boot does not end in the last program that '{printable(name)}' names",
            hint="name the programs up to the last that matters",
        )
    last_ns = sum(end - start for start, end in paths[-1])
    for stretches in paths[:-1]:
        _shorten(plan, stretches, last_ns)
    plan.assume(
        f"{len(jobs)} programs share the CPU evenly and do not wait for each other",
        f"the last of them needs {last_ns / 1e6:.1f} ms",
    )


def _shorten(plan: Plan, stretches: Iterable[tuple[int, int]], most_ns: int) -> None:
    """Removes what follows the first `most_ns` of the stretches."""
    left = most_ns
    for start, end in stretches:
        if end - start > left:
            plan.gone.append((start + left, end))
        left = max(0, left - (end - start))


def with_children(evidence: Evidence, tasks: Iterable[Task]) -> set[Task]:
    """Tasks with all their descendants."""
    found = set(tasks)
    for task in evidence.scene.tasks:
        if task.parent in found:
            found.add(task)
    return found


def runs(task: Task, name: str) -> bool:
    """Whether a task ran the program `name`, a path or its last part."""
    words = {part.rpartition("/")[2] for e in task.execs for part in (e.file, e.arguments[0])}
    return name in words or any(name in (e.file, e.arguments[0]) for e in task.execs)


def _running(evidence: Evidence, name: str, matches: Callable[[Task, str], bool] = runs) -> list[Task]:
    """The tasks that ran a program. Raises UserError when there is none."""
    hook_coverage.need(evidence, "processes", "switch", "fork")
    found = [task for task in evidence.scene.tasks if matches(task, name)]
    if not found:
        raise UserError(
            f"no program called '{printable(name)}' ran in this boot",
            hint="bootscope show --view processes lists the programs that ran",
        )
    return found


def _matching(evidence: Evidence, name: str) -> set[Task]:
    """The tasks that ran a program, or one whose path matches a pattern."""

    def matches(task: Task, name: str) -> bool:
        return runs(task, name) or any(fnmatch.fnmatchcase(e.file, name) for e in task.execs)

    return set(_running(evidence, name, matches))


def _scripts(evidence: Evidence) -> list[Task]:
    """The tasks that run a script that was kept with the recording."""
    hook_coverage.need(evidence, "processes", "switch", "fork")
    return [t for t in evidence.scene.tasks if any(e.file in evidence.scripts for e in t.execs)]


def _commands(evidence: Evidence) -> list[Task]:
    """The tasks started by a script that ran one program, not a script."""
    scripts = _scripts(evidence)
    started = (t for t in evidence.scene.tasks if t.parent in scripts and len(t.execs) == 1)
    return [t for t in started if t not in scripts]


def _is_busybox(task: Task) -> bool:
    return any(mapped.path.rpartition("/")[2] == "busybox" for mapped in task.maps)
