# SPDX-License-Identifier: Apache-2.0
"""The lines of ftrace's function_graph tracer: calls drawn as C with a length at the closing brace."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from bootscope.readers.layout import track
from bootscope.readers.timespan import decimal_ns
from bootscope.timeline.trace import Span, Stack, Table, Track

GRAPH = re.compile(
    r" {0,12}(?:(?P<at>\d{1,10}\.\d{6,9}) \|)?"
    r"(?: {0,6}(?P<cpu>\d{1,4})\) {0,4})?"
    r"(?: {0,20}(?P<task>\S.{0,31}?)-(?P<pid>\d{1,9}) {0,12}\|)?"
    r"(?: {0,4}(?P<flags>[\w.#]{4,9}) {0,4}\|)?"
    r"(?: {0,6}[+!#*@$])? {0,14}(?:(?P<us>\d{1,12}(?:\.\d{1,3})?) us)? {0,8}\|(?P<body> .*)"
)
SWITCH = re.compile(r" {0,6}(\d{1,4})\) {1,20}(\S.{0,31}?)-(\d{1,9}) {1,12}=> {1,20}(\S.{0,31}?)-(\d{1,9}) *")
_CALL = re.compile(r"(?P<name>[\w.$@<>]+(?: \[[\w-]+\])?)\(.*\)(?P<leaf>;| \{)")
_CLOSE = re.compile(r"\}(?: /\* ?(?P<name>[\w.$@<>]+(?: \[[\w-]+\])?))?")
_SLACK_NS = 1_000  # stamps are cut to microseconds, lengths are not
_MAX_DEPTH = 500


@dataclass(slots=True)
class _Frame:
    name: str
    start_ns: int
    cursor_ns: int
    inside_ns: int = 0


@dataclass(slots=True)
class _Row:
    """The calls of one task."""

    title: str
    frames: list[_Frame] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    cursor_ns: int = 0
    leaf_last: bool = False


@dataclass(slots=True)
class _Sum:
    calls: int = 0
    self_ns: int = 0
    total_ns: int = 0


class CallGraph:
    """Collects calls. Where lines have no stamp of their own, calls are placed one after the other: then
    lengths are true, and places are not (`placed`)."""

    def __init__(self) -> None:
        self._rows: dict[str, _Row] = {}
        self._stacks: dict[tuple[str, ...], int] = {}
        self._sums: dict[str, _Sum] = {}
        self._task_on: dict[int, tuple[str, str]] = {}
        self.placed = False
        self.without_start = 0
        self.cut = 0
        self.last_ns = 0

    def switch(self, cpu: int, task: str, pid: str) -> None:
        """Says that `cpu` now runs a task."""
        self._task_on[cpu] = (task, pid)

    def row_of(self, cpu: int, task: str | None, pid: str | None) -> _Row:
        """The row for a task, as well as the file tells which it is."""
        if task is None or pid is None:
            task, pid = self._task_on.get(cpu, (f"CPU {cpu}", ""))
        ident = f"cpu-{cpu}" if pid in ("", "0") else pid
        return self._rows.setdefault(ident, _Row(f"{pid} {task}" if pid else task))

    def take(self, row: _Row, at_ns: int | None, length_ns: int | None, body: str) -> bool:
        """Reads the part of a line after its last bar. `at_ns` is its stamp, if it has one."""
        if at_ns is None:
            self.placed = True
        else:
            self.last_ns = max(self.last_ns, at_ns)
            self._cut_leaf(row, at_ns)
        text = body.strip()
        call = _CALL.match(text)
        if call and call["leaf"] == ";":
            return self._leaf(row, at_ns, length_ns, call["name"])
        if call:
            return self._open(row, at_ns, call["name"])
        close = _CLOSE.match(text)
        if close:
            self._close(row, at_ns, length_ns, close["name"])
        return bool(close)

    def _cut_leaf(self, row: _Row, at_ns: int) -> None:
        """Ends the last call where the next line begins: its length is measured from before its stamp,
        by the time that the tracer took to write it."""
        if row.leaf_last and row.spans[-1].end_ns > at_ns:
            last = row.spans.pop()
            row.spans.append(
                Span(min(last.start_ns, at_ns), at_ns, last.name, {"length ns": last.duration_ns})
            )
            self.cut += 1
        row.leaf_last = False

    def _leaf(self, row: _Row, at_ns: int | None, length_ns: int | None, name: str) -> bool:
        if length_ns is None:
            return False
        start_ns = self._cursor(row) if at_ns is None else at_ns
        row.spans.append(Span(start_ns, start_ns + length_ns, name))
        row.leaf_last = at_ns is not None
        self._advance(row, start_ns + length_ns, length_ns)
        self._weigh(row, name, length_ns, length_ns)
        return True

    def _open(self, row: _Row, at_ns: int | None, name: str) -> bool:
        if len(row.frames) >= _MAX_DEPTH:
            return False
        start_ns = self._cursor(row) if at_ns is None else at_ns
        row.frames.append(_Frame(name, start_ns, start_ns))
        return True

    def _close(self, row: _Row, at_ns: int | None, length_ns: int | None, name: str | None) -> None:
        frame = self._ended(row, name)
        if frame is None:
            self.without_start += 1
            if at_ns is not None and length_ns is not None and name:
                row.spans.append(Span(at_ns - length_ns, at_ns, name))
            return
        if length_ns is None:
            length_ns = max(0, (frame.cursor_ns if at_ns is None else at_ns) - frame.start_ns)
        # With stamps these tell the place; without, rounding may make the calls inside a bit longer.
        end_ns = max(frame.cursor_ns, frame.start_ns + length_ns) if at_ns is None else at_ns
        end_ns = max(frame.start_ns, end_ns)
        row.spans.append(Span(frame.start_ns, end_ns, frame.name))
        self._advance(row, end_ns, length_ns)
        self._weigh(row, frame.name, length_ns, max(0, length_ns - frame.inside_ns))

    @staticmethod
    def _ended(row: _Row, name: str | None) -> _Frame | None:
        """The call that a closing brace ends. Its comment names it where lines were lost."""
        if not row.frames:
            return None
        if name and row.frames[-1].name != name:
            depths = [i for i, frame in enumerate(row.frames) if frame.name == name]
            if not depths:
                return None
            del row.frames[depths[-1] + 1 :]
        return row.frames.pop()

    @staticmethod
    def _cursor(row: _Row) -> int:
        return row.frames[-1].cursor_ns if row.frames else row.cursor_ns

    @staticmethod
    def _advance(row: _Row, end_ns: int, length_ns: int) -> None:
        if row.frames:
            row.frames[-1].cursor_ns = max(row.frames[-1].cursor_ns, end_ns)
            row.frames[-1].inside_ns += length_ns
        else:
            row.cursor_ns = max(row.cursor_ns, end_ns)

    def _weigh(self, row: _Row, name: str, total_ns: int, self_ns: int) -> None:
        one = self._sums.setdefault(name, _Sum())
        one.calls += 1
        one.self_ns += self_ns
        if not any(frame.name == name for frame in row.frames):
            one.total_ns += total_ns
        if self_ns:
            path = (row.title, *(frame.name for frame in row.frames), name)
            self._stacks[path] = self._stacks.get(path, 0) + self_ns

    # ---- what came of it

    def tracks(self) -> list[Track]:
        """A row of calls for each task."""
        made = []
        for ident, row in self._rows.items():
            for frame in row.frames:
                end_ns = max(frame.start_ns, frame.cursor_ns if self.placed else self.last_ns)
                detail = {"ended": "not in the trace"}
                row.spans.append(Span(frame.start_ns, end_ns, frame.name, detail))
            if row.spans:
                title = f"{row.title}: functions"
                made.append(track(f"functions-{ident}", "function", title, row.spans, slack_ns=_SLACK_NS))
        return made

    def stacks(self) -> list[Stack]:
        """Time in each call path, the calls inside not counted."""
        return [Stack(path, ns) for path, ns in self._stacks.items()]

    def tables(self) -> list[Table]:
        """What each function cost; a recursive call is counted once in the total."""
        if not self._sums:
            return []
        rows = sorted(
            ((name, s.calls, s.self_ns, s.total_ns) for name, s in self._sums.items()),
            key=lambda row: (-row[2], row[0]),
        )
        return [Table("functions", ("function", "calls", "self ns", "total ns"), tuple(rows))]


def length_of(us: str | None) -> int | None:
    """A length in microseconds as printed, in ns."""
    return decimal_ns(us, 1_000) if us else None
