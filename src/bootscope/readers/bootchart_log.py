# SPDX-License-Identifier: Apache-2.0
"""The logs inside a bootchart archive: blocks of /proc text, each headed by the uptime in 1/100 s."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

TICK_NS = 10_000_000
"""Uptime in /proc and CPU time in /proc/PID/stat both count in 1/100 s."""
_LATEST_TICKS = 10**12
_ACCOUNT = 64
"""Size of a record of the kernel's process accounting, version 3 (struct acct_v3)."""
# The name is bare, and may hold spaces; older collectors put it in brackets.
_TASK = re.compile(rb"(\d{1,9}) (\d{1,9}) (.{0,66}) (\d{1,18}) (\d{1,18}) (\d{1,18})\s{0,8}", re.DOTALL)
_PATERNITY = re.compile(rb"(\d{1,9}) (\d{1,9})\s{0,8}")


@dataclass(frozen=True, slots=True)
class Block:
    """What was read at one moment: `line` is the number, from 1, of the block's first line."""

    at_ns: int
    line: int
    lines: list[bytes]


class Counter:
    """Lines of all logs of an archive, and what was wrong with them."""

    def __init__(self) -> None:
        self.understood = self.empty = 0
        self.missed: list[tuple[str, int, bytes]] = []
        """Log, number from 1, text."""
        self.repairs: dict[tuple[str, str], tuple[int, int]] = {}
        """(log, what) -> how often, first line."""

    def miss(self, log: str, number: int, text: bytes) -> None:
        """Keeps a line that was not understood."""
        self.missed.append((log, number, text))

    def repair(self, log: str, what: str, number: int) -> None:
        """Counts a repair."""
        count, first = self.repairs.get((log, what), (0, number))
        self.repairs[log, what] = (count + 1, first)


def blocks(log: str, data: bytes, counter: Counter) -> Iterator[Block]:
    """Cuts a log into its blocks; the heads are counted as understood, other lines are the caller's.

    A block whose time is not after the one before is left out, and counted as a repair with its lines.
    """
    before_ns = -1
    at_ns: int | None = None
    first, found = 0, list[bytes]()
    # Without splitlines(): a process may have any character in its name but the line feed.
    lines = data.split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    for number, line in enumerate([*lines, b""], 1):
        if line.strip():
            if at_ns is not None:
                found.append(line)
            elif (at_ns := _ticks_ns(line)) is not None:
                first, found = number + 1, []
                counter.understood += 1
            else:
                counter.miss(log, number, line)
            continue
        counter.empty += number <= len(lines)
        if at_ns is not None and at_ns > before_ns:
            before_ns = at_ns
            yield Block(at_ns, first, found)
        elif at_ns is not None:
            counter.repair(log, "clock went back: samples left out", first)
            counter.understood += len(found)
        at_ns = None


def _ticks_ns(line: bytes) -> int | None:
    text = line.strip()
    if not text.isdigit() or len(text) > 12:
        return None
    ticks = int(text)
    return ticks * TICK_NS if ticks < _LATEST_TICKS else None


@dataclass(frozen=True, slots=True)
class Seen:
    """A process at a moment; `cpu_ns` and `blocked_ns` since its start.

    `start_ns` is None where the log does not tell, `state` is a letter of /proc/PID/stat or the empty
    string.
    """

    pid: int
    ppid: int
    name: bytes
    state: str
    cpu_ns: int
    blocked_ns: int
    start_ns: int | None


def stat_line(line: bytes) -> Seen | None:
    """A line of /proc/PID/stat. The name may hold anything, also brackets and spaces: man proc_pid_stat."""
    head, bracket, tail = line.rpartition(b") ")
    pid, _, name = head.partition(b" (")
    rest = tail.split(b" ", 20)
    if not bracket or len(rest) < 20 or len(rest[0]) != 1:
        return None
    try:
        numbers = [int(x) for x in (pid, rest[1], rest[11], rest[12], rest[19]) if len(x) < 12]
    except ValueError:
        return None
    if len(numbers) < 5 or min(numbers) < 0:
        return None
    number, ppid, user, system, start = numbers
    cpu_ns = (user + system) * TICK_NS
    state = rest[0].decode("latin-1")
    return Seen(number, ppid, name, state, cpu_ns, 0, start * TICK_NS)


def task_line(line: bytes) -> Seen | None:
    """A line of bootchart2's taskstats.log: pid, ppid, name, CPU, block I/O and swap-in delay in ns."""
    match = _TASK.fullmatch(line)
    if not match:
        return None
    pid, ppid, cpu_ns, io_ns, swap_ns = (int(match[i]) for i in (1, 2, 4, 5, 6))
    name = match[3].removeprefix(b"(").removesuffix(b")")
    return Seen(pid, ppid, name, "", cpu_ns, io_ns + swap_ns, None)


def header(data: bytes, counter: Counter) -> dict[str, str]:
    """``key = value`` lines; a line without a key goes on with the value before."""
    found: dict[str, list[str]] = {}
    last = ""
    for number, line in enumerate(data.decode("utf-8", "backslashreplace").split("\n"), 1):
        key, equals, value = line.partition("=")
        if not line.strip():
            counter.empty += number <= data.count(b"\n")
            continue
        if equals and re.fullmatch(r"[a-z][a-z0-9._]{0,60}", key.strip()):
            last = key.strip()
            found.setdefault(last, []).append(value.strip())
        elif last:
            found[last].append(line.strip())
        else:
            counter.miss("header", number, line.encode("utf-8", "backslashreplace"))
            continue
        counter.understood += 1
    return {key: " ".join(parts) for key, parts in found.items()}


def parents(data: bytes, counter: Counter) -> dict[int, int]:
    """paternity.log: lines of child and parent, for processes that lost their first parent."""
    found: dict[int, int] = {}
    for number, line in enumerate(data.split(b"\n"), 1):
        match = _PATERNITY.fullmatch(line)
        if match:
            found[int(match[1])] = int(match[2])
            counter.understood += 1
        elif line.strip():
            counter.miss("paternity.log", number, line)
    return found


def accounted_parents(data: bytes, counter: Counter) -> dict[int, int]:
    """kernel_pacct: parents out of the kernel's process accounting, version 3, in either byte order."""
    found: dict[int, int] = {}
    for at in range(0, len(data) - _ACCOUNT + 1, _ACCOUNT):
        record = data[at : at + _ACCOUNT]
        # The highest bit of the version says that the writer was big-endian.
        if record[1] & 0x7F != 3:
            counter.miss("kernel_pacct", at // _ACCOUNT + 1, record)
            continue
        order = "big" if record[1] & 0x80 else "little"
        pid, ppid = (int.from_bytes(record[i : i + 4], order) for i in (16, 20))  # type: ignore[arg-type]
        found[pid] = ppid
        counter.understood += 1
    if len(data) % _ACCOUNT:
        counter.repair("kernel_pacct", "the last record is truncated", len(data) // _ACCOUNT + 1)
    return found


def command_lines(data: bytes, counter: Counter) -> dict[int, str]:
    """cmdline2.log: pid, ``:program``, ``:argument\\0argument...``, an empty line."""
    found: dict[int, str] = {}
    block: list[bytes] = []
    for number, line in enumerate([*data.split(b"\n"), b""], 1):
        if line:
            block.append(line)
            continue
        if _is_command(block):
            words = [w for w in b" ".join(block[2:]).removeprefix(b":").split(b"\0") if w]
            words = words or [block[1].removeprefix(b":")]
            found[int(block[0])] = b" ".join(words).decode("utf-8", "backslashreplace")
            counter.understood += len(block)
        else:
            for back, text in enumerate(reversed(block), 1):
                counter.miss("cmdline2.log", number - back, text)
        counter.empty += bool(block)
        block = []
    return found


def _is_command(block: list[bytes]) -> bool:
    return len(block) >= 3 and block[0].isdigit() and len(block[0]) < 10 and block[1].startswith(b":")
