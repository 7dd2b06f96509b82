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
_JUDGED = (f">{CONFIDENCE} interval", ">p", "=verdict")
_SPARE = ("p", f"{CONFIDENCE} interval", "median of A s")
"""On a narrow terminal the verdict and the change have priority: these columns go first."""
_ESTIMATE = "median of all differences B - A"
"""Over all pairs of a boot of B and a boot of A (Hodges-Lehmann)."""
_ROWS: dict[str, Callable[[Description], int]] = {
    "median": lambda d: d.median_ns,
    "spread (IQR)": lambda d: d.spread_ns,
    "fastest": lambda d: d.lowest_ns,
    "slowest": lambda d: d.highest_ns,
}


def named(text: object, limit: int = 80) -> str:
    """A name from a target or a file, without characters that a terminal acts on."""
    return visible(str(text), limit)


def share(ns: int, whole_ns: int) -> str:
    """A part in percent: ` (2.04 %)`; empty if the whole is 0."""
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
    """What the boots of each run were like. Their difference is given once, by a single estimate."""
    goal = found.goal
    apart = () if goal.shift else (">difference",)
    table = make_table(f"={named(goal.quantity)}", ">A s", ">B s", *apart)
    for title, value in _ROWS.items():
        cells = [seconds(value(d)) if d else "-" for d in (goal.a, goal.b)]
        change = [signed(value(goal.b) - value(goal.a)) if goal.a and goal.b else "-"] if apart else []
        table.add_row(title, *cells, *change)
    out.print(table)
    for side, boots, d in (("A", found.a, goal.a), ("B", found.b, goal.b)):
        out.print(Text(f"{side} boots  {_listed(boots, goal, d)}", "dim"))
    out.print()


def _listed(boots: SampleSet, goal: ComparedQuantity, described: Description | None) -> str:
    """Each boot's time in s; outliers are marked with an asterisk."""
    values = boots.values(goal.quantity)
    far = set(described.outliers) if described else set()
    shown = [f"{seconds(ns)}{'*' if at in far else ''}" for at, ns in enumerate(values[:_MOST_LISTED])]
    more = f" and {len(values) - _MOST_LISTED} more" if len(values) > _MOST_LISTED else ""
    return (" ".join(shown) or "none") + more


def verdict_lines(found: BootComparison) -> list[tuple[str, str]]:
    """The verdict in words: each line with its style."""
    v = found.goal
    if v.shift is None or v.a is None or v.b is None or v.p is None:
        return []
    whole = v.a.median_ns
    how = f"{_ESTIMATE}; {CONFIDENCE} interval {interval(v)}; p = {v.p:.2g}, {v.shift.test}"
    if v.word == SAME:
        return [(f"the same in all boots at {named(v.quantity)}", "")]
    if v.word == NOT_SHOWN:
        first = f"no difference shown at {named(v.quantity)}"
    else:
        size = abs(v.shift.shift_ns)
        first = f"B is {span(size)} {v.word} at {named(v.quantity)}{share(size, whole)}"
    return [(first, _COLOURS[v.word]), (how, ""), (power(v, whole), "")]


def power(v: ComparedQuantity, whole: int) -> str:
    """The smallest change that these boots could have shown, also in percent of `whole` ns, and how many
    boots show smaller ones."""
    return f"{could(v, whole)}; {plan(v, whole)}"


def could(v: ComparedQuantity, whole: int) -> str:
    """The smallest change that these boots could have shown, also in percent of `whole` ns."""
    if v.a is None or v.b is None or v.smallest_ns is None:
        return "These boots could not have shown any difference"
    noticed = f"{span(v.smallest_ns)}{share(v.smallest_ns, whole)}"
    return f"With {v.a.count} + {v.b.count} boots you would notice {noticed} four times in five"


def plan(v: ComparedQuantity, whole: int) -> str:
    """How many boots are needed to show smaller changes."""
    planned = span(whole * PLANNED_PERCENT // 100)
    words = f"for {PLANNED_PERCENT} % ({planned}) make {boots_needed(v.needed_planned)}"
    if v.word == NOT_SHOWN and v.shift and v.shift.shift_ns:
        words += f", for the {span(abs(v.shift.shift_ns))} seen here {boots_needed(v.needed)}"
    return words


def boots_needed(count: int | None) -> str:
    """A number of boots to plan, in words."""
    return f"more than {MOST:,} of each" if count is None else f"{count} of each"


def _print_details(out: Console, found: BootComparison) -> None:
    """What else differs, each by the same estimate as the verdict; by medians if there are too few boots."""
    if not found.details:
        return
    judged = any(v.shift for v in found.details)
    if judged:
        out.print()
        out.print(Text(f"also, by the {_ESTIMATE}", "dim"))
    sides = (">median of A s", ">B - A") if judged else (">A s", ">B s", ">difference of medians")
    table = make_table("=" if judged else "=also", *sides, *(_JUDGED if judged else ()), spare=_SPARE)
    for v in found.details:
        table.add_row(Text(named(v.quantity, 40)), *(_judged(v) if judged else _medians(v)))
    if not judged:
        out.print()
    out.print(table)
    if any(v.p is not None for v in found.details):
        out.print(f"p is corrected for the number of rows (Holm); shown from {ALPHA} down", style="dim")


def _judged(v: ComparedQuantity) -> tuple[str | Text, ...]:
    """The cells of a quantity; it has no verdict if only one of the runs has it."""
    word = Text(v.word.replace(NOT_SHOWN, "not shown"), _COLOURS.get(v.word, ""))
    change = signed(v.shift.shift_ns) if v.shift else "-"
    p = "-" if v.p is None else f"{v.p:.2g}"
    return seconds(v.a.median_ns) if v.a else "-", change, interval(v), p, word


def _medians(v: ComparedQuantity) -> tuple[str, ...]:
    medians = [seconds(d.median_ns) if d else "-" for d in (v.a, v.b)]
    return (*medians, signed(v.b.median_ns - v.a.median_ns) if v.a and v.b else "-")
