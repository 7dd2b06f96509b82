# SPDX-License-Identifier: Apache-2.0
"""Imported files and boots as text for a terminal. All text from files is untrusted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from rich.console import Console
from rich.text import Text

from bootscope.analysis.silences import Silence, quiet
from bootscope.core.text import error_words, seconds, size, span, visible
from bootscope.importing.files import FileRead, LeftOut, Understood
from bootscope.readers.base import Reader
from bootscope.readers.detect import in_words
from bootscope.readers.failure import may_fail
from bootscope.readers.join_words import link_words, refusal_words, stamp_words
from bootscope.report.phase_lengths import length_words, share_words
from bootscope.report.tables import FittedTable, make_table
from bootscope.report.terminal import bar_cells, reason_text
from bootscope.runs.headline import with_figure
from bootscope.runs.heard import SeenBoot
from bootscope.timeline.failure import Failure
from bootscope.timeline.trace import LENGTH, Table, Trace, Track

_MISSES = 3
_PAIRS = 6
_BOOTS = 20
"""Boots of an import whose failures are listed at once."""
_INDENT = "  "
_LEAST = 20
"""The least width of a text beside another."""
shown = partial(visible, limit=90)
"""Text from a file, safe to show."""


def percent(part: int, whole: int) -> str:
    """A share that is 100 only if nothing is missing: `99.9 %`."""
    tenths = 1000 * part // whole if whole else 1000
    return f"{tenths // 10}.{tenths % 10} %" if tenths < 1000 else "100 %"


def formats(out: Console, readers: Iterable[Reader]) -> None:
    """The known formats."""
    table = make_table("format", "what it is", "made by")
    for reader in readers:
        table.add_row(Text(reader.name), Text(reader.title), Text(reader.made_by))
    out.print(table)


def _failure(out: Console, found: Failure, boot: str = "") -> None:
    """A failure in a boot, with the lines that show it."""
    out.print(Text(f"{boot}{visible(found.words, 200)}", "bold red"), soft_wrap=True)
    for line in filter(None, (found.cause, found.line)):
        out.print(Text(f"{_INDENT}{visible(line, 200)}", "red"), soft_wrap=True)


def failures(out: Console, u: Understood) -> None:
    """The failures in the boots, the first few of them."""
    for number, logs in enumerate(u.logs()[:_BOOTS], 1):
        found = u.trace(number, lines=False).failure if any(map(may_fail, logs)) else None
        if found:
            _failure(out, found, f"boot {number}: " if u.boots > 1 else "")


def understood(out: Console, u: Understood) -> None:
    """The result of importing the files: a block for each, then how they were joined."""
    for file in u.files:
        _file(out, file)
    _left_out(out, u.left_out)
    _join(out, u)


def _file(out: Console, file: FileRead) -> None:
    out.print(Text(shown(file.name), "bold"), Text(size(file.size_bytes), "dim"))
    _say(out, "format", f"{file.reader.title} ({file.reader.name}); {_how_sure(file)}")
    for clock in dict.fromkeys(stamp_words(boot.clock) for boot in file.reading.boots):
        _say(out, "clock", clock)
    _say(out, "read", _counts(file))
    for miss in file.reading.missed[:_MISSES]:
        _say(out, "", f"not understood: line {miss.line:,}: {shown(miss.text)}", "yellow")
    more = len(file.reading.missed) - _MISSES
    if more > 0:
        _say(out, "", f"... and {more:,} more (--json lists them)", "yellow")
    for repair in file.reading.repairs:
        words = f"{shown(repair.what)}: {repair.count:,}, first in line {repair.first_line:,}"
        _say(out, "repaired", words, "yellow")
    if len(file.reading.boots) > 1:
        _say(out, "boots", f"{len(file.reading.boots)} boots in one file, separated", "yellow")
    for question in file.reading.questions:
        _say(out, "question", visible(question, 300), "cyan")
    out.print()


def _how_sure(file: FileRead) -> str:
    if not file.guesses:
        return "as told"
    best, *others = file.guesses
    words = f"{in_words(best.sure)} ({best.sure} of 100)"
    also = ", ".join(f"{g.reader.name} {g.sure}" for g in others[:3])
    return f"{words}; it could also be: {also}" if also else words


def _counts(file: FileRead) -> str:
    r = file.reading
    empty = f", {r.lines_empty:,} empty" if r.lines_empty else ""
    share = percent(r.lines_understood, r.lines_total - r.lines_empty)
    return (
        f"{r.lines_total:,} lines: {r.lines_understood:,} understood ({share}), {len(r.missed):,} not{empty}"
    )


def _say(out: Console, what: str, words: str, style: str = "") -> None:
    _beside(out, Text(f"{_INDENT}{what:<9} ", "dim"), Text(words, style), 0)


def _beside(out: Console, head: Text, words: Text, more: int = 2) -> None:
    """Prints words beside a head. On a terminal, further lines begin below the first one's words, `more`
    cells to the right."""
    if not out.is_terminal:
        out.print(head + words, soft_wrap=True)
        return
    indent = head.cell_len + more
    for at, line in enumerate(words.wrap(out, max(out.width - indent, _LEAST))):
        out.print((head if at == 0 else Text(" " * indent)) + line)


def _left_out(out: Console, found: Sequence[LeftOut]) -> None:
    if found:
        out.print(Text(f"left out: {len(found)} files (kept, but not read)", "yellow"))
        for item in found:
            _beside(out, Text(_INDENT), Text(visible(item.why, 300), "yellow"))
        out.print()


def _join(out: Console, u: Understood) -> None:
    links = [found for group in u.joined.groups for found in group.links]
    if links:
        out.print(Text("joined on one clock", "bold"))
        for found in links:
            _beside(out, Text(_INDENT), Text(link_words(u.read, found)))
        out.print()
    if u.boots > 1:
        out.print(Text(f"{u.boots} boots, shown side by side", "bold"))
        # Ten files of one boot each have 45 pairs, all refused for the same reason.
        for refusal in u.joined.refusals[:_PAIRS]:
            _beside(out, Text(_INDENT), Text(refusal_words(u.read, refusal), "yellow"))
        more = len(u.joined.refusals) - _PAIRS
        if more > 0:
            out.print(Text(f"{_INDENT}and {more} more pairs, which --json lists", "yellow"))
        if len(u.files) > 1:
            words = "join files of one boot manually with --offset FILE=SECONDS"
            out.print(Text(f"{_INDENT}{words}", "dim"), soft_wrap=not out.is_terminal)
        out.print()


# ---- one boot ----


def show(out: Console, boot: SeenBoot, top: int) -> None:
    """The overview of a boot of a real board, or an imported one."""
    trace = boot.trace(lines=False)
    out.print(Text(f"{boot.run_id}, boot {boot.number} of {boot.boots}, {boot.how}", "bold"))
    if trace.failure:
        _failure(out, trace.failure)
    found = boot.reached(trace)
    if boot.message:
        error = f" (±{span(found.error_ns)})" if found else ""
        words = f"{visible(with_figure(boot.message, found), 300)}{error}"
        out.print(Text(words, "bold green" if found else ""))
    if trace.title != boot.boot_id:
        out.print(Text(visible(trace.title, 200)))
    out.print(Text(f"{visible(trace.clock, 300)}", "dim"))
    out.print()
    _phases(out, trace)
    _milestones(out, trace)
    _tracks(out, trace, top)
    for table in trace.tables:
        _table(out, table, top)
    _silences(out, quiet(boot.understood, boot.index, trace, min(top, 5)))
    for note in trace.notes:
        out.print(Text(f"note: {visible(note, 400)}", "dim"), soft_wrap=not out.is_terminal)


def _phases(out: Console, trace: Trace) -> None:
    for track in trace.tracks:
        if track.kind != "phase" or not track.spans:
            continue
        out.print(_phase_table(track, trace, bar_cells(out, _phase_table(track, trace, 0))))
        out.print()


def _phase_table(track: Track, trace: Trace, width: int) -> FittedTable:
    """The phases with bars of up to `width` cells; without bars if 0."""
    table = make_table()
    table.add_column(Text(shown(track.title)))
    for column in ("start s", "length s", "share"):
        table.add_column(column, justify="right", no_wrap=True)
    if width:
        table.add_column("")
    longest_ns = max(s.duration_ns for s in track.spans)
    for s in track.spans:
        share = share_words(s.duration_ns, trace.known_total_ns if LENGTH not in s.detail else None)
        bar = [Text("█" * round(width * s.duration_ns / (longest_ns or 1)), "blue")] if width else []
        table.add_row(Text(shown(s.name)), seconds(s.start_ns), length_words(s), share, *bar)
    return table


def _milestones(out: Console, trace: Trace) -> None:
    found = sorted((p for p in trace.points if p.kind == "milestone"), key=lambda p: p.at_ns)
    if found:
        table = make_table("milestone", ">s", ">error")
        for p in found:
            error = "or later" if p.earliest else error_words(p.error_ns, p.error_or_more)
            table.add_row(Text(shown(p.name)), seconds(p.at_ns, 6), error)
        out.print(table)
        out.print()


def _tracks(out: Console, trace: Trace, top: int) -> None:
    """The longest spans of each kind of track."""
    for kind in dict.fromkeys(t.kind for t in trace.tracks if t.kind != "phase" and t.spans):
        spans = [(s, t) for t in trace.tracks if t.kind == kind for s in t.spans]
        spans.sort(key=lambda found: (-found[0].duration_ns, found[0].start_ns))
        title = f"longest of {len(spans):,} ({kind})"
        table = make_table(title, ">start s", ">length", "where", spare=("where",))
        for s, track in spans[:top]:
            where = Text(visible(track.title, 40))
            table.add_row(Text(visible(s.name, 60)), seconds(s.start_ns, 6), span(s.duration_ns), where)
        out.print(table)
        out.print()


_NS = "ns"
"""The column of a table whose figures are lengths of time."""


def _cell(cell: str | int | None, column: str) -> str:
    if isinstance(cell, int):
        return span(cell) if column == _NS else f"{cell:,}"
    return visible(cell or "", 60)


def _table(out: Console, found: Table, top: int) -> None:
    table = make_table()
    for at, column in enumerate(found.columns):
        numbers = all(isinstance(row[at], int) for row in found.rows if at < len(row))
        heading = "time" if column == _NS else visible(column, 40)
        table.add_column(Text(heading), justify="right" if numbers else "left")
    for row in found.rows[:top]:
        cells = (_cell(cell, column) for cell, column in zip(row, found.columns, strict=False))
        table.add_row(*map(Text, cells))
    out.print(Text(shown(found.title), "bold"))
    out.print(table)
    if len(found.rows) > top:
        out.print(f"... and {len(found.rows) - top:,} more (--top {len(found.rows)})", style="dim")
    out.print()


def _silences(out: Console, found: Sequence[Silence]) -> None:
    if found:
        heads = ("longest silences", ">from s", "after the line", "before the line", "reason")
        table = make_table(*heads, spare=("before the line",))
        for s in found:
            before, after = Text(visible(s.before, 50)), Text(visible(s.after, 50))
            table.add_row(span(s.duration_ns), seconds(s.start_ns), before, after, reason_text(s))
        out.print(table)
        out.print()
