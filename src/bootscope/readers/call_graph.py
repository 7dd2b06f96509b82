# SPDX-License-Identifier: Apache-2.0
"""The lines of ftrace's function_graph tracer: calls drawn as C with a length at the closing brace."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from bootscope.readers.layout import track
from bootscope.readers.timespan import decimal_ns
from bootscope.timeline.trace import Span, Stack, Table, Track


def head_of(task: str) -> str:
    """An expression for a drawn line up to its last bar, with one for the name of the task."""
    return (
        r" {0,12}(?:(?P<at>\d{1,10}\.\d{6,9}) \|)?"
        r"(?: {0,6}(?P<cpu>\d{1,4})\) {0,4})?"
        rf"(?: {{0,20}}(?P<task>{task})-(?P<pid>\d{{1,9}}) {{0,12}}\|)?"
        r"(?: {0,4}[\w.#]{4,9} {0,4}\|)?"
        r"(?: {0,6}[+!#*@$])? {0,14}(?:(?P<us>\d{1,12}(?:\.\d{1,3})?) us)? {0,8}\|(?= )"
    )


# Any line; the groups are there for one in plain ASCII that tells a call or its end and nothing else, and
# that cannot be a part of a header. The first is that line.
PLAIN_GRAPH = re.compile(
    (
        "((?![#vcC-])(?>" + head_of("[!-<>-~][ -<>-~]{0,31}?") + ") +"
        r"(?:(?P<name>[\w.$@<>]+)\(\)(?:(?P<leaf>;)| \{)|\}(?: /\* (?P<closed>[\w.$@<>]+) \*/)?)\n)|[^\n]*\n"
    ).encode()
)
GRAPH = re.compile(head_of(r"\S.{0,31}?") + "(?P<body>.*)")
SWITCH = re.compile(r" {0,6}(\d{1,4})\) {1,20}(\S.{0,31}?)-(\d{1,9}) {1,12}=> {1,20}(\S.{0,31}?)-(\d{1,9}) *")
_CALL = re.compile(r"(?P<name>[\w.$@<>]+(?: \[[\w-]+\])?)\(.*\)(?P<leaf>;| \{)")
_CLOSE = re.compile(r"\}(?: /\* ?(?P<name>[\w.$@<>]+(?: \[[\w-]+\])?))?")
_SLACK_NS = 1_000  # stamps are cut to microseconds, lengths are not
_MAX_DEPTH = 500


@dataclass(slots=True)
class _Sum:
    calls: int = 0
    self_ns: int = 0
    total_ns: int = 0


@dataclass(slots=True)
class _Path:
    """A function as called by those above it: `total` is that of the function, however it was called,
    `again` says that it is among those above."""

    name: str
    above: _Path | None
    total: _Sum
    again: bool = False
    self_ns: int = 0
    below: dict[str, _Path] = field(default_factory=dict)

    def frames(self) -> tuple[str, ...]:
        """Their names, the outermost first."""
        names, at = [self.name], self.above
        while at:
            names.append(at.name)
            at = at.above
        return tuple(reversed(names))

    def within(self, name: str) -> bool:
        """Whether this or one above is a call of `name`; the outermost is the task."""
        at = self
        while at.above:
            if at.name == name:
                return True
            at = at.above
        return False


@dataclass(slots=True)
class _Frame:
    path: _Path
    start_ns: int
    cursor_ns: int
    inside_ns: int = 0


@dataclass(slots=True)
class Row:
    """The calls of one task."""

    path: _Path
    frames: list[_Frame] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    cursor_ns: int = 0
    leaf_last: bool = False


class CallGraph:
    """Collects calls. Where lines have no stamp of their own, calls are placed one after the other: then
    lengths are true, and places are not (`placed`)."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}
        self._tasks: dict[str, _Path] = {}
        self._weighed: list[_Path] = []
        self._sums: dict[str, _Sum] = {}
        self._task_on: dict[int, tuple[str, str]] = {}
        self.placed = False
        self.without_start = 0
        self.cut = 0
        self.last_ns = 0

    def switch(self, cpu: int, task: str, pid: str) -> None:
        """Says that `cpu` now runs a task."""
        self._task_on[cpu] = (task, pid)

    def row_of(self, cpu: int, task: str | None, pid: str | None) -> Row:
        """The row for a task, as well as the file tells which it is."""
        if task is None or pid is None:
            task, pid = self._task_on.get(cpu) or (f"CPU {cpu}", "")
        ident = f"cpu-{cpu}" if pid in ("", "0") else pid
        row = self._rows.get(ident)
        if row is None:
            title = f"{pid} {task}" if pid else task
            row = self._rows[ident] = Row(self._tasks.setdefault(title, _Path(title, None, _Sum())))
        return row

    def take(self, row: Row, at_ns: int | None, length_ns: int | None, body: str) -> bool:
        """Reads the part of a line after its last bar. `at_ns` is its stamp, if it has one."""
        text = body.strip()
        call = _CALL.match(text)
        close = None if call else _CLOSE.match(text)
        self.arrives(row, at_ns)
        if call and call["leaf"] == ";":
            return length_ns is not None and self.leaf(row, at_ns, length_ns, call["name"])
        if call:
            return self.open(row, at_ns, call["name"])
        if close:
            self.close(row, at_ns, length_ns, close["name"])
        return bool(close)

    def arrives(self, row: Row, at_ns: int | None) -> None:
        """Takes the stamp of the next line, if it has one; before what it says."""
        if at_ns is None:
            self.placed = True
            return
        if at_ns > self.last_ns:
            self.last_ns = at_ns
        if row.leaf_last:
            self._cut_leaf(row, at_ns)

    def _cut_leaf(self, row: Row, at_ns: int) -> None:
        """Ends the last call where the next line begins: its length is measured from before its stamp,
        by the time that the tracer took to write it."""
        if row.spans[-1].end_ns > at_ns:
            last = row.spans.pop()
            row.spans.append(
                Span(min(last.start_ns, at_ns), at_ns, last.name, {"length ns": last.duration_ns})
            )
            self.cut += 1
        row.leaf_last = False

    def leaf(self, row: Row, at_ns: int | None, length_ns: int, name: str) -> bool:
        """A call without calls inside."""
        start_ns = self._cursor(row) if at_ns is None else at_ns
        row.spans.append(Span(start_ns, start_ns + length_ns, name))
        row.leaf_last = at_ns is not None
        self._advance(row, start_ns + length_ns, length_ns)
        self._weigh(self._path(row, name), length_ns, length_ns)
        return True

    def open(self, row: Row, at_ns: int | None, name: str) -> bool:
        """The beginning of a call; False when there are too many above it."""
        if len(row.frames) >= _MAX_DEPTH:
            return False
        start_ns = self._cursor(row) if at_ns is None else at_ns
        row.frames.append(_Frame(self._path(row, name), start_ns, start_ns))
        return True

    def close(self, row: Row, at_ns: int | None, length_ns: int | None, name: str | None) -> None:
        """The end of a call, of which `name` is told sometimes."""
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
        row.spans.append(Span(frame.start_ns, end_ns, frame.path.name))
        self._advance(row, end_ns, length_ns)
        self._weigh(frame.path, length_ns, max(0, length_ns - frame.inside_ns))

    @staticmethod
    def _ended(row: Row, name: str | None) -> _Frame | None:
        """The call that a closing brace ends. Its comment names it where lines were lost."""
        if not row.frames:
            return None
        if name and row.frames[-1].path.name != name:
            depths = [i for i, frame in enumerate(row.frames) if frame.path.name == name]
            if not depths:
                return None
            del row.frames[depths[-1] + 1 :]
        return row.frames.pop()

    @staticmethod
    def _cursor(row: Row) -> int:
        return row.frames[-1].cursor_ns if row.frames else row.cursor_ns

    @staticmethod
    def _advance(row: Row, end_ns: int, length_ns: int) -> None:
        if row.frames:
            frame = row.frames[-1]
            frame.inside_ns += length_ns
            if end_ns > frame.cursor_ns:
                frame.cursor_ns = end_ns
        elif end_ns > row.cursor_ns:
            row.cursor_ns = end_ns

    def _path(self, row: Row, name: str) -> _Path:
        """The call of `name` inside the calls that are open."""
        above = row.frames[-1].path if row.frames else row.path
        path = above.below.get(name)
        if path is None:
            total = self._sums.setdefault(name, _Sum())
            path = above.below[name] = _Path(name, above, total, above.within(name))
        return path

    def _weigh(self, path: _Path, total_ns: int, self_ns: int) -> None:
        path.total.calls += 1
        path.total.self_ns += self_ns
        if not path.again:
            path.total.total_ns += total_ns
        if self_ns:
            if not path.self_ns:
                self._weighed.append(path)
            path.self_ns += self_ns

    # ---- what came of it

    def tracks(self) -> list[Track]:
        """A row of calls for each task."""
        made = []
        for ident, row in self._rows.items():
            for frame in row.frames:
                end_ns = max(frame.start_ns, frame.cursor_ns if self.placed else self.last_ns)
                detail = {"ended": "not in the trace"}
                row.spans.append(Span(frame.start_ns, end_ns, frame.path.name, detail))
            if row.spans:
                title = f"{row.path.name}: functions"
                made.append(track(f"functions-{ident}", "function", title, row.spans, slack_ns=_SLACK_NS))
        return made

    def stacks(self) -> list[Stack]:
        """Time in each call path, the calls inside not counted."""
        return [Stack(path.frames(), path.self_ns) for path in self._weighed]

    def tables(self) -> list[Table]:
        """What each function cost; a recursive call is counted once in the total."""
        rows = sorted(
            ((name, s.calls, s.self_ns, s.total_ns) for name, s in self._sums.items() if s.calls),
            key=lambda row: (-row[2], row[0]),
        )
        if not rows:
            return []
        return [Table("functions", ("function", "calls", "self ns", "total ns"), tuple(rows))]


def length_of(us: str | None) -> int | None:
    """A length in microseconds as printed, in ns."""
    if us and us[-4:-3] == "." and us.isascii() and (digits := us[:-4] + us[-3:]).isdigit():
        return int(digits)
    return decimal_ns(us, 1_000) if us else None
