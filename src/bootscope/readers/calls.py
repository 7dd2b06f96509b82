# SPDX-License-Identifier: Apache-2.0
"""Lines of strace and ltrace: who called what, when, with what result, for how long.

Both print alike: an optional process, an optional stamp, and a call, which another process may cut into
an ``<unfinished ...>`` and a ``<... resumed>`` part.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bootscope.readers.base import Boot, Clock
from bootscope.readers.call_process import CalledProcesses, Open, Process, Said, command
from bootscope.readers.call_stamps import CallStamps
from bootscope.readers.counts_table import CountsTable, is_head
from bootscope.readers.line_blocks import blocks
from bootscope.readers.lines import Lines, Memo, decode
from bootscope.readers.tally import Tally
from bootscope.readers.timespan import seconds_ns
from bootscope.timeline.trace import Span, Table

PREFIX = (
    r"(?:\[pid +(\d{1,9})(?:<[^>\n]{0,64}>)?\] |(\d{1,9})(?:<[^>\n]{0,64}>)? +(?=\S))?"
    r"(?: {0,8}(\d\d:\d\d:\d\d(?:\.\d{1,9})?|\d{1,12}\.\d{3,9})(?: \(\+ {0,12}\d{1,9}\.\d{1,9}\))? )?"
    r"(?:\[ {0,6}[0-9a-f?]{1,16}\] )?"
)
_PREFIX = re.compile(PREFIX)
_RESUMED_NAME = r"[\w.@:>~-]{1,120}"
_NAME = r"[A-Za-z_.][\w.@:>~-]{0,120}"
_CALL = re.compile(rf"({_NAME})\(")
# Any line; the groups are there for nearly all lines of a trace: process, the two parts of a stamp or all of
# it, a call or where one goes on, and all from the bracket of a call on, or behind the words of the other.
_LINE = re.compile(
    # Digits and letters one by one are found sooner than their classes, which know all scripts.
    r"(?:\[pid +([0-9]{1,9})\] |([0-9]{1,9}) +)?"
    r"(?:([0-9]{1,10})\.([0-9]{6})|([0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?)) "
    r"(?:([A-Za-z_.][A-Za-z0-9_.@:>~-]{0,120})(?=\()|<\.\.\. ([A-Za-z0-9_.@:>~-]{1,120}) resumed> ?+)"
    r"([^\n]*)\n|[^\n]*\n"
)
_LENGTH_AFTER = re.compile(r" <(\d{1,9}\.\d{6,9})>")
_RESUMED = re.compile(rf"<\.\.\. ({_RESUMED_NAME}) resumed> ?")
_LENGTH = re.compile(r" <(\d{1,9}\.\d{1,9})>$")
_ATTACHED = re.compile(r"(?:strace: )?Process (\d{1,9}) (?:attached|detached|resumed|suspended)")
_ATTACHED_INSIDE = re.compile(r"strace: Process (\d{1,9}) attached$")
_ENDED = re.compile(r"\+\+\+ (exited|killed|superseded|core dumped)")
_CHILD = frozenset(("clone", "clone3", "fork", "vfork", "SYS_clone", "SYS_clone3", "SYS_fork", "SYS_vfork"))
_EXEC = frozenset(("execve", "execveat", "SYS_execve"))
_OF_PROCESSES = _CHILD | _EXEC
_MAX_LINE = 1 << 20
_UNFINISHED = "<unfinished ...>"
_UNFINISHED_AFTER = " <unfinished ...>"
_NO_RETURN = "<no return ...>"


@dataclass(slots=True)
class _Sum:
    """What one function cost."""

    calls: int = 0
    errors: int = 0
    ns: int = 0
    timed: int = 0


def _length(text: str) -> int | None:
    """A length in ns as it is printed, such as `` <0.000012>``, and None for what is none."""
    told = _LENGTH_AFTER.fullmatch(text)
    return seconds_ns(told[1]) if told else None


class CallTrace:
    """Reads the lines of one trace."""

    def __init__(self, tally: Tally, what: str) -> None:
        self._tally = tally
        self._what = what
        self._processes = CalledProcesses()
        self._cut = ""
        self._table: CountsTable | None = None
        self._tables: list[Table] = []
        self._sums: dict[str, _Sum] = {}
        self._names: Memo[str, str] = Memo(str)
        self._lengths = Memo(_length)
        self._stamps = CallStamps(tally)
        self.boot = Boot(Clock("none", "", 0))

    def read(self, lines: Lines) -> None:
        """Reads all lines of a file."""
        first = 1
        for block in blocks(lines.blob):
            text = decode(block)
            odd: list[str] = []
            found = _LINE.findall(text)
            for number, fields in enumerate(found, first):
                if not self._take_usual(number, fields):
                    odd = odd or text.split("\n")
                    self.take(number, odd[number - first])
            first += len(found)

    def _take_usual(self, number: int, fields: Sequence[str]) -> bool:
        """Reads a call that has a stamp, whole or cut in two by another process, in plain ASCII. It says
        no to all that may need a closer look, before anything is changed."""
        shown_pid, pid, seconds, micros, stamp, name, resumed, rest = fields
        if not rest or self._cut or not rest.isascii() or (self._table and not self._table.done):
            return False
        end, unfinished = len(rest), False
        length_ns: int | None = None
        if rest.endswith(">"):
            end = rest.rfind(" <")
            length_ns = self._lengths[rest[end:]]
            unfinished = rest.endswith(_UNFINISHED_AFTER)
            if unfinished == (length_ns is not None) or (unfinished and resumed):
                return False
        elif rest.endswith("attached") or "<unfinished" in rest[-24:]:
            return False
        equals = rest.rfind(" = ", 0, end)
        if not unfinished and not (
            equals > 0 and (rest[equals - 1] == ")" or rest[:equals].rstrip(" ").endswith(")"))
        ):
            return False
        at_ns = self._stamps.usual(seconds, micros, number) if seconds else self._stamps.at(stamp, number)
        pid = pid or shown_pid
        process = self._processes.alive.get(int(pid)) if pid else None
        if process is None:
            process = self._processes.of(int(pid) if pid else None, at_ns)
        if at_ns > process.last_ns:
            process.last_ns = at_ns
        self._tally.understood += 1
        text = rest[:end]
        if unfinished:
            process.open_calls.append(Open(self._names[name], at_ns, name + text))
            return True
        if resumed:
            call, length_ns = process.joined(Open(self._names[resumed], at_ns, text), length_ns)
        else:
            call = Open(self._names[name], at_ns, name + text)
        self._completed(process, call, at_ns, text[equals + 3 :], length_ns)
        return True

    def take(self, number: int, line: str) -> None:
        """Reads line `number` (from 1)."""
        understood = bool(line.strip()) and (self._take_table(line) or self._take_call(number, line))
        self._tally.line(number, line, understood)

    def finish(self) -> Boot:
        """What the lines told."""
        boot = self.boot
        if self._stamps.kind:
            boot.clock = self._stamps.clock()
            for process in self._processes.all:
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
        pid = prefix[1] or prefix[2]
        process = self._processes.of(int(pid) if pid else None, at_ns)
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
            self._processes.attached.add(int(found[1]))
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
                self._processes.alive.pop(process.pid, None)
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
        text, length_ns = _timed(body)
        return self._complete(process, Open(call[1], at_ns, text), at_ns, length_ns)

    def _resume(self, process: Process, at_ns: int, body: str) -> bool:
        resumed = _RESUMED.match(body)
        assert resumed  # what _is_call saw
        text, length_ns = _timed(body[resumed.end() :])
        call, length_ns = process.joined(Open(resumed[1], at_ns, text), length_ns)
        return self._complete(process, call, at_ns, length_ns)

    def _complete(self, process: Process, call: Open, at_ns: int, length_ns: int | None) -> bool:
        cut = call.text.rfind(" = ")
        if cut < 0 or not call.text[:cut].rstrip().endswith(")"):
            return False
        self._completed(process, call, at_ns, call.text[cut + 3 :], length_ns)
        return True

    def _completed(
        self, process: Process, call: Open, at_ns: int, result: str, length_ns: int | None
    ) -> None:
        """Takes a call of which all is known; `at_ns` is the stamp of its last line. Without a length
        it is a moment."""
        name, start_ns, text = call.name, call.start_ns, call.text
        self._count(name, result, length_ns)
        if name in _OF_PROCESSES:
            if name in _EXEC and result.startswith("0"):
                process.images.append((start_ns, command(text)))
            elif name in _CHILD:
                self._processes.born(process, call.start_ns, result)
        if length_ns is None or not self._stamps.kind:
            self._log(at_ns, process, text)
            return
        end_ns = start_ns + length_ns if length_ns > 0 else start_ns
        process.calls.append(Span(start_ns, end_ns, name, Said(text)))
        if end_ns > process.last_ns:
            process.last_ns = end_ns

    def _count(self, name: str, result: str, length_ns: int | None) -> None:
        one = self._sums.get(name)
        if one is None:
            one = self._sums[name] = _Sum()
        one.calls += 1
        if result.startswith("-1 E"):
            one.errors += 1
        if length_ns is not None:
            one.ns += length_ns
            one.timed += 1

    def _log(self, at_ns: int, process: Process, text: str) -> None:
        if self._stamps.kind:
            self.boot.log.add(at_ns, f"[{process.pid}] {text}" if process.pid else text)


def _timed(text: str) -> tuple[str, int | None]:
    """A call without the length that -T puts at its end, and that length in ns."""
    timed = _LENGTH.search(text, max(0, len(text) - 32))
    return (text[: timed.start()], seconds_ns(timed[1])) if timed else (text, None)
