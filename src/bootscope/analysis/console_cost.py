# SPDX-License-Identifier: Apache-2.0
"""The cost of the console: what every line took, who wrote it, and what `quiet` would suppress."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from bootscope.analysis.evidence import Evidence
from bootscope.analysis.functions import doing
from bootscope.analysis.kernel_activity import Message
from bootscope.analysis.messages import align
from bootscope.analysis.rows import Cell, Column, Rows
from bootscope.devices.model import ConsoleByte
from bootscope.timeline.console import by_line, console_bytes
from bootscope.timeline.cpu_time import DELAYS
from bootscope.timeline.kernel_lines import STAMP

QUIET_LEVEL = 4
"""`quiet` shows only messages more urgent than this: CONFIG_CONSOLE_LOGLEVEL_QUIET's usual value."""
_PAUSE_NS = 20_000
"""If two bytes of a line are further apart than this, their writer did something else in between."""
COLUMNS = (
    Column("start_ns", "at s", "at"),
    Column("cost_ns", "cost ms", "ns"),
    Column("wait_ns", "line", "ns"),
    Column("cpu_ns", "CPU", "ns"),
    Column("bytes", "bytes", "count"),
    Column("level", "level", "text"),
    Column("who", "written by", "text"),
    Column("text", "text", "text"),
)
SOURCES = (
    Column("who", "written by", "text"),
    Column("cost_ns", "cost ms", "ns"),
    Column("bytes", "bytes", "count"),
    Column("lines", "lines", "count"),
    Column("phase", "phase", "text"),
)


@dataclass(slots=True)
class Line:
    """A console line: `first` to `last` are the records of its bytes; `level` is -1 if it has none.

    `wait_ns` went to the serial line, `cpu_ns` to writing one byte after the other; `runs` are the
    (first, last) records of bytes without a pause between them.
    """

    start_ns: int
    first: int
    last: int
    text: str
    bytes: int
    wait_ns: int
    cpu_ns: int
    who: str
    runs: list[tuple[int, int]]
    level: int = -1
    kernel: bool = False
    message: Message | None = None
    """What was passed to printk; the line may come out much later, and in another task."""

    @property
    def cost_ns(self) -> int:
        """How much less the boot would have waited without this line."""
        return self.wait_ns + self.cpu_ns


def lines(evidence: Evidence) -> list[Line]:
    """All lines, in order, with their cost and origin."""
    written = console_bytes(evidence.events, evidence.run.board.console)
    found = [_line(evidence, part) for part in by_line(written)]
    _name_sources(found, evidence)
    return found


def _line(evidence: Evidence, part: list[ConsoleByte]) -> Line:
    first, last = part[0].index, part[-1].index
    _, wait = evidence.ledger.devices(first, last + 1)
    start = evidence.clock.before(first)
    data = bytes(b.value for b in part).rstrip(b"\r\n")
    runs = list(_runs(evidence, part))
    return Line(
        start_ns=start,
        first=first,
        last=last,
        text=data.decode("utf-8", "backslashreplace"),
        bytes=len(part),
        wait_ns=wait,
        cpu_ns=sum(evidence.records[b].time_ns - evidence.records[a].time_ns for a, b in runs),
        who=doing(evidence, evidence.slice_at(start).task, first, start),
        runs=runs,
    )


def _runs(evidence: Evidence, part: list[ConsoleByte]) -> Iterator[tuple[int, int]]:
    start = part[0].index
    for before, after in pairwise(part):
        if evidence.records[after.index].time_ns - evidence.records[before.index].time_ns > _PAUSE_NS:
            yield start, before.index
            start = after.index
    yield start, part[-1].index


def _name_sources(found: list[Line], evidence: Evidence) -> None:
    """Gives kernel lines their level and the code that wrote them; a console flushes others' messages."""
    messages = [m for m in evidence.scene.messages if m.level >= 0]
    printed = []
    for line in found:
        stamp = STAMP.match(line.text)
        if stamp:
            line.kernel = True
            printed.append((line, line.text[stamp.end() :]))
    if messages and not printed:
        # A kernel without CONFIG_PRINTK_TIME: only its messages tell which lines are its own.
        printed = [(line, line.text) for line in found if line.first >= messages[0].index]
    pairs = align([body for _, body in printed], [m.format for m in messages])
    for number, index in pairs.items():
        line, message = printed[number][0], messages[index]
        if message.index <= line.first:
            line.kernel, line.level, line.message = True, message.level, message
            line.who = doing(evidence, message.task, message.index, message.at_ns, (*DELAYS, "irq"))


def hidden_by_quiet(found: list[Line]) -> list[Line]:
    """The kernel's lines that `quiet` would suppress."""
    return [line for line in found if line.kernel and (line.level < 0 or line.level >= QUIET_LEVEL)]


def view(evidence: Evidence, phase: str | None = None) -> tuple[Rows, Rows]:
    """(every line, the most expensive first; how much each writer wrote), of one phase if named."""
    found = [n for n in lines(evidence) if phase in (None, evidence.phase_at(n.start_ns))]
    quiet = hidden_by_quiet(found)
    sums = {
        "bytes": sum(n.bytes for n in found),
        "lines": len(found),
        "cost_ns": sum(n.cost_ns for n in found),
        "quiet_lines": len(quiet),
        "quiet_bytes": sum(n.bytes for n in quiet),
        "quiet_ns": sum(n.cost_ns for n in quiet),
    }
    rows = [_row(n, evidence) for n in sorted(found, key=lambda n: -n.cost_ns)]
    groups: dict[str, list[Line]] = defaultdict(list)
    for line in found:
        groups[line.who].append(line)
    sources: list[dict[str, Cell]] = [
        {
            "who": who,
            "cost_ns": sum(n.cost_ns for n in group),
            "bytes": sum(n.bytes for n in group),
            "lines": len(group),
            "phase": evidence.phase_at(group[0].start_ns),
        }
        for who, group in groups.items()
    ]
    sources.sort(key=lambda r: -int(r["cost_ns"] or 0))
    return (
        Rows("console", "Console lines", COLUMNS, tuple(rows), "most expensive first", (), sums),
        Rows(
            "writers", "Who wrote to the console", SOURCES, tuple(sources), "most expensive first", (), sums
        ),
    )


def _row(line: Line, evidence: Evidence) -> dict[str, Cell]:
    return {
        "start_ns": line.start_ns,
        "phase": evidence.phase_at(line.start_ns),
        "cost_ns": line.cost_ns,
        "wait_ns": line.wait_ns,
        "cpu_ns": line.cpu_ns,
        "bytes": line.bytes,
        "level": str(line.level) if line.level >= 0 else "",
        "who": line.who,
        "text": line.text,
    }
