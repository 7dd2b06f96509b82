# SPDX-License-Identifier: Apache-2.0
"""System calls that achieve nothing: repeated requests, searches in wrong places, transfers byte by byte.

From a recording with system calls. A call counts once, under the first kind that applies.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from bootscope.analysis.rows import Cell, Column, Rows
from bootscope.core.text import span

COLUMNS = (
    Column("task", "process", "text"),
    Column("kind", "what", "text"),
    Column("times", "calls", "count"),
    Column("cpu_ns", "CPU ms", "ns"),
    Column("storage_ns", "storage", "ns"),
    Column("example", "such as", "text"),
    Column("start_ns", "first s", "at"),
)
LIBRARIES = "libraries not there"
NOT_THERE = "files not there"
AGAIN = "opened again"
ASKED = "asked again"
SMALL = "a few bytes each"
POLLS = "looks again and again"

Row = dict[str, Cell]
_OPENS = ("open", "openat", "openat2")
_ASKS = ("access", "faccessat", "faccessat2", "stat", "stat64", "lstat", "lstat64", "statx", "fstatat64",
         "newfstatat", "readlink", "readlinkat")  # fmt: skip
"""Calls that query a file by its name, and change nothing."""
_TRANSFERS = ("read", "write")
_WAITS = ("nanosleep", "clock_nanosleep", "poll", "ppoll", "select", "pselect6", "_newselect", "sched_yield")
_TIMED_OUT = ("0", "EINTR")
"""What a wait returns if nothing came."""
_STARTS, _LOADED = "execve", "set_tid_address"
"""A dynamic program's first call, and glibc's loader's call after it has loaded all libraries (2.32 and
newer: csu/libc-tls.c and sysdeps/nptl/dl_tls_init_tp.c)."""
_FEW_BYTES = 7
"""Fewer bytes than a counter has (eventfd, timerfd), which is read as a whole."""
OFTEN = 8
"""With this many calls of a kind, a program does more than look once or twice."""


def redundant(rows: Iterable[Row]) -> list[Row]:
    """Sums by process and kind of the calls that achieve nothing, the dearest first. `rows` are those of
    :func:`bootscope.analysis.syscalls.calls`; times in ns, of the kernel's work in the calls alone."""
    by_process: dict[Cell, list[Row]] = defaultdict(list)
    for row in rows:
        by_process[row["pid"]].append(row)
    found: dict[tuple[Cell, str], list[Row]] = defaultdict(list)
    for pid, own in by_process.items():
        for kind, row in _kinds(own):
            found[pid, kind].append(row)
    often = (AGAIN, ASKED, SMALL, POLLS)
    sums = [_sum(kind, own) for (_, kind), own in found.items() if kind not in often or len(own) >= OFTEN]
    return sorted(sums, key=_cost, reverse=True)


def of_kind(rows: Iterable[Row], kind: str) -> list[Row]:
    """The single calls of a kind, grouped by process."""
    by_process: dict[Cell, list[Row]] = defaultdict(list)
    for row in rows:
        by_process[row["pid"]].append(row)
    return [row for own in by_process.values() for found, row in _kinds(own) if found == kind]


def table(rows: Iterable[Row]) -> Rows:
    """The same as a table of `show`."""
    notes = ("What the kernel does in these calls; to enter and leave it takes time as well.",)
    return Rows("redundant", "Calls that could be avoided", COLUMNS, tuple(redundant(rows)), "dearest first",
                notes)  # fmt: skip


def words(found: Sequence[Row], kind: str) -> str:
    """A summary of one kind: how many calls, by how many processes, what they take, which process makes most;
    empty if there are none."""
    own = [row for row in found if row["kind"] == kind]
    if not own:
        return ""
    most = max(own, key=_times)
    who = f"{len(own)} processes, most by {most['task']}" if len(own) > 1 else str(most["task"])
    times = sum(map(_times, own))
    return f"{kind}: {times:,} calls of {who}, {span(sum(map(_cost, own)))}, such as {most['example']}"


def _kinds(own: Sequence[Row]) -> Iterator[tuple[str, Row]]:
    """(kind, call) for each call of a process that is of some kind."""
    # The kernel starts the first process itself, without a call.
    loading, seen = own[0]["pid"] == 1, set[tuple[Cell, ...]]()
    for row in own:
        what, name, failed = str(row["what"]), str(row["file"]), row["result"] == "ENOENT"
        succeeded = not str(row["result"]).startswith(("E", "-", "n"))
        if what == _STARTS and succeeded:
            loading = True
            seen.clear()
        elif what == _LOADED:
            loading = False
        elif failed and name and what in (*_OPENS, *_ASKS):
            yield (LIBRARIES if loading else NOT_THERE), row
        elif what in (*_OPENS, *_ASKS) and succeeded and name.startswith("/"):
            key = (what in _OPENS, what if what in _ASKS else "", name)
            if key in seen:
                yield (AGAIN if what in _OPENS else ASKED), row
            seen.add(key)
        elif what in _TRANSFERS and succeeded and _count(row) <= _FEW_BYTES:
            yield SMALL, row
        elif (what in _WAITS and row["result"] in _TIMED_OUT) or row["result"] == "EAGAIN":
            yield POLLS, row


def _count(row: Row) -> int:
    """The number of bytes that a call asks to read or write."""
    arguments = str(row["arguments"]).split()
    return int(arguments[2], 16) if len(arguments) > 2 else _FEW_BYTES + 1


def _times(row: Row) -> int:
    return int(row["times"] or 0)


def _cost(row: Row) -> int:
    return int(row["cpu_ns"] or 0) + int(row["storage_ns"] or 0)


def _sum(kind: str, own: Sequence[Row]) -> Row:
    dearest = max(own, key=_cost)
    return {
        # By then the process has its program's name.
        "task": own[-1]["task"],
        "kind": kind,
        "times": len(own),
        "cpu_ns": sum(int(row["cpu_ns"] or 0) for row in own),
        "storage_ns": sum(int(row["storage_ns"] or 0) for row in own),
        "example": f"{dearest['what']} {dearest['file']}".strip(),
        "start_ns": own[0]["start_ns"],
    }
