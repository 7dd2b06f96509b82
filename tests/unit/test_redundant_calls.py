# SPDX-License-Identifier: Apache-2.0
"""Which system calls count as achieving nothing; tests/prebuilt/test_syscalls.py has those of a boot."""

from __future__ import annotations

from bootscope.analysis import redundant_calls as calls
from bootscope.analysis.rows import Cell


def row(what: str, file: str = "", result: str = "3", pid: int = 7, arguments: str = "") -> dict[str, Cell]:
    return {
        "task": f"app[{pid}]",
        "pid": pid,
        "what": what,
        "file": file,
        "result": result,
        "arguments": arguments,
        "cpu_ns": 1000,
        "storage_ns": 50,
        "start_ns": 10,
    }


def sums(*rows: dict[str, Cell]) -> dict[Cell, Cell]:
    """How many calls there are of each kind."""
    return {found["kind"]: found["times"] for found in calls.redundant(rows)}


def test_a_search_for_libraries_ends_with_the_loader() -> None:
    libc = ("openat", "/lib/tls/libc.so.6", "ENOENT")
    loaded = (row("execve", "/bin/app", "0"), row(*libc), row("openat", "/lib/libc.so.6"))
    after = (row("set_tid_address"), row("openat", "/etc/app.conf", "ENOENT"))
    assert sums(*loaded, *after) == {calls.LIBRARIES: 1, calls.NOT_THERE: 1}
    # A program that was not started yet searches nothing; the kernel starts the first process.
    assert sums(row(*libc)) == {calls.NOT_THERE: 1}
    assert sums(row(*libc, pid=1)) == {calls.LIBRARIES: 1}
    # A failed start is a file that is not there, by itself no new program.
    assert sums(row("execve", "/sbin/app", "ENOENT"), row(*libc)) == {calls.NOT_THERE: 1}


def test_what_is_asked_once_or_twice_is_in_order() -> None:
    opened = [row("openat", "/etc/passwd") for _ in range(calls.OFTEN)]
    assert sums(*opened) == {}
    assert sums(*opened, row("openat", "/etc/passwd")) == {calls.AGAIN: calls.OFTEN}
    # Another process, another program of the same process, another way of asking: not again.
    assert sums(*opened, row("openat", "/etc/passwd", pid=8)) == {}
    assert sums(*opened, row("execve", "/bin/other", "0"), row("openat", "/etc/passwd")) == {}
    assert sums(*opened, row("statx", "/etc/passwd")) == {}
    asked = [row("statx", "/etc/passwd", "0") for _ in range(calls.OFTEN + 1)]
    assert sums(*asked) == {calls.ASKED: calls.OFTEN}


def test_bytes_one_by_one_and_polls() -> None:
    single = [row("read", result="1", arguments="0x0 0xbeef 0x1") for _ in range(9)]
    block = [row("read", result="1", arguments="0x0 0xbeef 0x1000") for _ in range(9)]
    polls = [row("read", result="EAGAIN", arguments="0x0 0xbeef 0x1000") for _ in range(9)]
    assert sums(*single) == {calls.SMALL: 9}
    assert sums(*block) == {}
    assert sums(*polls) == {calls.POLLS: 9}
    assert sums(*[row("nanosleep", result="0") for _ in range(9)]) == {calls.POLLS: 9}
    # What came is what it waited for, and a counter is read as a whole.
    assert sums(*[row("poll", result="1") for _ in range(9)]) == {}
    assert sums(*[row("poll", result="0") for _ in range(9)]) == {calls.POLLS: 9}
    assert sums(*[row("read", result="8", arguments="0x5 0xbeef 0x8") for _ in range(9)]) == {}
    # A read that waits for a key when the recording ends has not failed, and not succeeded.
    assert sums(*[row("read", result="not returned", arguments="0x0 0x1 0x1") for _ in range(9)]) == {}


def test_the_words_name_who_makes_most_calls_and_what_they_take() -> None:
    rows = [row("openat", f"/lib/{n}", "ENOENT", pid) for pid, many in ((8, 2), (9, 3)) for n in range(many)]
    found = calls.redundant(rows)
    assert [one["cpu_ns"] for one in found] == [3000, 2000]
    told = calls.words(found, calls.NOT_THERE)
    assert told.startswith("files not there: 5 calls of 2 processes, most by app[9], 5.2 µs, such as openat")
    assert calls.words(found, calls.POLLS) == ""
