# SPDX-License-Identifier: Apache-2.0
"""The logs inside a bootchart archive: blocks of /proc text, each headed by the uptime in 1/100 s."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bootscope.readers.lines import decode
from bootscope.readers.tally import Tally

TICK_NS = 10_000_000
"""Uptime in /proc and CPU time in /proc/PID/stat both count in 1/100 s."""
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


class Logs(Tally):
    """Counts the lines of all logs of an archive."""

    def count(self, log: str, number: int, line: bytes, understood: object) -> None:
        """Counts a line of a log (number from 1) that is not empty, missed unless `understood`."""
        if understood:
            self.understood += 1
        else:
            self.miss(number, f"{log}: {decode(line)}")


def blocks(log: str, data: bytes, tally: Logs) -> Iterator[Block]:
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
            else:
                at_ns, first, found = _ticks_ns(line), number + 1, []
                tally.count(log, number, line, at_ns is not None)
            continue
        tally.empty += number <= len(lines)
        if at_ns is not None and at_ns > before_ns:
            before_ns = at_ns
            yield Block(at_ns, first, found)
        elif at_ns is not None:
            tally.repair(f"{log}: clock went back: samples left out", first)
            tally.understood += len(found)
        at_ns = None


def _ticks_ns(line: bytes) -> int | None:
    text = line.strip()
    return int(text) * TICK_NS if text.isdigit() and len(text) <= 12 else None


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


def sampled(
    log: str, data: bytes, parse: Callable[[bytes], Seen | None], tally: Logs
) -> Iterator[tuple[int, list[Seen]]]:
    """The moments of a log of samples of processes, in ns, and what `parse` makes of the lines of each."""
    for block in blocks(log, data, tally):
        seen = [parse(line) for line in block.lines]
        for number, (line, one) in enumerate(zip(block.lines, seen, strict=True), block.line):
            tally.count(log, number, line, one)
        yield block.at_ns, [one for one in seen if one]


def header(data: bytes, tally: Logs) -> dict[str, str]:
    """``key = value`` lines; a line without a key goes on with the value before."""
    found: dict[str, list[str]] = {}
    last = ""
    for number, line in enumerate(data.split(b"\n"), 1):
        text = decode(line)
        key, equals, value = text.partition("=")
        if not text.strip():
            tally.empty += number <= data.count(b"\n")
            continue
        if equals and re.fullmatch(r"[a-z][a-z0-9._]{0,60}", key.strip()):
            last = key.strip()
            found.setdefault(last, []).append(value.strip())
        elif last:
            found[last].append(text.strip())
        tally.count("header", number, line, last)
    return {key: " ".join(parts) for key, parts in found.items()}


def parents(data: bytes, tally: Logs) -> dict[int, int]:
    """paternity.log: lines of child and parent, for processes that lost their first parent."""
    found: dict[int, int] = {}
    for number, line in enumerate(data.split(b"\n"), 1):
        match = _PATERNITY.fullmatch(line)
        if match:
            found[int(match[1])] = int(match[2])
        if line.strip():
            tally.count("paternity.log", number, line, match)
    return found


def accounted_parents(data: bytes, tally: Logs) -> dict[int, int]:
    """kernel_pacct: parents out of the kernel's process accounting, version 3, in either byte order."""
    found: dict[int, int] = {}
    for at in range(0, len(data) - _ACCOUNT + 1, _ACCOUNT):
        record = data[at : at + _ACCOUNT]
        # The highest bit of the version says that the writer was big-endian.
        known = record[1] & 0x7F == 3
        tally.count("kernel_pacct", at // _ACCOUNT + 1, record, known)
        if known:
            pid, ppid = struct.unpack_from(">2I" if record[1] & 0x80 else "<2I", record, 16)
            found[pid] = ppid
    if len(data) % _ACCOUNT:
        tally.repair("kernel_pacct: the last record is truncated", len(data) // _ACCOUNT + 1)
    return found


def command_lines(data: bytes, tally: Logs) -> dict[int, str]:
    """cmdline2.log: pid, ``:program``, ``:argument\\0argument...``, an empty line."""
    found: dict[int, str] = {}
    block: list[bytes] = []
    for number, line in enumerate([*data.split(b"\n"), b""], 1):
        if line:
            block.append(line)
            continue
        known = _is_command(block)
        if known:
            words = [w for w in b" ".join(block[2:]).removeprefix(b":").split(b"\0") if w]
            words = words or [block[1].removeprefix(b":")]
            found[int(block[0])] = decode(b" ".join(words))
        for back, text in enumerate(reversed(block), 1):
            tally.count("cmdline2.log", number - back, text, known)
        tally.empty += bool(block)
        block = []
    return found


def _is_command(block: list[bytes]) -> bool:
    return len(block) >= 3 and block[0].isdigit() and len(block[0]) < 10 and block[1].startswith(b":")
