# SPDX-License-Identifier: Apache-2.0
"""Initcalls, module starts and driver probes, together with the boot loader's start-up steps and probes."""

from __future__ import annotations

import errno
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from bootscope.analysis.cpu_accounting import Spent
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.kernel_activity import Call, Task
from bootscope.analysis.rows import Cell, Column, Rows
from bootscope.loaders.model import Hooked
from bootscope.loaders.registry import hooks

LOADER_KINDS = hooks(Hooked.INITCALL, Hooked.PROBE, Hooked.COMMAND)
KINDS = ("initcall", "probe", *LOADER_KINDS)
_DEFERRED = 517
"""EPROBE_DEFER: the driver asked to be tried again later."""
COLUMNS = (
    Column("what", "what", "text"),
    Column("kind", "kind", "text"),
    Column("level", "level", "text"),
    Column("start_ns", "start s", "at"),
    Column("path_ns", "boot waited ms", "ns"),
    Column("total_ns", "total ms", "ns"),
    Column("self_ns", "CPU", "ns"),
    Column("console_ns", "console", "ns"),
    Column("storage_ns", "storage", "ns"),
    Column("waiting_ns", "waiting", "ns"),
    Column("task", "in", "text"),
    Column("result", "result", "text"),
)


def name_of(call: Call, evidence: Evidence) -> str:
    """The name of a call: its function, device or command."""
    address = evidence.arch.code_address(call.value)
    if call.kind == "initcall":
        found = evidence.names.name("kernel", address).removeprefix("kernel ")
        return f"{found} [{call.detail}]" if call.detail else found
    if call.kind in hooks(Hooked.INITCALL):
        phase = evidence.phase_of(call.kind)
        return evidence.names.name(phase, address).partition(" ")[2] or hex(call.value)
    if call.kind == "probe":
        return f"{call.text or '?'} ({call.detail or '?'})"
    return call.text or "?"


def level_of(call: Call, evidence: Evidence) -> str:
    """The level of an initcall; empty if it has none, and for other calls."""
    address = evidence.arch.code_address(call.value)
    return evidence.levels.get(address, "") if call.kind == "initcall" else ""


def view(evidence: Evidence, path: Iterable[tuple[int, int, Task]]) -> Rows:
    """All calls, ranked by how long the boot waited for each: its part, without the calls inside it, of the
    critical path. `path`: the stretches (start, end, task) of that, in order."""
    calls = [c for c in evidence.scene.of(*KINDS) if c.first >= 0]
    spent = {call: evidence.ledger.of_call(call) for call in calls}
    inside = _inside(calls)
    steps = _stretches(path)
    rows = [
        _row(call, evidence, spent, inside[call]) | {"path_ns": _on_path(call, inside[call], steps)}
        for call in calls
    ]
    rows.sort(key=lambda row: (-int(row["path_ns"] or 0), -int(row["self_ns"] or 0)))
    return Rows(
        "initcalls",
        "Initcalls, driver probes and the boot loader's steps",
        COLUMNS,
        tuple(rows),
        "those that the boot waited for longest first",
        ("The boot waited: without calls inside it, and as far as it is on the critical path.",),
    )


def _inside(calls: list[Call]) -> dict[Call, list[Call]]:
    """The calls directly inside each call, on the same task."""
    found: dict[Call, list[Call]] = defaultdict(list)
    open_of: dict[int, list[Call]] = defaultdict(list)
    for call in sorted(calls, key=lambda c: (c.first, -c.last)):
        stack = open_of[call.task.number]
        while stack and stack[-1].last <= call.first:
            stack.pop()
        if stack:
            found[stack[-1]].append(call)
        stack.append(call)
    return found


def _stretches(path: Iterable[tuple[int, int, Task]]) -> Mapping[Task, list[tuple[int, int]]]:
    """(start, end) of each task's stretches on the path, in order."""
    found: dict[Task, list[tuple[int, int]]] = defaultdict(list)
    for start, end, task in path:
        found[task].append((start, end))
    return found


def _on_path(call: Call, inside: Iterable[Call], steps: Mapping[Task, list[tuple[int, int]]]) -> int:
    """How much of a call, without those inside it, is on the path."""
    on_task = steps.get(call.task, [])
    return sum(_covered(on_task, start, end) for start, end in _own(call, inside))


def _own(call: Call, inside: Iterable[Call]) -> Iterator[tuple[int, int]]:
    """The stretches of a call without an open call inside it."""
    at = call.start_ns
    for below in sorted(inside, key=lambda c: c.start_ns):
        yield at, below.start_ns
        at = max(at, below.end_ns)
    yield at, call.end_ns


def _covered(stretches: list[tuple[int, int]], start_ns: int, end_ns: int) -> int:
    """How much of a stretch of time these cover; they are in order and do not overlap."""
    covered, at = 0, max(0, bisect_right(stretches, (start_ns, start_ns)) - 1)
    while at < len(stretches) and stretches[at][0] < end_ns:
        covered += max(0, min(end_ns, stretches[at][1]) - max(start_ns, stretches[at][0]))
        at += 1
    return covered


def _row(call: Call, evidence: Evidence, spent: dict[Call, Spent], inside: list[Call]) -> dict[str, Cell]:
    total = call.end_ns - call.start_ns
    own = spent[call]
    below = sum((spent[c] for c in inside), Spent())
    waiting = total - own.running_ns - sum(c.end_ns - c.start_ns - spent[c].running_ns for c in inside)
    return {
        "what": name_of(call, evidence),
        "kind": "module" if call.kind == "initcall" and call.detail else call.kind.replace(".", " "),
        "level": level_of(call, evidence),
        "phase": evidence.phase_at(call.start_ns),
        "start_ns": call.start_ns,
        "end_ns": call.end_ns,
        "total_ns": total,
        # By the target's own clock: storage and serial line take no time in the emulator.
        "virtual_ns": evidence.virtual_ns(call),
        "self_ns": own.cpu_ns - below.cpu_ns,
        "console_ns": own.console_ns - below.console_ns,
        "storage_ns": own.storage_ns - below.storage_ns,
        "waiting_ns": max(0, waiting),
        "task": evidence.who(call.task, call.start_ns),
        "result": _result(call),
    }


def _result(call: Call) -> str:
    """What a call returned, if that is informative. Newer kernels turn a probe's errors positive."""
    error = abs(call.result)
    if call.open:
        return "not finished"
    if not error or call.kind in hooks(Hooked.COMMAND):
        return ""
    if call.kind == "probe" and error == _DEFERRED:
        return "deferred"
    return errno.errorcode.get(error, str(call.result))
