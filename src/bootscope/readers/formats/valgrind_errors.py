# SPDX-License-Identifier: Apache-2.0
"""Logs of valgrind's Memcheck, Helgrind and DRD: errors, leaks, and what each process came to."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from bootscope.readers.base import Boot, Clock, Options, Reader, Reading, Source
from bootscope.readers.tally import Tally, read_one, sample, share
from bootscope.timeline.trace import Point, Table

NAME = "valgrind-errors"
_PREFIX = r"(==|--|\*\*)(?:(\d{1,4}):(\d\d):(\d\d):(\d\d)\.(\d{3}) )?(\d{1,10})\1"
_LINE = re.compile(rf"{_PREFIX}(?: (.*)|)")
_RAW = re.compile(rf"{_PREFIX}(?:[ \r]|$)".encode())
_BANNER = re.compile(r"(Memcheck|Helgrind|drd), a (?:memory|thread) error detector")
_VERSION = re.compile(r"Using (Valgrind-\S{1,60}) ")
_FRAME = re.compile(r"   (?:at|by) 0x[0-9A-Fa-f]{1,16}: (.*)")
_OWN = re.compile(r"\(in \S*/vgpreload_|\((?:vg_replace|hg_intercepts|drd_)")
"""A frame in what valgrind puts before a program's own libraries."""
_THREAD = re.compile(r"Thread \d{1,9}(?: [^:]{0,60})?:")
_NO_ERROR = re.compile(
    r"(?i:warning): | ?\w{1,20} (?:at )?0x\w{1,16} was first observed"
    r"|Thread #\d{1,9} (?:was created|is the program's)|Locks held: | followed by a later "
    r"|Required order was |host stacktrace:|Thread \d{1,9}: status = "
)
_PREVIOUS = re.compile(r"This conflicts with .*")
_ORDER = re.compile(r'Thread #\d{1,9}: lock order ".*" violated')
_COUNT = r"(\d[\d,]{0,24})(?: \([+-]?[\d,]{1,25}\))?"
_LEAK = re.compile(
    rf"{_COUNT} (?:\({_COUNT} direct, {_COUNT} indirect\) )?bytes in {_COUNT} blocks are ([a-z ]{{4,30}})"
    r" in loss record .*"
)
_LOST = re.compile(
    r" +(definitely lost|indirectly lost|possibly lost|still reachable|suppressed): "
    rf"{_COUNT} bytes in {_COUNT} blocks"
)
_HEAP = re.compile(
    r"  total heap usage: (\d[\d,]{0,24}) allocs, (\d[\d,]{0,24}) frees, (\d[\d,]{0,24}) bytes allocated"
)
_CONTEXT = re.compile(r"(\d{1,12}) errors in context \d{1,12} of \d{1,12}:")
_SUMMARY = re.compile(
    r"ERROR SUMMARY: ((\d{1,12}) errors from (\d{1,12}) contexts \(suppressed: (\d{1,12}) from \d{1,12}\))"
)
_PARENT = re.compile(r"Parent PID: (\d{1,10})")
_SUPPRESSION = re.compile(
    r"\{|\}|   (?:<insert_a_suppression_name_here>|\.\.\."
    r"|(?:fun|obj|src|match-leak-kinds|Memcheck|Helgrind|drd):.*)"
)
_TEXT = 300
MAX_ROWS = 10_000
"""Errors and leaks that are kept of one file, each; and processes."""


@dataclass(slots=True)
class _Error:
    pid: int
    kind: str
    zero: int
    at_ns: int | None
    where: str = ""
    own: bool = False
    """`where` is in valgrind's own library still."""
    detail: str = ""
    times: int | None = None
    leak: tuple[str, int, int, int] | None = None
    frames: int = 0
    """A number for all of its first stack, to find it by when it is told again with its count."""


@dataclass(slots=True)
class _Process:
    pid: int
    zero: int
    """Which start of a program its times count from: that of the file's first, second...; 0 is not told."""
    parent: int | None = None
    command: str = ""
    summary: tuple[int | None, ...] = (None, None, None)
    heap: tuple[int | None, ...] = (None, None, None)
    lost: dict[str, tuple[int, int]] = field(default_factory=dict)
    title: str = ""
    title_ns: int | None = None
    current: _Error | None = None
    """The error whose first stack is being told."""
    last: _Error | None = None
    told: bool = False
    """The lines up to the next empty one are about `last`."""
    context: int | None = None
    """How often the next error came, if it is one that was told before."""


class _File:
    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._processes: dict[int, _Process] = {}
        self._all: list[_Process] = []
        self._errors: list[_Error] = []
        self._leaks: list[_Error] = []
        self._known: dict[tuple[int, int], _Error] = {}
        self._points: list[tuple[int, Point]] = []
        self._starts = 0
        self._second_line = 1
        self._line = 0
        self._timed = False
        self.facts = {"tool": "valgrind"}

    def take(self, number: int, line: str) -> bool:
        self._line = number
        found = _LINE.fullmatch(line)
        if not found:
            return bool(self._all and _SUPPRESSION.fullmatch(line))
        process = self._process(int(found[7]))
        if process is None:
            return False
        at_ns = _at_ns(found) if found[2] else None
        self._timed = self._timed or at_ns is not None
        if found[1] == "==":
            self._text(process, (found[8] or "").rstrip(), at_ns)
        return True

    def _process(self, pid: int, zero: int = 0) -> _Process | None:
        known = self._processes.get(pid)
        if known is not None and not zero:
            return known
        if len(self._all) >= MAX_ROWS:
            return known
        self._processes[pid] = new = _Process(pid, zero)
        self._all.append(new)
        return new

    def _text(self, process: _Process, text: str, at_ns: int | None) -> None:
        if frame := _FRAME.fullmatch(text):
            self._frame(process, frame[1])
        elif not text:
            self._end_of_stack(process)
            process.told = False
            if not _ORDER.fullmatch(process.title):
                process.title = ""
        elif self._banner(process, text) or self._sums(process, text, at_ns):
            self._end_of_stack(process)
            process.title = ""
        else:
            self._words(process, text, at_ns)

    def _banner(self, process: _Process, text: str) -> bool:
        banner, version = _BANNER.fullmatch(text), _VERSION.match(text)
        if banner:
            self._starts += 1
            # A second banner of a process: it has become another program.
            if process.zero or process.last or process.command:
                self._process(process.pid, self._starts)
            else:
                process.zero = self._starts
            if self._starts == 2:
                self._second_line = self._line
            self.facts["tool"] = banner[1].lower()
        elif version:
            self.facts.setdefault("valgrind", version[1].removeprefix("Valgrind-"))
        elif text.startswith("Command: "):
            process.command = text[9:409]
            self.facts.setdefault("command", process.command)
        elif parent := _PARENT.fullmatch(text):
            process.parent = int(parent[1])
        else:
            return False
        return True

    def _sums(self, process: _Process, text: str, at_ns: int | None) -> bool:
        context, heap, lost = _CONTEXT.fullmatch(text), _HEAP.fullmatch(text), _LOST.fullmatch(text)
        summary = _SUMMARY.fullmatch(text)
        if context:
            process.context = int(context[1])
        elif heap:
            process.heap = tuple(_count(heap[n]) for n in (1, 2, 3))
        elif lost:
            process.lost[lost[1]] = (_count(lost[2]), _count(lost[3]))
        elif summary:
            again = process.summary != (None, None, None)
            process.summary = tuple(int(summary[n]) for n in (2, 3, 4))
            process.context = None
            if at_ns is not None and not again:
                self._points.append((process.zero, Point(at_ns, f"error summary: {summary[1]}")))
        return bool(context or heap or lost or summary)

    def _words(self, process: _Process, text: str, at_ns: int | None) -> None:
        """A line of words: the title of an error, or what is told of it behind its stack."""
        self._end_of_stack(process)
        previous = bool(_PREVIOUS.fullmatch(text))
        if process.last and (process.told or previous):
            if not process.last.detail and not _NO_ERROR.match(text):
                process.last.detail = text.strip()[:_TEXT]
        elif process.title or previous or text.startswith((" ", "Observed (incorrect) order is")):
            return
        elif not (_NO_ERROR.match(text) or _THREAD.fullmatch(text)):
            process.title, process.title_ns = text[:_TEXT], at_ns

    def _frame(self, process: _Process, where: str) -> None:
        error = process.current
        if error is None:
            if not process.title:
                return
            error = _Error(process.pid, process.title, process.zero, process.title_ns)
            process.current, process.last, process.told, process.title = error, error, True, ""
        error.frames = hash((error.frames, error.kind, where))
        own = bool(_OWN.search(where))
        if not error.where or (error.own and not own):
            error.where, error.own = where[:_TEXT], own

    def _end_of_stack(self, process: _Process) -> None:
        """The stack of an error is told: keeps the error, or the count of one that was told before."""
        error, process.current = process.current, None
        if error is None:
            return
        times, process.context = process.context, None
        key = (error.pid, error.frames)
        known = self._known.get(key)
        if times is not None and known:
            known.times = times
            return
        error.times = times
        leak = _LEAK.fullmatch(error.kind)
        if leak:
            error.leak = (leak[5], _count(leak[1]), _count(leak[3] or "0"), _count(leak[4]))
        rows = self._leaks if leak else self._errors
        if len(rows) >= MAX_ROWS:
            self._tally.repair(f"{'leaks' if leak else 'errors'} not kept, behind {MAX_ROWS:,}", self._line)
            return
        rows.append(error)
        self._known[key] = error

    def finish(self) -> Boot:
        for process in self._all:
            self._end_of_stack(process)
        start = "the start of the program"
        boot = Boot(Clock("host", start, 1_000_000) if self._timed else Clock("none", "no times", 1))
        boot.facts = self.facts
        if len(self._all) == 1 and None not in self._all[0].summary:
            errors, contexts, hidden = self._all[0].summary
            boot.facts["errors"] = f"{errors} from {contexts} contexts, {hidden} suppressed"
        self._tables(boot)
        points = [
            (e.zero, Point(e.at_ns, f"{e.kind}: {e.where}")) for e in self._errors if e.at_ns is not None
        ] + self._points
        # Every program counts from its own start; nothing tells how long after the first that was.
        on_clock = {1} if self._starts > 1 else {0, 1}
        boot.points = sorted((p for zero, p in points if zero in on_clock), key=lambda p: p.at_ns)
        if others := len(points) - len(boot.points):
            self._tally.repair(
                "times counted from the start of another program, in the table only",
                self._second_line,
                others,
            )
        return boot

    def _tables(self, boot: Boot) -> None:
        time = ("time ms",) if self._timed else ()
        rows = tuple(
            (
                e.pid,
                *((None if e.at_ns is None else e.at_ns // 1_000_000,) if self._timed else ()),
                e.kind,
                e.times,
                e.where,
                e.detail or None,
            )
            for e in self._errors
        )
        boot.tables.append(Table("errors", ("pid", *time, "error", "times", "where", "more"), rows))
        leaks = tuple((e.pid, *e.leak, e.where) for e in self._leaks if e.leak)
        if leaks:
            columns = ("pid", "kind", "bytes", "of them indirect", "blocks", "where")
            boot.tables.append(Table("leaks", columns, leaks))
        lost = tuple((p.pid, kind, *figures) for p in self._all for kind, figures in p.lost.items())
        if lost:
            boot.tables.append(Table("leaks by kind", ("pid", "kind", "bytes", "blocks"), lost))
        processes = tuple((p.pid, p.parent, p.command or None, *p.summary, *p.heap) for p in self._all)
        columns = ("pid", "parent", "command", "errors", "contexts", "suppressed")
        heap = ("allocations", "frees", "bytes allocated")
        boot.tables.append(Table("processes", (*columns, *heap), processes))


def _at_ns(found: re.Match[str]) -> int:
    days, hours, minutes, seconds, ms = (int(found[n]) for n in range(2, 7))
    return ((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + ms) * 1_000_000


def _count(text: str) -> int:
    """``1,024`` as a number, cut where no count is that large."""
    return int(text.replace(",", "")[:18] or "0")


_DETECTOR = re.compile(rb"\d== (?:Memcheck|Helgrind|drd), a (?:memory|thread) error detector")
_OTHER = re.compile(rb"\d== \w{1,30}, an? .{1,100}")
_STACK = re.compile(rb"\d==    at 0x[0-9A-Fa-f]{1,16}: ")


def _sure(source: Source) -> int:
    lines = sample(source)
    fit = share(lines, _RAW)
    if fit < 20:
        return 0
    detector = any(_DETECTOR.search(line) for line in lines)
    if not detector and (any(_OTHER.search(line) for line in lines[:5])):
        # Another tool of valgrind: what it found is in a file of its own.
        return 0
    if detector:
        return 97 if fit >= 50 else 75
    return 90 if fit >= 50 and any(_STACK.search(line) for line in lines) else 0


def _read(source: Source, _options: Options) -> Reading:
    return read_one(source, NAME, "a log of Memcheck, Helgrind or DRD", _File)


READERS = (
    Reader(
        NAME,
        "errors that Memcheck, Helgrind or DRD found",
        "valgrind --leak-check=full COMMAND",
        _sure,
        _read,
    ),
)
