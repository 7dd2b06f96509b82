# SPDX-License-Identifier: Apache-2.0
"""The result of `try` on a real board, as text for a terminal and as JSON (docs/json.md)."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from bootscope.analysis.samples import PHASE
from bootscope.analysis.significance import NOT_SHOWN, SAME, BootComparison, ComparedQuantity, interval
from bootscope.core.text import seconds, signed, size, span
from bootscope.report import boots_json
from bootscope.report.boots import named, power, share
from bootscope.report.tables import make_table
from bootscope.search.board_verdict import BoardVerdict
from bootscope.statistics.shift import CONFIDENCE


def document(found: BoardVerdict) -> dict[str, object]:
    """The fields of `try --json` for a board whose boots vary."""
    c = found.comparison
    goal = c.goal if c else None
    return {
        "techniques": found.pair.variant.specs,
        "base": found.pair.base_run,
        "variant": found.pair.variant_run or None,
        "works": found.works,
        "faults": found.faults,
        "proven": found.proven,
        "base_ns": goal.a.median_ns if goal and goal.a else None,
        "variant_ns": goal.b.median_ns if goal and goal.b else None,
        "saving_ns": found.saving_ns,
        "predicted_ns": None,
        "phases": [
            {"name": v.quantity.name, "a_ns": v.a.median_ns, "b_ns": v.b.median_ns}
            for v in (c.details if c else ())
            if v.quantity.kind == PHASE and v.a and v.b
        ],
        "sizes": {name: {"a_bytes": a, "b_bytes": b} for name, (a, b) in found.pair.sizes.items()},
        "rounds": found.pair.rounds,
        "comparison": boots_json.compare(c) if c else None,
        "notes": [named(note, 400) for note in found.notes],
    }


def show(out: Console, found: BoardVerdict) -> None:
    """The verdict as text."""
    c, words = found.comparison, found.pair.variant.words
    if c:
        _times(out, c)
    for fault in found.faults:
        out.print(Text.assemble(("does not work: ", "bold red"), named(fault, 400)))
    for name, (a, b) in found.pair.sizes.items():
        out.print(Text(f"  {named(name)}: {size(a)} -> {size(b)}", "dim"))
    if c:
        for line in _verdict(words, c, found.works):
            out.print(line)
    for note in found.notes:
        out.print(Text(f"note: {named(note, 400)}", "yellow"))
    runs = ", ".join(run for run in (found.pair.base_run, found.pair.variant_run) if run)
    turns = f"{found.pair.rounds} rounds" if found.pair.rounds > 1 else "one after the other"
    out.print(Text(f"recordings: {runs} ({turns})", "dim"))


def _times(out: Console, c: BootComparison) -> None:
    likely = f"{CONFIDENCE} interval"
    columns = ("=phase", ">without", ">with", ">change", f">{likely}", "=verdict")
    table = make_table(*columns, spare=(likely, "without", "with"))
    rows = [v for v in c.details if v.quantity.kind == PHASE]
    for v in (*rows, c.goal):
        goal = "= " if v is c.goal else ""
        medians = [seconds(d.median_ns) if d else "-" for d in (v.a, v.b)]
        change = signed(v.shift.shift_ns) if v.shift else "-"
        name = named(v.quantity if goal else v.quantity.name, 40)
        style = {"faster": "green", "slower": "red"}.get(v.word, "dim")
        said = v.word.replace(NOT_SHOWN, "not shown")
        table.add_row(Text(f"{goal}{name}"), *medians, change, interval(v), Text(said, style))
    out.print(table)


def _verdict(words: str, c: BootComparison, works: bool) -> list[Text]:
    v = c.goal
    if c.refused or v.shift is None or v.a is None or v.p is None:
        return [Text(f"{words}: {named(c.refused, 400)}", "yellow")] if c.refused else []
    whole, but = v.a.median_ns, "" if works else ", but does not work"
    if v.word in (NOT_SHOWN, SAME):
        first = Text(f"{words}: {v.word} at {named(v.quantity)}{_how(v)}{but}")
    else:
        verb, style = ("saves", "bold green") if v.shift.shift_ns < 0 else ("costs", "bold red")
        first = Text.assemble(
            f"{words} ",
            (f"{verb} {span(abs(v.shift.shift_ns))}", style),
            f" of {seconds(whole)} s{share(abs(v.shift.shift_ns), whole)}{_how(v)}{but}",
        )
    return [first, Text(power(v, whole))]


def _how(v: ComparedQuantity) -> str:
    """The interval of a change: its effect on the time, from least to most."""
    assert v.shift
    return f"; the time changes by {interval(v)} ({CONFIDENCE} interval); p = {v.p:.2g}, {v.shift.test}"
