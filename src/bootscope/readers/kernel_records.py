# SPDX-License-Identifier: Apache-2.0
"""Kernel trace events whose fields a file stores as values: which are needed, and what becomes of them.

The names of events and fields are those of /sys/kernel/tracing/events/*/*/format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bootscope.readers.kernel_events import KernelEvents
from bootscope.readers.lines import Memo

WANTED: Mapping[str, tuple[str, ...]] = {
    "sched_switch": ("prev_comm", "prev_pid", "prev_state", "next_comm", "next_pid"),
    "sched_wakeup": ("comm", "pid"),
    "sched_wakeup_new": ("comm", "pid"),
    "sched_process_fork": ("parent_comm", "parent_pid", "child_pid"),
    "sched_process_exec": ("filename", "pid"),
    "sched_process_exit": ("comm", "pid"),
    "block_rq_issue": ("dev", "sector", "bytes", "rwbs"),
    "block_rq_complete": ("dev", "sector", "nr_sector"),
    "initcall_level": ("level",),
    "initcall_start": ("func",),
    "initcall_finish": ("func", "ret"),
    "irq_handler_entry": ("irq", "name"),
    "irq_handler_exit": ("irq",),
    "softirq_entry": ("vec",),
    "softirq_exit": ("vec",),
    "print": ("buf",),
}
"""The fields of each event that becomes a part of a track. `prev_state` is wanted as letters, `dev` as
``major,minor``, `func` as a function's name, `vec` as ``1 TIMER``."""
TEXTS = frozenset(
    ("prev_comm", "next_comm", "comm", "parent_comm", "filename", "rwbs", "level", "name", "buf")
)
"""Which of these fields are text; the others are numbers."""

STATES = {1: "S", 2: "D", 4: "T", 8: "t", 16: "X", 32: "Z", 64: "P", 128: "I"}
"""The bits of a task's state since Linux 4.14 (include/linux/sched.h); the next bit says preempted."""
SOFTIRQS = ("HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU")
"""Names of softirqs by number (include/linux/interrupt.h)."""
_MINOR_BITS = 20

Take = Callable[..., None]
"""Gets the time in ns, the CPU, the task, its number, and the values that WANTED names, all in that order."""


def device(number: int) -> str:
    """A block device's number as text, ``254,0``."""
    return f"{number >> _MINOR_BITS},{number & (1 << _MINOR_BITS) - 1}"


def state(bits: int, letters: Mapping[int, str] = STATES) -> str:
    """What a task was left in, in the kernel's letters; R: ready, with + where it was preempted."""
    above = max(letters, default=0) << 1
    known = [letter for bit, letter in letters.items() if bits & bit] if bits >= 0 else []
    return ("|".join(known) or "R") + ("+" if bits & above else "")


def softirq(number: int, names: Mapping[int, str] | None = None) -> str:
    """A softirq's number and name, ``1 TIMER``; `names` are those that the trace tells."""
    known = names or dict(enumerate(SOFTIRQS))
    return f"{number} {known.get(number, '')}".strip()


def takers(events: KernelEvents) -> dict[str, Take]:
    """What hands the values of each event in WANTED to the tracks of `events`."""
    ran, lives, storage = events.scheduling, events.processes, events.storage
    calls, irqs = events.initcalls, events.interrupts
    # The same names again and again: each is made and kept once.
    by: Memo[tuple[str, int], str] = Memo(lambda task: f"{task[0]} ({task[1]})")
    irq: Memo[tuple[object, ...], str] = Memo(lambda v: " ".join(("irq", *map(str, v))))
    soft: Memo[str, str] = Memo("softirq {}".format)
    return {
        "sched_switch": lambda at, cpu, task, pid, v: ran.switched(at, cpu, *v),
        "sched_wakeup": lambda at, cpu, task, pid, v: ran.woke(at, task, *v),
        "sched_wakeup_new": lambda at, cpu, task, pid, v: ran.woke(at, task, *v),
        "sched_process_fork": lambda at, cpu, task, pid, v: lives.forked(at, *v),
        "sched_process_exec": lambda at, cpu, task, pid, v: lives.executed(at, task, v[1], v[0]),
        "sched_process_exit": lambda at, cpu, task, pid, v: lives.exited(at, *v),
        "block_rq_issue": lambda at, cpu, task, pid, v: storage.issued(at, by[task, pid], *v),
        "block_rq_complete": lambda at, cpu, task, pid, v: storage.completed(at, *v),
        "initcall_level": lambda at, cpu, task, pid, v: calls.level(at, *v),
        "initcall_start": lambda at, cpu, task, pid, v: calls.started(at, pid, *v),
        "initcall_finish": lambda at, cpu, task, pid, v: calls.finished(at, pid, v[0], str(v[1])),
        "irq_handler_entry": lambda at, cpu, task, pid, v: irqs.entered(at, cpu, irq[v[0], v[1]]),
        "irq_handler_exit": lambda at, cpu, task, pid, v: irqs.left(at, cpu, irq[v[0],]),
        "softirq_entry": lambda at, cpu, task, pid, v: irqs.entered(at, cpu, soft[v[0]]),
        "softirq_exit": lambda at, cpu, task, pid, v: irqs.left(at, cpu, soft[v[0]]),
        "print": lambda at, cpu, task, pid, v: events.mark(at, *v),
    }
