# SPDX-License-Identifier: Apache-2.0
"""System calls (`record --syscalls`): which process made which, how long each took, with which result."""

from __future__ import annotations

import errno
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable

from bootscope.analysis import redundant_calls
from bootscope.analysis.call_pairs import pairs
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.kernel_activity import Call, Task
from bootscope.analysis.replay import text
from bootscope.analysis.rows import Cell, Column, Rows
from bootscope.capture.record import SYSCALL, SYSCALL_FILE
from bootscope.capture.stream import Hook
from bootscope.core.errors import UserError

SUMS = (
    Column("task", "process", "text"),
    Column("what", "system call", "text"),
    Column("times", "calls", "count"),
    Column("failed", "failed", "count"),
    Column("total_ns", "total ms", "ns"),
    Column("cpu_ns", "CPU", "ns"),
    Column("storage_ns", "storage", "ns"),
    Column("start_ns", "first s", "at"),
)
FILES = (
    Column("file", "file", "text"),
    Column("times", "looked up", "count"),
    Column("failed", "failed", "count"),
    Column("processes", "processes", "count"),
    Column("cpu_ns", "CPU ms", "ns"),
    Column("storage_ns", "storage", "ns"),
    Column("task", "first by", "text"),
    Column("start_ns", "first s", "at"),
)
CALLS = (
    Column("start_ns", "start s", "at"),
    Column("task", "process", "text"),
    Column("what", "system call", "text"),
    Column("file", "file", "text"),
    Column("arguments", "arguments", "text"),
    Column("total_ns", "length ms", "ns"),
    Column("cpu_ns", "CPU", "ns"),
    Column("result", "result", "text"),
)
_LARGEST_ERROR = 4095
_REMOVES = ("unlink", "unlinkat", "rmdir")


def recorded(evidence: Evidence) -> bool:
    """Whether the system calls of a boot were recorded."""
    return SYSCALL_FILE in evidence.run.watch.hooks.values()


def calls(evidence: Evidence) -> list[dict[str, Cell]]:
    """A row for every system call, by start. Raises UserError for a recording without."""
    if not recorded(evidence):
        raise UserError("this recording has no system calls", hint="bootscope record SYSTEM --syscalls")
    found = pairs(evidence, SYSCALL, takes_caller=False)
    files = _files(evidence, [call for call, _ in found])
    return [_row(call, arguments, files.get(call, []), evidence) for call, arguments in found]


def looked_up(evidence: Evidence) -> list[str]:
    """The names, as given, of all files that the boot looked up, including those that the kernel starts by
    itself. Files that a process looks up to remove them, as switch_root does with an initramfs, are left
    out."""
    numbers = {n for n, name in evidence.run.watch.hooks.items() if name == SYSCALL_FILE}
    names = {text(r.text) for r in evidence.records if isinstance(r, Hook) and r.hook in numbers}
    files = _files(evidence, [call for call, _ in pairs(evidence, SYSCALL, takes_caller=False)])
    removed = {(c.task, name) for c, own in files.items() if c.text in _REMOVES for name in own}
    by_programs = {name for own in files.values() for name in own}
    used = {name for call, own in files.items() for name in own if (call.task, name) not in removed}
    # The kernel unpacks an initramfs by names without a leading slash.
    return sorted(used | {name for name in names - by_programs if name.startswith("/")})


def _files(evidence: Evidence, found: Iterable[Call]) -> dict[Call, list[str]]:
    """The names of the files that each call looked up: those that its task looked up while it was open."""
    by_task: dict[Task, list[Call]] = defaultdict(list)
    for call in found:
        by_task[call.task].append(call)
    firsts = {task: [call.first for call in own] for task, own in by_task.items()}
    numbers = {n for n, name in evidence.run.watch.hooks.items() if name == SYSCALL_FILE}
    files: dict[Call, list[str]] = defaultdict(list)
    for index, record in enumerate(evidence.records):
        if not isinstance(record, Hook) or record.hook not in numbers:
            continue
        now_ns = evidence.clock.before(index)
        task = evidence.slice_at(now_ns, evidence.cpu_of_records[index]).task
        at = bisect_right(firsts.get(task, []), index) - 1
        if at >= 0 and index < by_task[task][at].last:
            files[by_task[task][at]].append(text(record.text))
    return files


def view(evidence: Evidence, phase: str | None = None) -> tuple[Rows, ...]:
    """By process and call, by file, those that achieve nothing, and each call.

    Raises UserError for a recording without system calls.
    """
    rows = [row for row in calls(evidence) if phase is None or row["phase"] == phase]
    sums = Rows(
        "syscalls",
        "System calls by process",
        SUMS,
        tuple(_sums(rows)),
        "longest first",
        ("The total includes sleep, such as waiting for a child to exit or for a key.",),
    )
    files = Rows("files", "Files looked up", FILES, tuple(_by_file(rows)), "most often first")
    each = Rows("calls", "Each system call", CALLS, tuple(rows), "in order of time", weight="cpu_ns")
    return sums, files, redundant_calls.table(rows), each


def _row(call: Call, arguments: tuple[int, ...], files: list[str], evidence: Evidence) -> dict[str, Cell]:
    spent = evidence.ledger.of_call(call)
    return {
        "task": evidence.who(call.task, call.start_ns),
        "pid": call.task.pid,
        "what": call.text,
        "phase": evidence.phase_at(call.start_ns),
        "start_ns": call.start_ns,
        "end_ns": call.end_ns,
        "total_ns": call.end_ns - call.start_ns,
        "cpu_ns": spent.cpu_ns,
        "storage_ns": spent.storage_ns,
        "file": " ".join(dict.fromkeys(files)),
        "arguments": " ".join(map(hex, arguments)),
        "result": "not returned" if call.open else result(call.result, evidence.arch.word_bytes),
    }


def result(value: int, word_bytes: int) -> str:
    """What a call returned, from the register: an error by name, such as ENOENT, else the number."""
    negative = (1 << 8 * word_bytes) - value
    if 0 < negative <= _LARGEST_ERROR:
        return errno.errorcode.get(negative, f"-{negative}")
    return hex(value) if value > _LARGEST_ERROR else str(value)


def _failed(rows: Iterable[dict[str, Cell]]) -> int:
    return sum(str(row["result"]).startswith(("E", "-")) for row in rows)


def _sum(rows: Iterable[dict[str, Cell]], key: str) -> int:
    return sum(int(row[key] or 0) for row in rows)


def _sums(rows: list[dict[str, Cell]]) -> list[dict[str, Cell]]:
    by_call: dict[tuple[Cell, Cell], list[dict[str, Cell]]] = defaultdict(list)
    for row in rows:
        by_call[row["task"], row["what"]].append(row)
    made: list[dict[str, Cell]] = [
        {
            "task": task,
            "what": what,
            "times": len(own),
            "failed": _failed(own),
            "start_ns": own[0]["start_ns"],
            **{key: _sum(own, key) for key in ("total_ns", "cpu_ns", "storage_ns")},
        }
        for (task, what), own in by_call.items()
    ]
    return sorted(made, key=lambda row: -int(row["total_ns"] or 0))


def _by_file(rows: list[dict[str, Cell]]) -> list[dict[str, Cell]]:
    by_file: dict[Cell, list[dict[str, Cell]]] = defaultdict(list)
    for row in rows:
        if row["file"]:
            by_file[row["file"]].append(row)
    made: list[dict[str, Cell]] = [
        {
            "file": file,
            "times": len(own),
            "failed": _failed(own),
            "processes": len({row["task"] for row in own}),
            "task": own[0]["task"],
            "start_ns": own[0]["start_ns"],
            **{key: _sum(own, key) for key in ("cpu_ns", "storage_ns")},
        }
        for file, own in by_file.items()
    ]
    return sorted(made, key=lambda row: (-int(row["times"] or 0), str(row["file"])))
