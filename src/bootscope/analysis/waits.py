# SPDX-License-Identifier: Apache-2.0
"""Waiting: where the CPU slept, or spun until some time had passed, and who requested it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator

from bootscope.analysis.evidence import Evidence
from bootscope.analysis.functions import Stacks, doing, label
from bootscope.analysis.kernel_activity import Call, Wait
from bootscope.analysis.rows import Cell, Column, Rows
from bootscope.capture.stream import StackSample
from bootscope.loaders.model import Hooked
from bootscope.timeline.cpu_time import DELAYS

COLUMNS = (
    Column("who", "who waits", "text"),
    Column("what", "for what", "text"),
    Column("kind", "how", "text"),
    Column("phase", "phase", "text"),
    Column("wait_ns", "total ms", "ns"),
    Column("times", "times", "count"),
    Column("longest_ns", "longest", "ns"),
    Column("start_ns", "first s", "at"),
)
# Functions that every sleeper is in; the first one outside of them requested the sleep.
_MACHINERY = (
    "__switch_to",
    "__schedule",
    "schedule",
    "schedule_timeout",
    "schedule_preempt_disabled",
    "schedule_hrtimeout_range",
    "schedule_hrtimeout_range_clock",
    "__schedule_timeout",
    "io_schedule",
    "io_schedule_timeout",
    "wait_for_completion",
    "wait_for_common",
    "__wait_for_common",
    "bit_wait_io",
    "bit_wait",
    "__wait_on_bit",
    "out_of_line_wait_on_bit",
    "usleep_range_state",
    "msleep",
    "msleep_interruptible",
    "do_nanosleep",
)
_WORKERS = ("worker_thread", "kthread_worker_fn", "rescuer_thread")
_CONTEXTS = ("initcall", "probe", "work")


def sleeper(wait: Wait, evidence: Evidence, stacks: Stacks) -> str:
    """The function that put a task to sleep, as far as its stack proves."""
    if wait.stack < 0:
        return "?"
    sample = evidence.records[wait.stack]
    assert isinstance(sample, StackSample)
    functions, _ = stacks.functions(sample, "kernel")
    asked = (name for name in functions if not name.startswith(_MACHINERY))
    return next(asked, functions[-1] if functions else "?")


def view(evidence: Evidence, stacks: Stacks) -> Rows:
    """All waiting of the CPU itself, longest first: asleep with nothing to run, or spinning."""
    found: dict[tuple[str, str, str, str], list[tuple[int, int]]] = defaultdict(list)
    for key, start, length in _asleep(evidence, stacks):
        found[(*key, evidence.phase_at(start))].append((start, length))
    for who, what, start, length in spinning(evidence):
        found[(who, what, "spinning", evidence.phase_at(start))].append((start, length))
    rows: list[dict[str, Cell]] = [
        {
            "who": who,
            "what": what,
            "kind": kind,
            "phase": phase,
            "wait_ns": sum(length for _, length in times),
            "times": len(times),
            "longest_ns": max(length for _, length in times),
            "start_ns": times[0][0],
        }
        for (who, what, kind, phase), times in found.items()
    ]
    rows.sort(key=lambda r: -int(r["wait_ns"] or 0))
    sums: dict[str, int] = defaultdict(int)
    for row in rows:
        sums[f"{row['kind']}_ns"] += int(row["wait_ns"] or 0)
    return Rows(
        "waits",
        "Where the CPU waited",
        COLUMNS,
        tuple(rows),
        "longest first",
        ("Waits for storage and the serial line have their own views.",),
        dict(sums),
    )


def _asleep(evidence: Evidence, stacks: Stacks) -> Iterator[tuple[tuple[str, str, str], int, int]]:
    """Sleeps of the CPU, each with the task that was woken at its end and had requested that."""
    waits = sorted((w for w in evidence.scene.waits if w.waker_index >= 0), key=lambda w: w.woken_ns)
    woken = [w.woken_ns for w in waits]
    for sleep in evidence.timeline.sleeps:
        at = bisect_left(woken, sleep.end_ns)
        wait = waits[at] if at < len(waits) else None
        length = sleep.end_ns - sleep.start_ns
        if wait is None or wait.woken_ns - sleep.end_ns > length + 1_000_000:
            who, what = "the kernel", "its own timer"
        else:
            who, what = reason(wait, evidence, stacks)
        yield (who, what, "asleep"), sleep.start_ns, length


def reason(wait: Wait, evidence: Evidence, stacks: Stacks) -> tuple[str, str]:
    """(who waited, and in what; the function that requested it)."""
    who = evidence.who(wait.task, wait.start_ns)
    calls = [c for c in evidence.calls_at(wait.task, max(0, wait.stack)) if c.kind in _CONTEXTS]
    what = sleeper(wait, evidence, stacks)
    if what in _WORKERS:
        # A worker sleeps until there is work; the work that it was woken for is what matters.
        work = evidence.next_work(wait.task, wait.end_ns)
        return who, f"delayed {label(work, evidence)}" if work else what
    return (f"{who}: {label(calls[-1], evidence)}" if calls else who), what


def spinning(evidence: Evidence) -> Iterator[tuple[str, str, int, int]]:
    """Delay loops, without those inside another one: (who waits, the function that requested it, start and
    length in ns). What devices take meanwhile does not wait for a clock, and is left out: the model stops all
    CPUs for it."""
    done: dict[int, int] = defaultdict(int)
    for call in evidence.scene.of(*DELAYS):
        if call.start_ns < done[call.task.number]:
            continue
        done[call.task.number] = call.end_ns
        who = doing(evidence, call.task, call.first, call.start_ns)
        devices_ns = sum(evidence.ledger.devices(call.first, call.last))
        yield who, caller(call, evidence), call.start_ns, call.end_ns - call.start_ns - devices_ns


def countdown(evidence: Evidence) -> list[Call]:
    """The boot loader's delays while it waits for a key before it boots, in order; none if there is no boot
    loader."""
    loader = evidence.run.board.boot_loader
    if not loader.programs:
        return []
    delays = evidence.scene.of(loader.main.hook(Hooked.DELAY))
    return [call for call in delays if re.search(loader.countdown, caller(call, evidence))]


def caller(call: Call, evidence: Evidence) -> str:
    """The function that called a delay."""
    name = evidence.names.name(evidence.phase_of(call.kind), evidence.arch.call_before(call.caller))
    return name.partition(" ")[2] or name


def spinning_in(evidence: Evidence, start_ns: int, end_ns: int) -> int:
    """Time in ns that delay loops took between two moments."""
    return sum(
        max(0, min(end_ns, start + length) - max(start_ns, start))
        for _, _, start, length in spinning(evidence)
    )
