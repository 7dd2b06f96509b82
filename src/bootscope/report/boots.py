# SPDX-License-Identifier: Apache-2.0
"""Runs of several boots against each other, as text for a terminal. Names of milestones are untrusted."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console
from rich.text import Text

from bootscope.analysis.samples import SampleSet
from bootscope.analysis.significance import (
    FASTER,
    NOT_SHOWN,
    PLANNED_PERCENT,
    SAME,
    SLOWER,
    BootComparison,
    ComparedQuantity,
    interval,
)
from bootscope.core.text import seconds, signed, span, visible
from bootscope.report.tables import make_table
from bootscope.statistics.describe import Description
from bootscope.statistics.planning import MOST
from bootscope.statistics.shift import ALPHA, CONFIDENCE

_COLOURS = {FASTER: "green", SLOWER: "red", NOT_SHOWN: "", SAME: "dim"}
_MOST_LISTED = 40
_SPARE = ("p", f"{CONFIDENCE} interval", "A s", "B s")
"""The verdict and what the change is are what a narrow terminal has room for."""
_ROWS: dict[str, Callable[[Description], int]] = {
    "median": lambda d: d.median_ns,
    "spread (IQR)": lambda d: d.spread_ns,
    "fastest": lambda d: d.lowest_ns,
    "slowest": lambda d: d.highest_ns,
}


def named(text: object, limit: int = 80) -> str:
    """A name from a target or a file, without what a terminal would act on."""
    return visible(str(text), limit)


def share(ns: int, whole_ns: int) -> str:
    """A part in percent: ` (2.04 %)`; empty where there is no whole."""
    return f" ({100 * ns / whole_ns:.2f} %)" if whole_ns else ""


def compare(out: Console, found: BootComparison) -> None:
    """Run B against run A."""
    for side, boots in (("A", found.a), ("B", found.b)):
        exact = ", exact" if boots.exact else ""
        out.print(Text(f"{side}  {named(boots.run_id)}  {counted(len(boots.boots))}{exact}"))
    out.print()
    _print_goal(out, found)
    if not found.refused:
        for line, style in verdict_lines(found):
            out.print(Text(line, style))
    _print_details(out, found)
    for note in found.notes:
        out.print(Text(f"note: {named(note, 400)}", "yellow"))


def counted(boots: int) -> str:
    """A number of boots in words."""
    return f"{boots} boot" if boots == 1 else f"{boots} boots"


def _print_goal(out: Console, found: BootComparison) -> None:
    goal = found.goal
    table = make_table(f"={named(goal.quantity)}", ">A s", ">B s", ">change")
    for title, value in _ROWS.items():
        cells = [seconds(value(d)) if d else "-" for d in (goal.a, goal.b)]
        change = signed(value(goal.b) - value(goal.a)) if goal.a and goal.b else "-"
        table.add_row(title, *cells, change)
    out.print(table)
    for side, boots, d in (("A", found.a, goal.a), ("B", found.b, goal.b)):
        out.print(Text(f"{side} boots  {_listed(boots, goal, d)}", "dim"))
    out.print()


def _listed(boots: SampleSet, goal: ComparedQuantity, described: Description | None) -> str:
    """Each boot's time in s, outliers marked by an asterisk."""
    values = boots.values(goal.quantity)
    far = set(described.outliers) if described else set()
    shown = [f"{seconds(ns)}{'*' if at in far else ''}" for at, ns in enumerate(values[:_MOST_LISTED])]
    more = f" and {len(values) - _MOST_LISTED} more" if len(values) > _MOST_LISTED else ""
    return (" ".join(shown) or "none") + more


def verdict_lines(found: BootComparison) -> list[tuple[str, str]]:
    """The verdict in words, with the style of each line."""
    v = found.goal
    if v.shift is None or v.a is None or v.b is None or v.p is None:
        return []
    whole = v.a.median_ns
    how = f"{CONFIDENCE} interval {interval(v)}; p = {v.p:.2g}, {v.shift.test}"
    if v.word == SAME:
        return [(f"the same in all boots at {named(v.quantity)}", "")]
    if v.word == NOT_SHOWN:
        first = f"no difference shown at {named(v.quantity)}: {how}"
    else:
        size = abs(v.shift.shift_ns)
        first = f"B is {span(size)} {v.word} at {named(v.quantity)}{share(size, whole)}; {how}"
    return [(first, _COLOURS[v.word]), (could(v, whole), ""), (plan(v, whole), "")]


def could(v: ComparedQuantity, whole: int) -> str:
    """What these boots could have shown, of a whole of so many ns."""
    if v.a is None or v.b is None or v.smallest_ns is None:
        return "these boots could not have shown any difference"
    sizes = f"{v.a.count} and {v.b.count} boots"
    return f"{sizes} show {span(v.smallest_ns)}{share(v.smallest_ns, whole)} or more in 4 of 5 cases"


def plan(v: ComparedQuantity, whole: int) -> str:
    """How many boots it takes to show more."""
    planned = span(whole * PLANNED_PERCENT // 100)
    words = f"to show {PLANNED_PERCENT} % ({planned}) in 4 of 5 cases: {boots_needed(v.needed_planned)}"
    if v.word == NOT_SHOWN and v.shift and v.shift.shift_ns:
        words += f"; to show the {span(abs(v.shift.shift_ns))} seen here: {boots_needed(v.needed)}"
    return words


def boots_needed(count: int | None) -> str:
    """A plan in words."""
    return f"more than {MOST:,} boots of each" if count is None else f"{count} boots of each"


def _print_details(out: Console, found: BootComparison) -> None:
    if not found.details:
        return
    columns = ("=also", ">A s", ">B s", ">change", f">{CONFIDENCE} interval", ">p", "=verdict")
    table = make_table(*columns, spare=_SPARE)
    for v in found.details:
        medians = [seconds(d.median_ns) if d else "-" for d in (v.a, v.b)]
        change = v.shift.shift_ns if v.shift else v.b.median_ns - v.a.median_ns if v.a and v.b else None
        p = "-" if v.p is None else f"{v.p:.2g}"
        table.add_row(
            Text(named(v.quantity, 40)),
            *medians,
            "-" if change is None else signed(change),
            interval(v),
            p,
            Text(v.word.replace(NOT_SHOWN, "not shown"), _COLOURS.get(v.word, "")),
        )
    out.print()
    out.print(table)
    if any(v.p is not None for v in found.details):
        out.print(f"p is corrected for the number of rows (Holm); shown from {ALPHA} down", style="dim")
