# SPDX-License-Identifier: Apache-2.0
"""The result of a search on the emulated board, as text for a terminal and as JSON (docs/json.md)."""

from __future__ import annotations

from functools import partial

from rich.console import Console
from rich.text import Text

from bootscope.core.text import duration, seconds, span
from bootscope.report.jsondoc import fields
from bootscope.report.tables import make_table
from bootscope.search.experiment import Experiment, Worth
from bootscope.search.result import Result
from bootscope.search.verdict import ExactVerdict

_table = partial(make_table, header_style="bold")


def show(out: Console, a: Result) -> None:
    """Prints the steps, what was refused, what each is worth, phases, the lower bound, the Pareto list."""
    _steps(out, a)
    _refused(out, a)
    _worths(out, a)
    _phases(out, a)
    _points(out, a)
    took = f"{a.measured} systems built or booted in {duration(a.host_s)}"
    out.print(f"{a.search.ended}; {took}; last recording: {a.final.run_id}", markup=False)
    if a.beside:
        out.print(f"\nand keeping {', '.join(a.beside.search.goal.keep)}:", style="bold")
        show(out, a.beside)


def _steps(out: Console, a: Result) -> None:
    table = _table(">boot s", ">saves", "what")
    table.add_row(seconds(a.base.total_ns), "", Text(a.search.bench.loaded.system.name, "dim"))
    for s in a.steps:
        what = Text(", ".join(s.came))
        if s.went:
            what.append(f"{' ' if s.came else ''}(without {', '.join(s.went)})", "dim")
        saves = span(s.saving_ns) if s.saving_ns else ""
        table.add_row(seconds(s.after.total_ns), saves, what)
    out.print(table)
    final, floor = a.final.total_ns, a.floor.sums["floor_ns"]
    times = Text(f"{a.base.total_ns / final:.1f} times", "bold green")
    out.print(
        Text.assemble(
            f"{a.base.until} after {seconds(final)} s instead of {seconds(a.base.total_ns)} s: ", times,
            f" as fast; the lower bound (floor) of this board with these images is {seconds(floor)} s",
        )
    )  # fmt: skip
    if a.lost:
        out.print(Text(f"capabilities lost: {', '.join(a.lost)}", "dim"))


def _refused(out: Console, a: Result) -> None:
    if not a.refused:
        return
    table = _table("refused", "why")
    for e in a.refused:
        table.add_row(Text(", ".join(e.techniques)), Text(e.reason, "dim"))
    out.print(table)


def _worths(out: Console, a: Result) -> None:
    if not a.worths:
        return
    table = _table(">worth", "of the accepted techniques, at the end")
    for w in sorted(a.worths, key=lambda w: -(w.ns or 0)):
        why = f": {w.why}" if w.why else ": taken out" if w.dropped else ""
        table.add_row("" if w.ns is None else span(max(0, w.ns)), Text(w.technique).append(why, "dim"))
    out.print(table)


def _phases(out: Console, a: Result) -> None:
    table = _table("=phase", ">before", ">after")
    for name, before, after in a.phases:
        table.add_row(name, seconds(before), Text(seconds(after), "green" if after < before else "dim"))
    out.print(table)


def _points(out: Console, a: Result) -> None:
    if not a.points:
        return
    table = _table(">boot s", "loses", "")
    for p in a.points:
        how = Text("" if p.run_id else "estimated", "dim")
        table.add_row(seconds(p.total_ns), Text(", ".join(p.loses) or "nothing"), how)
    out.print(table)


def document(a: Result) -> dict[str, object]:
    """The fields of the document; `beside` is another such document, or null."""
    return {
        "system": a.search.bench.loaded.system.name,
        "keep": list(a.search.goal.keep),
        "until": a.base.until,
        "base": a.base.run_id,
        "run_id": a.final.run_id,
        "base_ns": a.base.total_ns,
        "final_ns": a.final.total_ns,
        "ended": a.search.ended,
        "accepted": list(a.accepted),
        "loses": list(a.lost),
        "steps": [
            {"came": s.came, "went": s.went, "before_ns": s.before_ns, "after_ns": s.after.total_ns}
            for s in a.steps
        ],
        "experiments": [_experiment(e) for e in a.search.experiments],
        "ablation": [_worth(w) for w in a.worths],
        "phases": [{"name": name, "a_ns": before, "b_ns": after} for name, before, after in a.phases],
        "floor": {**a.floor.sums, "rows": list(a.floor.rows)},
        "pareto": [
            {
                **fields(p, "total_ns", "loses", "techniques"),
                "measured": bool(p.run_id),
                "run_id": p.run_id or None,
                "keeps": p.keeps or None,
            }
            for p in a.points
        ],
        "host_s": round(a.host_s),
        "measured": a.measured,
        "beside": document(a.beside) if a.beside else None,
    }


def _experiment(e: Experiment[ExactVerdict]) -> dict[str, object]:
    return {
        "technique": " + ".join(e.techniques),
        **fields(e, "techniques", "on", "replaced", "predicted_ns", "saving_ns"),
        **fields(e, "accepted", "halved", "refusal"),
        "log": e.log or None,
        "base": e.verdict.base.run_id if e.verdict else None,
        "variant": (e.verdict.variant.run_id if e.verdict else "") or None,
    }


def _worth(w: Worth[ExactVerdict]) -> dict[str, object]:
    return {
        "technique": w.technique,
        "worth_ns": w.ns,
        "dropped": w.dropped,
        "why": w.why,
        "run_id": (w.verdict.variant.run_id if w.verdict else "") or None,
    }
