# SPDX-License-Identifier: Apache-2.0
"""Views as text for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from bootscope.analysis.consumers import Consumer, phase_at
from bootscope.analysis.silences import Silence
from bootscope.analysis.uncertainty import Uncertainty, brief, uncertainty, words
from bootscope.analysis.views import View
from bootscope.capture import labels
from bootscope.capture.record import BootEnd
from bootscope.core.errors import printable
from bootscope.core.text import cut, cut_beside, seconds, setting, span, visible
from bootscope.report.modelled import cpu_words
from bootscope.report.tables import FittedTable, make_table
from bootscope.timeline.model import Phase, Timeline

if TYPE_CHECKING:
    from bootscope.analysis.compare import Comparison
    from bootscope.capture.stored import Summary
    from bootscope.runs.listing import Figure, Listed

KINDS = ("cpu", "storage", "console", "idle", "fixed")
COLOURS = {"cpu": "blue", "storage": "magenta", "console": "yellow", "idle": "bright_black", "fixed": "white"}
# The kinds must differ without colours, too.
GLYPHS = {"cpu": "█", "storage": "▓", "console": "▒", "idle": "░", "fixed": "·"}
BAR_CELLS = 30
_SHORTEST_BAR = 8
_BESIDE = 70
"""Width of a terminal, in cells, from which two settings fit beside each other."""
_GAP = 2


def _bar(phase: Phase, longest_ns: int, width: int) -> Text:
    """The phase as a bar, split by kind; the longest phase fills its `width` cells."""
    text = Text()
    done_ns = cells = 0
    for kind in KINDS:
        done_ns += getattr(phase, f"{kind}_ns")
        upto = round(width * done_ns / longest_ns) if longest_ns else 0
        text.append(GLYPHS[kind] * (upto - cells), COLOURS[kind])
        cells = max(cells, upto)
    return text


def bar_cells(out: Console, table: FittedTable) -> int:
    """The cells that a terminal has for bars beside a table; 0 if they would be unreadable."""
    taken = out.measure(table, options=out.options.update(max_width=1000)).maximum
    width = min(BAR_CELLS, out.width - taken - _GAP)
    return width if width >= _SHORTEST_BAR else 0


def _cell(ns: int) -> str:
    return seconds(ns) if ns else "-"


def show(out: Console, v: View, top: int) -> None:
    """The overview of one boot."""
    info, tl = v.run.info, v.timeline
    out.print(Text(f"{info.run_id}, boot {v.boot.info.number} of {len(v.run.boots)}", "bold"))
    out.print(f"{info.system.title}", markup=False)
    costs = f", with the costs of {v.board.name}" if v.board else ""
    out.print(f"board {info.board.name}{costs}, build {info.build_id[:12]}", style="dim", markup=False)
    if v.core:
        out.print(f"core {v.core.name}: {cpu_words(tl)} (--view memory)", style="dim", markup=False)
    elif v.counted is not None:
        out.print(_without_core(v), style="dim", markup=False)
    out.print()
    _print_end(out, v, uncertainty(tl, v.core) if v.core else None)
    out.print()
    _print_phases(out, tl)
    _print_milestones(out, tl)
    _print_consumers(out, v.consumers, tl.total_ns, top)
    _print_silences(out, v, top)
    _print_doubts(out, tl)


def _without_core(v: View) -> str:
    """Why a boot is not shown on the core that its board names."""
    board = v.board or v.run.info.board
    why = "as requested" if v.counted else "its caches were not counted"
    return (
        f"without core {board.core} ({why}): each instruction takes {board.tick_ns} ns, memory access is free"
    )


def _print_end(out: Console, v: View, error: Uncertainty | None) -> None:
    if v.boot.info.complete:
        text = Text(f"{v.run.info.until} after ")
        text.append(f"{seconds(v.timeline.total_ns)} s", "bold green")
        text.append(f" {brief(error)}" if error else "")
        out.print(text)
    else:
        out.print(Text(f"not complete ({v.boot.info.ended}): {visible(v.boot.info.message)}", "bold red"))
    for line in words(error) if error else ():
        out.print(f"  {line}", style="dim", markup=False)


def _print_phases(out: Console, tl: Timeline) -> None:
    width = bar_cells(out, _phases(tl, 0))
    out.print(_phases(tl, width))
    if width:
        out.print(_legend())
    out.print()


def _phases(tl: Timeline, width: int) -> FittedTable:
    """The phases with bars of up to `width` cells; without bars if 0."""
    kinds = [f">{kind}" for kind in KINDS]
    bars = ["="] if width else []
    table = make_table("=phase", ">start s", ">length s", ">share", *bars, *kinds, spare=("start s", "share"))
    longest_ns = max(phase.duration_ns for phase in tl.phases)
    for phase in tl.phases:
        share = f"{100 * phase.duration_ns / tl.total_ns:.1f} %" if tl.total_ns else "-"
        split = [_cell(getattr(phase, f"{kind}_ns")) for kind in KINDS]
        start, length = seconds(phase.start_ns), seconds(phase.duration_ns)
        bar = [_bar(phase, longest_ns, width)] if width else []
        table.add_row(phase.name, start, length, share, *bar, *split)
    sums = [_cell(sum(getattr(phase, f"{kind}_ns") for phase in tl.phases)) for kind in KINDS]
    bar = [Text()] if width else []
    table.add_row("total", "", seconds(tl.total_ns), "100.0 %", *bar, *sums, style="bold")
    return table


def _legend() -> Text:
    return Text.assemble(
        *(part for kind in KINDS for part in ((GLYPHS[kind], COLOURS[kind]), (f" {kind}  ", "dim")))
    )


def _print_milestones(out: Console, tl: Timeline) -> None:
    if not tl.milestones:
        return
    table = make_table("milestone", ">s")
    for name, ns in tl.milestones.items():
        table.add_row(name, seconds(ns, 6))
    out.print(table)
    out.print()


def _print_consumers(out: Console, found: Sequence[Consumer], total_ns: int, top: int) -> None:
    table = make_table("biggest consumers", "=phase", "=kind", ">time", ">share", spare=("share", "phase"))
    for consumer in found[:top]:
        share = f"{100 * consumer.ns / total_ns:.1f} %" if total_ns else "-"
        kind = Text(consumer.kind, COLOURS[consumer.kind])
        table.add_row(Text(consumer.what), consumer.phase, kind, span(consumer.ns), share)
    out.print(table)
    if left := found[top:]:
        rest = f"{len(left)} smaller ones take {span(sum(each.ns for each in left))} in all"
        out.print(f"{rest}: --top {len(found)}", style="dim", markup=False)
    out.print()


def _print_silences(out: Console, v: View, top: int) -> None:
    heads = ("=longest silences", ">from s", "=phase", "after the line", "before the line", "reason")
    table = make_table(*heads, spare=("before the line", "phase"))
    for silence in v.silences[: min(top, 5)]:
        table.add_row(
            span(silence.duration_ns),
            seconds(silence.start_ns),
            phase_at(v.timeline.phases, silence.start_ns).name,
            Text(cut(visible(silence.before), 44)),
            Text(cut(visible(silence.after), 44)),
            reason_text(silence),
        )
    out.print(table)
    out.print("all of them: --view silences", style="dim", markup=False)


def reason_text(silence: Silence) -> Text:
    """The usual cause of such a gap; empty if unknown."""
    reason = silence.reason
    return Text(visible(reason.words, 120) if reason else "", "cyan")


def _print_doubts(out: Console, tl: Timeline) -> None:
    for d in tl.disagreements:
        off_ns = d.marker_ns - d.address_ns
        begins = f"{d.phase} begins {span(abs(off_ns))} {'later' if off_ns > 0 else 'earlier'}"
        address = f"its program address ({visible(d.marker, 60)})"
        out.print()
        out.print(Text(f"note: by the console, {begins} than by {address}: {d.reason}", "yellow"))
    if tl.clock_worst_ns > 1000:
        off = span(tl.clock_worst_ns)
        out.print(Text(f"note: the counted clock was off by up to {off} between device accesses", "yellow"))


def sides(out: Console, a: View, b: View) -> None:
    """Which boots are compared."""
    out.print(Text(f"A  {a.boot.info.boot_id}"))
    out.print(Text(f"B  {b.boot.info.boot_id}"))
    out.print()


def compare(out: Console, a: View, b: View, c: Comparison, top: int) -> None:
    """Boot B against boot A."""
    sides(out, a, b)
    on_core = a.core is not None and b.core is not None
    kinds = ("issue", "memory", *KINDS[1:]) if on_core else KINDS
    table = make_table("=phase", ">A s", ">B s", ">change", *(f">{kind}" for kind in kinds))
    for phase in c.phases:
        split = [_change(phase.split[f"{kind}_ns"]) if phase.split else Text("-", "dim") for kind in kinds]
        table.add_row(phase.name, seconds(phase.a_ns), seconds(phase.b_ns), _change(phase.change_ns), *split)
    total_ns = c.total_b_ns - c.total_a_ns
    name = f"until {visible(c.cut_at, 40)}" if c.cut_at else "total"
    change = Text("-", "dim") if c.refused and not c.cut_at else _change(total_ns)
    table.add_row(Text(name), seconds(c.total_a_ns), seconds(c.total_b_ns), change, style="bold")
    out.print(table)
    for side, v in (("A", a), ("B", b)):
        if v.core:
            off = brief(uncertainty(v.timeline, v.core))
            told = f"{side} on core {v.core.name}: {cpu_words(v.timeline)}; total {off}"
            out.print(told, style="dim", markup=False)
    if not on_core and bool(a.counted) != bool(b.counted):
        side, tick_ns = "A" if a.counted else "B", a.run.info.board.tick_ns
        told = f"only {side} was counted for a core, so both are shown without one"
        out.print(f"{told}: each instruction takes {tick_ns} ns", style="dim", markup=False)
    out.print()
    _print_verdict(out, a, b, c)
    _print_differences(out, c, top)


def _change(ns: int) -> Text:
    if not ns:
        return Text("=", "dim")
    return Text(("+" if ns > 0 else "-") + span(abs(ns)), "red" if ns > 0 else "green")


def _print_verdict(out: Console, a: View, b: View, c: Comparison) -> None:
    if c.cut_at:
        ends = (f"{v.run.info.until}{'' if v.boot.info.complete else ', not reached'}" for v in (a, b))
        words = f"the two end at different milestones: {' (A), '.join(ends)} (B)"
        words += f"; both are cut at {c.cut_at}, the last common one"
        out.print(Text(f"note: {visible(words, 300)}", "yellow"))
    if c.refused:
        return
    change_ns = c.total_b_ns - c.total_a_ns
    part = f" ({100 * abs(change_ns) / c.total_a_ns:.2f} %)" if change_ns and c.total_a_ns else ""
    out.print(Text(verdict(c) + part, "green" if change_ns < 0 else "red" if change_ns else ""))


def verdict(c: Comparison) -> str:
    """How much faster or slower B is, in words."""
    change_ns, where = c.total_b_ns - c.total_a_ns, f" at {c.cut_at}" if c.cut_at else ""
    word = "faster" if change_ns < 0 else "slower"
    return f"B is {span(abs(change_ns))} {word}{where}" if change_ns else f"the same to the nanosecond{where}"


def _print_differences(out: Console, c: Comparison, top: int) -> None:
    if not c.differences:
        out.print("what booted is the same" if c.same_build else "no known difference between the builds")
        return
    out.print()
    table = make_table("difference", "A", "B")
    for d in c.differences[:top]:
        sides = _sides(d.a, d.b)
        # One side is useless without the other, so a narrow terminal shows them one below the other.
        if out.width < _BESIDE:
            out.print(Text(f"{d.what}\n  A  {sides[0]}\n  B  {sides[1]}"))
        table.add_row(Text(d.what), *map(Text, sides))
    if out.width >= _BESIDE:
        out.print(table)
    if len(c.differences) > top:
        out.print(f"... and {len(c.differences) - top} more (--top {len(c.differences)})", style="dim")


def _sides(a: str | None, b: str | None) -> tuple[str, str]:
    """What both sides have, abbreviated."""
    first, second = ("-" if side is None else visible(setting(side)) for side in (a, b))
    return cut_beside(first, second, 40)


def runs(out: Console, found: Sequence[Listed]) -> None:
    """The list of runs; a narrow terminal keeps the columns for what each took."""
    # Runs may come from other computers: nothing of them is markup, or acts on the terminal.
    columns: dict[str, Callable[[Summary, Figure | None, Mapping[str, str]], str | Text]] = {
        "=run": lambda run, *_: Text(printable(run.run_id)),
        "=when": lambda run, *_: _when(run.created),
        ">boots": lambda run, *_: _boots(run),
        ">median s": lambda _, figure, *__: seconds(figure.median_ns) if figure else "-",
        ">spread (IQR)": lambda _, figure, *__: _spread(figure),
        "=until": lambda run, figure, _: Text(visible(figure.what if figure else run.until, 40)),
        "=ended": lambda run, *_: Text(_ended(run), "yellow"),
        "=board": lambda run, *_: Text(printable(run.board)),
        "labels": lambda *each: Text(labels.words(each[2])),
        "=kind": lambda run, *_: Text(printable(run.kind)),
        "=build": lambda run, *_: Text(printable(run.build_id[:12])),
    }
    cells = {head: [tell(*each) for each in found] for head, tell in columns.items()}
    told = {head: column for head, column in cells.items() if any(str(cell) for cell in column)}
    spare = ("build", "kind", "when", "board", "until", "ended", "labels", "spread (IQR)")
    table = make_table(*told, spare=spare)
    for row in zip(*told.values(), strict=True):
        table.add_row(*row)
    out.print(table)


def _boots(run: Summary) -> str:
    return str(run.boots) if run.complete == run.boots else f"{run.complete} of {run.boots}"


def _ended(run: Summary) -> str:
    return "" if run.ended == BootEnd.MILESTONE else printable(run.ended)


def _when(created: str) -> str:
    """The date and time in the local time zone."""
    try:
        return f"{datetime.fromisoformat(created).astimezone():%Y-%m-%d %H:%M}"
    except ValueError:
        return ""


def _spread(figure: Figure | None) -> str:
    if not figure:
        return ""
    return "exact" if figure.exact else span(figure.spread_ns) if figure.boots > 1 else ""
