# SPDX-License-Identifier: Apache-2.0
"""Programs that the boot waits for, by the script line that starts them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from bootscope.analysis.kernel_activity import Task
from bootscope.analysis.processes import script_lines
from bootscope.audit.culprits.model import Culprit, Cure
from bootscope.audit.culprits.recorded import SMALL, Own, RecordedBoot, by_task, spent
from bootscope.capture.stream import StackSample
from bootscope.core.text import cut, span

_LONGEST = 60
_SAMPLES = 200
_SHARE = 0.6
"""A program is said to be busy in a function that is in at least this part of its samples."""
_ENTROPY = ("try_to_generate_entropy", "wait_for_random_bytes", "crng_reseed")
_SCRIPTS = ("postpone-rc-scripts", "init-app-first", "parallel-init", "init-replace-by-app")
_APPLICATION = Cure(
    "check what it does first; start it earlier",
    ("app-profile-hot-code", "app-static-link", "app-fix-redundant-syscalls"),
)
_DEVICES = Cure(
    "let the kernel create the device nodes (devtmpfs)",
    ("udev-to-devtmpfs", "static-dev-nodes", "postpone-rc-scripts"),
)


def find(boot: RecordedBoot) -> Iterator[Culprit]:
    """One culprit for each line of a script, or for each command whose line is unknown."""
    lines = script_lines(boot.evidence)
    groups: dict[str, list[tuple[Task, Own]]] = defaultdict(list)
    for task, own in _programs(boot):
        groups[lines.get(task) or _command(task) or task.comm].append((task, own))
    for found in groups.values():
        longest = max(found, key=lambda item: item[1].ns)[0]
        if sum(own.ns for _, own in found) * SMALL > boot.evidence.timeline.total_ns:
            yield _culprit(boot, longest, found, lines.get(longest, ""))


def _programs(boot: RecordedBoot) -> Iterator[tuple[Task, Own]]:
    """Tasks that execute programs, with the critical path's time in them outside of initcalls and probes."""
    for task, steps in by_task(boot.ground.steps).items():
        began_ns = task.execs[0].at_ns if task.execs else task.start_ns
        if task.idles or task.kernel or (task.pid == 1 and not task.execs):
            continue
        parts = [(s, max(began_ns, s.start_ns), s.end_ns) for s in steps if s.end_ns > began_ns]
        own = sum((spent(boot.evidence, *part) for part in parts), Own())
        inside_ns = sum(o.ns for c, o in boot.own.items() if c.task is task and c.start_ns >= began_ns)
        yield task, Own(max(0, own.cpu_ns - inside_ns), own.asleep_ns)


def _command(task: Task) -> str:
    return " ".join(task.execs[-1].arguments) if task.execs else ""


def _culprit(boot: RecordedBoot, task: Task, found: Sequence[tuple[Task, Own]], line: str) -> Culprit:
    own = sum((o for _, o in found), Own())
    evidence = boot.evidence
    function = _busy_in(boot, task) if own.cpu_ns > own.asleep_ns else ""
    name = evidence.who(task, task.end_ns or evidence.timeline.total_ns - 1)
    does = " waits for entropy: the kernel gathers random numbers" if function in _ENTROPY else " runs"
    where = (
        line,
        f"`{cut(_command(task), _LONGEST)}`" if _command(task) else "",
        f"in the kernel's {function}" if function else "",
        f"{span(own.asleep_ns)} of it asleep" if own.asleep_ns else "",
        f"with {len(found) - 1} more processes" if len(found) > 1 else "",
    )
    return Culprit(
        kind="processes",
        what=f"{name}{does}",
        where=", ".join(filter(None, where)),
        cost_ns=own.ns,
        start_ns=min(t.start_ns for t, _ in found),
        end_ns=max(t.end_ns or evidence.timeline.total_ns for t, _ in found),
        seen_in="--view processes",
        cure=_cure(boot, task, line, function),
    )


def _cure(boot: RecordedBoot, task: Task, line: str, function: str) -> Cure:
    if task.execs and task.execs[-1].file == boot.evidence.run.system.settings.get("application.path"):
        return _APPLICATION
    script = line.rpartition(":")[0].rpartition("/")[2]
    what_if = (f"later:{script}",) if script else ()
    if _command(task).split(" ")[0].rpartition("/")[2] in ("mdev", "udevadm", "udevd"):
        return Cure(_DEVICES.do, _DEVICES.techniques, what_if)
    if function in _ENTROPY:
        return Cure("start it after the application, or give the kernel a seed", _SCRIPTS, what_if)
    return Cure("start it after the application or remove it", _SCRIPTS, what_if)


def _busy_in(boot: RecordedBoot, task: Task) -> str:
    """The kernel function that gathers random numbers if most samples of the task are in it, otherwise the
    innermost function that most are in; empty for none."""
    samples = [
        record
        for part in boot.evidence.ledger.slices(task)
        for index, record in enumerate(boot.evidence.records[part.first : part.last], part.first)
        if isinstance(record, StackSample) and boot.evidence.cpu_of_records[index] == part.cpu
    ]
    some = samples[:: len(samples) // _SAMPLES + 1]
    # From the innermost function outwards.
    paths = [boot.ground.stacks.functions(sample, "kernel")[0] for sample in some]
    counts: Counter[str] = Counter(name for path in paths for name in set(path))
    often = {name for name, count in counts.items() if count >= _SHARE * len(paths)}
    # Code that gathers random numbers calls the scheduler over and over, which explains nothing.
    if known := [name for name in _ENTROPY if name in often]:
        return known[0]
    inner = Counter(next(n for n in path if n in often) for path in paths if often & set(path))
    return inner.most_common(1)[0][0] if inner else ""
