# SPDX-License-Identifier: Apache-2.0
"""What if the kernel were different: without parts, with faster functions, smaller, compressed otherwise?"""

from __future__ import annotations

import functools
import re
from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

from bootscope.analysis import hook_coverage
from bootscope.analysis.critical import RUNS, SLEEPS, Step
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.initcalls import name_of
from bootscope.analysis.kernel_activity import Call, Task
from bootscope.analysis.whatif_loader import loading, reading
from bootscope.analysis.whatif_plan import Gone, Plan, having, on_path
from bootscope.analysis.whatif_samples import briefer
from bootscope.capture import objects
from bootscope.capture.stream import StackSample
from bootscope.core.errors import UserError, printable, unknown
from bootscope.core.settings import Setting, Sourced, load
from bootscope.devices.model import StorageCommand
from bootscope.kbuild.kconfig import parse
from bootscope.loaders.model import Hooked
from bootscope.timeline.phases import KERNEL_IMAGE, reads_kernel

COMPRESSORS = Path(__file__).with_name("compressors.toml")
NONE = "none"
_NODES, _MAKES_THREADS, _WORKERS = "kdevtmpfs", "kthreadd", "kworker/"


# ---- left out ----


def without(plan: Plan, evidence: Evidence, steps: list[Step], name: str) -> None:
    """Without an initcall and its drivers, a probe, a step or a command of the boot loader."""
    hook_coverage.need(evidence, "initcalls, probes and commands", "initcall", "switch")
    main, parts = evidence.run.board.boot_loader.last, (Hooked.INITCALL, Hooked.PROBE, Hooked.COMMAND)
    kinds = map(main.hook, parts) if main else ()
    found = [c for c in evidence.scene.of("initcall", "probe", *kinds) if _called(c, name, evidence)]
    if not found:
        raise UserError(
            f"nothing called '{printable(name)}' ran in this boot",
            hint="bootscope show --view initcalls lists what ran",
        )
    removed = calls_gone(plan, evidence, steps, found)
    if removed:
        plan.assume(f"its drivers no longer probe: {', '.join(sorted(removed))}")
    plan.assume(f"nothing else needs {name}, and nothing else takes over its work")


def calls_gone(plan: Plan, evidence: Evidence, steps: list[Step], found: list[Call]) -> set[str]:
    """Removes calls, with the probes of the drivers that they registered; returns these drivers."""
    here = set(map(id, found))
    removed = {driver for driver, call in evidence.scene.drivers.items() if id(call) in here}
    probes = [c for c in evidence.scene.of("probe") if c.detail in removed and id(c) not in here]
    said = [(line, line.message) for line in plan.ground.lines if line.message]
    for call in found + probes:
        plan.gone += path_of(call, steps, evidence)
        plan.hide(n for n, m in said if m.task is call.task and call.first <= m.index < call.last)
        for index in range(call.first, min(call.last, len(evidence.records))):
            if evidence.slice_at(evidence.clock.before(index)).task is call.task:
                plan.dropped.add(index)
    _threads_gone(plan, evidence, steps, found + probes)
    return {call.detail for call in probes}


def _threads_gone(plan: Plan, evidence: Evidence, steps: list[Step], calls: list[Call]) -> None:
    """Removes the work and the output of threads that the kernel made in calls, such as one that looks for
    disks at a port, as far as the boot waited for them."""
    threads = {task for task in evidence.scene.tasks if _made_in(task, calls, evidence)}
    if not threads:
        return
    plan.gone += on_path([s for s in steps if s.how == RUNS], threads, 0, evidence.timeline.total_ns)
    waits = ((step, step.behind or step.wait) for step in steps if step.how == SLEEPS)
    slept_ns = _asleep(plan, evidence, [step for step, wait in waits if wait and wait.task in threads])
    plan.hide(n for n in plan.ground.lines if n.message and n.message.task in threads)
    if slept_ns:
        names = sorted({_last_name(task) for task in threads})
        plan.assume(f"nothing waits for {', '.join(names[:3])}, which slept {slept_ns / 1e6:.1f} ms")


def _made_in(task: Task, calls: list[Call], evidence: Evidence) -> bool:
    """Whether a kernel thread was made for one of the calls: by kthreadd, which the call's task had woken for
    that. Workers serve everybody."""
    maker, at_ns = task.parent, task.start_ns
    if maker is None or not task.kernel or maker.name_at(at_ns) != _MAKES_THREADS:
        return False
    asked = next((w.waker for w in reversed(evidence.waits_of.get(maker, [])) if w.end_ns <= at_ns), None)
    mine = any(c.task is asked and c.start_ns <= at_ns < c.end_ns for c in calls)
    return mine and not _last_name(task).startswith(_WORKERS)


def _last_name(task: Task) -> str:
    """A thread's final name: at first it has its maker's name."""
    return task.names[-1][1] if task.names else task.comm


def path_of(call: Call, steps: list[Step], evidence: Evidence) -> list[tuple[int, int]]:
    """The stretches of the path of a call, with those of the thread that makes its device nodes."""
    tasks = {call.task} | {task for task in evidence.scene.tasks if task.name_at(call.end_ns) == _NODES}
    return on_path(steps, tasks, call.start_ns, call.end_ns)


def _called(call: Call, name: str, evidence: Evidence) -> bool:
    return name_of(call, evidence) == name or name_of(call, evidence).partition(" ")[0] == name


def code_gone(plan: Plan, evidence: Evidence, gone: Callable[[int], bool]) -> int:
    """Removes the samples of the program counter in kernel code at addresses that are `gone`; returns the
    time removed, in ns."""
    found = 0
    for index, pc, phase_ns in plan.ground.counters:
        if gone(pc):
            plan.sample(index, phase_ns)
            found += phase_ns
    return found


def sleeps_gone(plan: Plan, evidence: Evidence, steps: list[Step], gone: Callable[[int], bool]) -> int:
    """Removes the path's sleeps that were requested by code at addresses that are `gone`, as far as the CPU
    was idle; returns the time removed, in ns."""
    return _asleep(
        plan, evidence, [s for s in steps if s.how == SLEEPS and _asked_for(s, plan, evidence, gone)]
    )


def _asleep(plan: Plan, evidence: Evidence, asleep: list[Step]) -> int:
    """Removes the path's sleeping steps `asleep`, as far as the CPU was idle; returns the time removed, in
    ns."""
    found = having(evidence, asleep, {task for task in evidence.scene.tasks if task.idles})
    before = Gone(plan.gone)
    # Storage commands of others in that time still happen, unless they are gone already.
    found = [(start, end) for start, end in found if not before.inside(start, end)]
    plan.gone += found
    for start, end in found:
        first, last = (
            bisect_left(evidence.events, evidence.index_at(t), key=lambda e: e.index) for t in (start, end)
        )
        plan.kept |= {event.index for event in evidence.events[first:last]}
    return sum(end - start for start, end in found)


def _asked_for(step: Step, plan: Plan, evidence: Evidence, gone: Callable[[int], bool]) -> bool:
    """Whether code that is gone is in the call path of a sleep."""
    wait = step.behind or step.wait
    sample = evidence.records[wait.stack] if wait and wait.stack >= 0 else None
    return isinstance(sample, StackSample) and any(
        gone(address) for address in plan.ground.stacks.addresses(sample, "kernel")
    )


# ---- briefer ----


def function(plan: Plan, value: str) -> None:
    """A function takes a share of its time, including all that it calls."""
    match = re.fullmatch(r"([\w.]{1,200})=(0|1|0?\.[0-9]{1,3})", value, re.ASCII)
    if not match:
        raise UserError(
            f"'{printable(value)}' is not a function with a share",
            hint="for example function:calibrate_delay=0",
        )
    name, share = match[1], Fraction(match[2])
    if not briefer(plan, [((name,), share)]):
        raise UserError(
            f"{printable(name)} is in no sample of this boot",
            hint="bootscope show --view functions lists the sampled functions",
        )
    rest = f"takes {float(share):.0%} of its time" if share else "takes no time"
    plan.assume(f"{name} {rest}, including all it calls")


# ---- memory ----

_MEMORY = re.compile(
    rb"Memory: \d+K/(\d{1,12})K available \(.*?(\d{1,12})K highmem\)|Memory: \d+K/(\d{1,12})K available"
)
_SIZE = re.compile(r"([0-9]{1,9})([KMG]?)", re.ASCII)
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_EVERY_PAGE = ("free_area_init", "memmap_init")
_HIGH_PAGES = ("free_highpages", "free_highmem_page", "free_reserved_page")
_FREED = ("mem_init", "memblock_free_all")


def memory(plan: Plan, evidence: Evidence, value: str) -> None:
    """The kernel gets less memory: set-up work per page shrinks in proportion."""
    match = _SIZE.fullmatch(value)
    told = next((m for line in evidence.timeline.lines if (m := _MEMORY.search(line.data))), None)
    if not match or not int(match[1]):
        raise UserError(f"'{printable(value)}' is not a memory size", hint="for example memory=256M")
    if not told:
        raise UserError("this boot does not show how much memory the kernel has")
    now, high = int(told[1] or told[3]) << 10, int(told[2] or 0) << 10
    if not now:
        raise UserError("this boot says that the kernel has no memory")
    then = min(now, int(match[1]) * _UNITS[match[2]])
    low = now - high
    shares = (
        (_EVERY_PAGE, Fraction(then, now)),
        (_HIGH_PAGES, Fraction(max(0, then - low), high or 1)),
        (_FREED, Fraction(min(then, low), low or 1)),
    )
    briefer(plan, shares)
    plan.assume(
        f"memory set-up takes time per page: {then >> 20} MiB of {now >> 20} MiB",
        "tables that the kernel sizes by its memory keep their size",
    )


# ---- the image ----


class Compressor(Setting, frozen=True):
    """`packed_ppm`: the size of a packed kernel, in millionths of the unpacked one. `unpack_ps`: picoseconds
    per byte of the unpacked kernel, on the emulated board; None if no boot with it was recorded."""

    packed_ppm: Sourced
    unpack_ps: Sourced | None = None


class _Table(Setting, frozen=True):
    schema: int
    compressor: dict[str, Compressor]


@functools.cache
def compressors() -> dict[str, Compressor]:
    """By the name in the kernel's configuration, in lower case."""
    return load(COMPRESSORS, _Table).compressor


def packed_with(evidence: Evidence) -> str:
    """The kernel's compression, as :func:`compressors` names it; empty if unknown."""
    config = parse(evidence.load(objects.KERNEL_CONFIG).decode("utf-8", "replace"))
    return next((name for name in compressors() if config.get(f"KERNEL_{name.upper()}") == "y"), "")


def compression(plan: Plan, evidence: Evidence, value: str) -> None:
    """The kernel is compressed in another way."""
    known = compressors()
    if value not in (*known, NONE):
        raise unknown("compression", value, [*known, NONE])
    now = packed_with(evidence)
    if not now:
        raise UserError("this recording does not show the compression of its kernel, or there is none")
    before = known[now]
    if value == NONE:
        packed, unpack = Fraction(1_000_000, before.packed_ppm.value), Fraction(0)
    else:
        after = known[value]
        if not before.unpack_ps or not after.unpack_ps:
            which = value if before.unpack_ps else now
            raise UserError(
                f"how long it takes to unpack {which} has not been measured",
                hint="python benchmarks/compressors.py measures it, from a recorded boot",
            )
        packed = Fraction(after.packed_ppm.value, before.packed_ppm.value)
        unpack = Fraction(after.unpack_ps.value, before.unpack_ps.value)
    image(plan, evidence, packed, unpack)
    plan.assume(
        f"against {now}, {value} needs {float(packed):.2f} of the bytes and {float(unpack):.2f} of the time "
        "to unpack, as measured with another kernel",
    )


def kernel_bytes(plan: Plan, evidence: Evidence, value: str) -> None:
    """The kernel is larger or smaller."""
    larger(plan, evidence, bytes_of(value, "kernel-bytes=-200k"))


def bytes_of(value: str, example: str) -> int:
    """A number of bytes, with or without a sign: `-200k`. Raises UserError for anything else."""
    match = re.fullmatch(r"([+-]?[0-9]{1,9})([kM]?)", value, re.ASCII)
    if not match:
        raise UserError(f"'{printable(value)}' is not a number of bytes", hint=f"for example {example}")
    return int(match[1]) * {"": 1, "k": 1000, "M": 1_000_000}[match[2]]


def larger(plan: Plan, evidence: Evidence, more: int) -> None:
    """The unpacked kernel is `more` bytes larger; smaller if negative."""
    image_bytes = plan.ground.content_bytes
    if not image_bytes:
        raise UserError("this recording does not show the size of its kernel")
    share = max(Fraction(0), Fraction(image_bytes + more, image_bytes))
    _read_kernel(plan, evidence, share)
    for part in (plan.copying, plan.unpacking):
        part.less_ns += int(part.ns * (1 - share))
    plan.assume("the compression ratio stays the same; loading and unpacking take time per byte")


def image(plan: Plan, evidence: Evidence, packed: Fraction, unpack: Fraction) -> None:
    """The kernel's image is `packed` times as large, and takes `unpack` times as long to unpack."""
    _read_kernel(plan, evidence, packed)
    plan.copying.share *= packed
    plan.unpacking.share *= unpack


def _read_kernel(plan: Plan, evidence: Evidence, packed: Fraction) -> None:
    """What is read of the kernel is `packed` times as large; the plan gets the times that depend on that."""
    load, unpacking = loading(evidence), evidence.timeline.phase("decompress")
    plan.kernel_share *= packed
    plan.kernel_reads |= {
        e.index for e in evidence.events if isinstance(e, StorageCommand) and reads_kernel(e, evidence.run)
    }
    plan.copying.stretches = reading(evidence, load, (KERNEL_IMAGE,))
    cpu_ns = sum(end - start for start, end in plan.copying.stretches)
    cpu_ns -= sum(c.ns for c in evidence.costs if c.index in plan.kernel_reads)
    plan.copying.ns = max(0, cpu_ns)
    plan.unpacking.ns = unpacking.cpu_ns if unpacking else 0
