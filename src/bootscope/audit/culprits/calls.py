# SPDX-License-Identifier: Apache-2.0
"""The boot loader's countdown and steps, the kernel's initcalls, probes and sleeps, by what each takes."""

from __future__ import annotations

import errno
from collections import defaultdict
from collections.abc import Iterable, Iterator

from bootscope.analysis.critical import SLEEPS, Step
from bootscope.analysis.initcalls import LOADER_KINDS, name_of
from bootscope.analysis.kernel_activity import Call, Task
from bootscope.analysis.waits import caller, reason
from bootscope.audit.culprits.model import Culprit, Cure
from bootscope.audit.culprits.recorded import KERNEL, Own, RecordedBoot
from bootscope.core.text import span
from bootscope.loaders.registry import program_of

_DEFERRED = 517
_WORDS = {"initcall": "initcall", "probe": "probe of", "command": "command"}
_ASLEEP = Cure(
    "check what it waits for", ("kernel-async-probe", "kernel-driver-params", "kernel-remove-unused")
)
DRIVER = ("kernel-remove-unused", "kernel-modules-later", "kernel-async-probe", "kernel-deferred-initcalls")


def find(boot: RecordedBoot) -> Iterator[Culprit]:
    """The countdown, and one for each name: a device that is probed twice is one culprit."""
    own, waits = boot.own, set(boot.countdown)
    if boot.countdown:
        yield _countdown(boot, boot.countdown)
    groups: dict[tuple[str, str], list[Call]] = defaultdict(list)
    for call in own:
        if call not in waits:
            groups[call.kind, name_of(call, boot.evidence)].append(call)
    for (kind, name), calls in groups.items():
        yield _culprit(boot, kind, name, calls, sum((own[c] for c in calls), Own()))


def _countdown(boot: RecordedBoot, calls: list[Call]) -> Culprit:
    loader = boot.evidence.run.board.boot_loader
    return Culprit(
        kind="countdown",
        what=f"{loader.title} waits for a key",
        where=f"{loader.title}'s {caller(calls[0], boot.evidence)}, before it runs its boot command",
        cost_ns=sum(c.end_ns - c.start_ns for c in calls),
        start_ns=calls[0].start_ns,
        end_ns=calls[-1].end_ns,
        seen_in="--view waits",
        cure=Cure("a boot delay of 0", loader.cures.countdown, ("bootdelay=0",)),
    )


def _culprit(boot: RecordedBoot, kind: str, name: str, calls: list[Call], own: Own) -> Culprit:
    bare, loader = kind.rpartition(".")[2], program_of(kind) if kind in LOADER_KINDS else None
    error = _error(calls)
    where = (
        f"{len(calls)} times" if len(calls) > 1 else "",
        f"fails each time ({error})" if error else "",
        "" if loader else f"in {boot.evidence.who(calls[0].task, calls[0].start_ns)}",
        f"{span(own.asleep_ns)} of it asleep" if own.asleep_ns else "",
    )
    cure = _driver(name, kind)
    if loader:
        do = (
            "it fails here: remove its driver" if error else "leave out what this board does not need to boot"
        )
        cure = Cure(do, boot.evidence.run.board.boot_loader.cures.trim)
    return Culprit(
        kind="loader" if loader else "initcalls",
        what=f"{loader.title if loader else 'kernel'}: {_WORDS.get(bare, bare)} {name}",
        where=", ".join(filter(None, where)) or f"in phase {boot.evidence.phase_at(calls[0].start_ns)}",
        cost_ns=own.ns,
        start_ns=min(c.start_ns for c in calls),
        end_ns=max(c.end_ns for c in calls),
        seen_in="--view initcalls",
        cure=cure,
    )


def _driver(name: str, kind: str) -> Cure:
    usb = ("kernel-no-usb",) if any(word in name.lower() for word in ("usb", "ehci", "ohci", "phy")) else ()
    what_if = (f"without:{name}",) if kind == "initcall" and " " not in name else ()
    return Cure("remove it or defer it", usb + DRIVER, what_if)


def _error(calls: Iterable[Call]) -> str:
    """What all of the calls returned, where that is a failure; a driver that was put off has not failed."""
    result, *others = {abs(c.result) for c in calls}
    return "" if others or result in (0, _DEFERRED) else errno.errorcode.get(result, "")


def sleeps(boot: RecordedBoot) -> Iterator[Culprit]:
    """What the kernel's own threads sleep in while the boot waits, outside of initcalls and probes."""
    groups: dict[tuple[str, str], list[Step]] = defaultdict(list)
    for step in boot.ground.steps:
        if step.how == SLEEPS and step.wait and _outside(boot, step.task, step.start_ns):
            groups[reason(step.wait, boot.evidence, boot.ground.stacks)].append(step)
    for (who, what), steps in groups.items():
        yield Culprit(
            kind="sleeps",
            what=f"the kernel waits in {what}",
            where=f"{who}, {len(steps)} times" if len(steps) > 1 else who,
            cost_ns=sum(s.end_ns - s.start_ns for s in steps),
            start_ns=steps[0].start_ns,
            end_ns=steps[-1].end_ns,
            seen_in="--view critical-path",
            cure=_ASLEEP,
        )


def _outside(boot: RecordedBoot, task: Task, at_ns: int) -> bool:
    """Whether a task runs no program yet, and is in no initcall or probe."""
    calls = (c for c in boot.evidence.calls_of(task) if c.kind in KERNEL)
    early = task.kernel or not task.execs or at_ns < task.execs[0].at_ns
    return early and not any(c.start_ns <= at_ns < c.end_ns for c in calls)
