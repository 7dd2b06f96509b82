# SPDX-License-Identifier: Apache-2.0
"""Lines of strace and ltrace: who called what, when, with what result, for how long.

Both print alike: an optional process, an optional stamp, and a call, which another process may cut into
an ``<unfinished ...>`` and a ``<... resumed>`` part.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from bootscope.readers.base import Boot, Clock
from bootscope.readers.call_process import Open, Process, command
from bootscope.readers.call_stamps import CallStamps
from bootscope.readers.counts_table import CountsTable, is_head
from bootscope.readers.tally import Tally
from bootscope.readers.timespan import decimal_ns
from bootscope.timeline.trace import Span, Table

PREFIX = (
    r"(?:\[pid +(\d{1,9})(?:<[^>]{0,64}>)?\] |(\d{1,9})(?:<[^>]{0,64}>)? +(?=\S))?"
    r"(?: {0,8}(\d\d:\d\d:\d\d(?:\.\d{1,9})?|\d{1,12}\.\d{3,9})(?: \(\+ {0,12}(\d{1,9}\.\d{1,9})\))? )?"
    r"(?:\[ {0,6}[0-9a-f?]{1,16}\] )?"
)
_PREFIX = re.compile(PREFIX)
_CALL = re.compile(r"([A-Za-z_.][\w.@:>~-]{0,120})\(")
_RESUMED = re.compile(r"<\.\.\. ([\w.@:>~-]{1,120}) resumed> ?")
_LENGTH = re.compile(r" <(\d{1,9}\.\d{1,9})>$")
_ATTACHED = re.compile(r"(?:strace: )?Process (\d{1,9}) (?:attached|detached|resumed|suspended)")
_ATTACHED_INSIDE = re.compile(r"strace: Process (\d{1,9}) attached$")
_ENDED = re.compile(r"\+\+\+ (exited|killed|superseded|core dumped)")
_CHILD = ("clone", "clone3", "fork", "vfork", "SYS_clone", "SYS_clone3", "SYS_fork", "SYS_vfork")
_EXEC = ("execve", "execveat", "SYS_execve")
_MAX_ANCESTORS = 100
_MAX_LINE = 1 << 20
_UNFINISHED = "<unfinished ...>"
_NO_RETURN = "<no return ...>"


@dataclass(slots=True)
class _Sum:
    """What one function cost."""

    calls: int = 0
    errors: int = 0
    ns: int = 0
    timed: int = 0


class CallTrace:
    """Reads the lines of one trace."""

    def __init__(self, tally: Tally, what: str) -> None:
        self._tally = tally
        self._what = what
        self._by_pid: dict[int, Process] = {}
        self._all: list[Process] = []
        self._attached: set[int] = set()
        self._times_seen: dict[int, int] = {}
        self._cut = ""
        self._table: CountsTable | None = None
        self._tables: list[Table] = []
        self._sums: dict[str, _Sum] = {}
        self._stamps = CallStamps(tally)
        self.boot = Boot(Clock("none", "", 0))

    def take(self, number: int, line: str) -> None:
        """Reads line `number` (from 1)."""
        if not line.strip():
            self._tally.empty += 1
        elif self._take_table(line) or self._take_call(number, line):
            self._tally.understood += 1
        else:
            self._tally.miss(number, line)

    def finish(self) -> Boot:
        """What the lines told."""
        boot = self.boot
        if self._stamps.kind:
            boot.clock = self._stamps.clock()
            for process in self._all:
                boot.tracks += process.tracks()
        if self._table:
            self._tables.append(self._table.table())
        boot.tables += self._tables
        if self._sums:
            boot.tables.append(self._summary())
        return boot

    # ---- tables of -c

    def _take_table(self, line: str) -> bool:
        if self._table is None or self._table.done:
            if not is_head(line):
                return False
            if self._table:
                self._tables.append(self._table.table())
            self._table = CountsTable(line, f"{self._what} in total")
            return True
        return self._table.take(line)

    def _summary(self) -> Table:
        ranked = sorted(self._sums.items(), key=lambda item: (-item[1].ns, -item[1].calls, item[0]))
        rows = tuple(
            (name, one.calls, one.errors, one.ns if one.timed else None, one.timed) for name, one in ranked
        )
        title = f"{self._what} that are in the file one by one"
        return Table(title, ("call", "calls", "errors", "time ns", "calls with a time"), rows)

    # ---- calls

    def _take_call(self, number: int, line: str) -> bool:
        if "Process " in line and self._attach(number, line):
            return len(self._cut) < _MAX_LINE
        if self._cut:
            line, self._cut = self._cut + line, ""
        prefix = _PREFIX.match(line)
        assert prefix  # every part of it may be missing
        body = line[prefix.end() :].lstrip(" ")
        if not self._is_call(body):
            return False
        at_ns = self._stamps.at(prefix[3], number)
        process = self._process(prefix[1] or prefix[2], at_ns)
        process.last_ns = max(process.last_ns, at_ns)
        return self._event(process, at_ns, body)

    def _attach(self, number: int, line: str) -> bool:
        """Reads a message of strace's own, which may stand in the middle of a line of the trace."""
        attached = _ATTACHED.match(line)
        inside = None if attached else _ATTACHED_INSIDE.search(line, max(0, len(line) - 40))
        if inside:
            self._cut += line[: inside.start()]
            self._tally.repair("a line that strace cut in two by a message of its own, joined", number)
        found = attached or inside
        if found:
            self._attached.add(int(found[1]))
        return bool(found)

    def _is_call(self, body: str) -> bool:
        if body.startswith(("--- ", "+++ ")):
            return body.endswith((" ---", " +++"))
        if _RESUMED.match(body):
            return True
        if not _CALL.match(body):
            return False
        return _UNFINISHED in body[-24:] or body.endswith(_NO_RETURN) or ") " in body

    def _event(self, process: Process, at_ns: int, body: str) -> bool:
        if body.startswith("+++ "):
            if _ENDED.match(body):
                process.ended = body.strip("+ ")
                self._by_pid.pop(process.pid, None)
            return True
        if body.startswith("--- "):
            self._log(at_ns, process, body)
            return True
        if body.startswith("<..."):
            return self._resume(process, at_ns, body)
        call = _CALL.match(body)
        assert call  # what _is_call saw
        head, broken, _ = body.rpartition(_UNFINISHED)
        if broken and len(body) - len(head) < 24:
            process.open_calls.append(Open(call[1], at_ns, head.removesuffix(" ")))
            return True
        if body.endswith(_NO_RETURN):
            self._log(at_ns, process, body)
            return True
        return self._complete(process, Open(call[1], at_ns, ""), at_ns, body)

    def _resume(self, process: Process, at_ns: int, body: str) -> bool:
        resumed = _RESUMED.match(body)
        assert resumed  # what _is_call saw
        pending = process.resumed(resumed[1])
        rest = body[resumed.end() :]
        if pending is None:
            # Its beginning is not in the file: only the length that -T tells is left.
            length = self._length(rest)
            pending = Open(resumed[1], at_ns - length, f"{resumed[1]}(")
        return self._complete(process, pending, at_ns, pending.text + rest, resumed=True)

    @staticmethod
    def _length(body: str) -> int:
        timed = _LENGTH.search(body, max(0, len(body) - 32))
        return (decimal_ns(timed[1]) or 0) if timed else 0

    def _complete(
        self, process: Process, call: Open, at_ns: int, body: str, *, resumed: bool = False
    ) -> bool:
        timed = _LENGTH.search(body, max(0, len(body) - 32))
        text = body[: timed.start()] if timed else body
        cut = text.rfind(" = ")
        if cut < 0 or not text[:cut].rstrip().endswith(")"):
            return False
        result = text[cut + 3 :]
        length = (decimal_ns(timed[1]) or 0) if timed else at_ns - call.start_ns
        self._count(call.name, result, length if timed or resumed else None)
        if call.name in _EXEC and result.startswith("0"):
            process.images.append((call.start_ns, command(text)))
        elif call.name in _CHILD:
            self._born(process, call, result)
        if (timed or resumed) and self._stamps.kind:
            end_ns = call.start_ns + max(0, length)
            process.calls.append(Span(call.start_ns, end_ns, call.name, {"call": text}))
            process.last_ns = max(process.last_ns, end_ns)
        else:
            self._log(at_ns, process, body)
        return True

    def _count(self, name: str, result: str, length: int | None) -> None:
        one = self._sums.setdefault(name, _Sum())
        one.calls += 1
        one.errors += result.startswith("-1 E")
        if length is not None:
            one.ns += length
            one.timed += 1

    def _log(self, at_ns: int, process: Process, text: str) -> None:
        if self._stamps.kind:
            self.boot.log.add(at_ns, f"[{process.pid}] {text}" if process.pid else text)

    # ---- processes

    def _born(self, parent: Process, call: Open, result: str) -> None:
        pid = result.partition("<")[0].strip()
        if not (pid.isascii() and pid.isdigit()) or not 0 < len(pid) < 10 or pid == "0":
            return
        child = self._by_pid.get(int(pid))
        if child is None:
            child = self._new(int(pid), call.start_ns)
        if child is not parent and not _above(child, parent):
            child.parent = parent
        child.started_ns = min(child.started_ns, max(call.start_ns, parent.started_ns))

    def _process(self, pid: str | None, at_ns: int) -> Process:
        if pid is None:
            alive = list(self._by_pid.values()) if len(self._by_pid) < 2 else []
            if alive:
                return alive[0]
            return self._by_pid.get(0) or (self._all[0] if self._all else self._new(0, at_ns))
        number = int(pid)
        found = self._by_pid.get(number)
        if found:
            return found
        unnamed = self._by_pid.pop(0, None)
        if unnamed and number not in self._attached:
            unnamed.pid, unnamed.serial = number, self._times_seen.get(number, 0)
            self._times_seen[number] = unnamed.serial + 1
            self._by_pid[number] = unnamed
            return unnamed
        if unnamed:
            self._by_pid[0] = unnamed
        return self._new(number, at_ns)

    def _new(self, pid: int, at_ns: int) -> Process:
        serial = self._times_seen.get(pid, 0)
        self._times_seen[pid] = serial + 1
        process = Process(pid, at_ns, at_ns, serial=serial)
        self._all.append(process)
        self._by_pid[pid] = process
        return process


def _above(process: Process, below: Process | None) -> bool:
    """Whether `process` is among the ancestors of `below`; a damaged file must not make a circle."""
    for _ in range(_MAX_ANCESTORS):
        if below is None:
            return False
        if below is process:
            return True
        below = below.parent
    return True
