# SPDX-License-Identifier: Apache-2.0
"""A search on a real board, as JSON and as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from bootscope.analysis.significance import interval
from bootscope.core.text import span
from bootscope.report import tried
from bootscope.report.boots import named
from bootscope.report.jsondoc import fields
from bootscope.report.tables import make_table
from bootscope.search.board_verdict import BoardVerdict
from bootscope.search.experiment import Experiment, Worth
from bootscope.search.experiment import title as short
from bootscope.search.pareto import loses
from bootscope.search.session import BoardResult
from bootscope.statistics.shift import CONFIDENCE


def document(system: str, found: BoardResult) -> dict[str, Any]:
    """For `optimize --json` of an imported system (docs/json.md); times in ns."""
    whole = tried.document(found.whole) if found.whole else None
    search, first_run = found.search, found.bench.first_run
    return {
        "system": system,
        "keep": list(search.goal.keep),
        "base": first_run,
        "run_id": whole["variant"] if whole else first_run,
        "base_ns": whole["base_ns"] if whole else None,
        "final_ns": whole["variant_ns"] if whole else None,
        "ended": search.ended,
        "accepted": list(search.accepted),
        "loses": sorted(loses(search.accepted)),
        "experiments": [_experiment(e) for e in search.experiments],
        "ablation": [_worth(w) for w in found.worths],
        "measured": found.bench.pairs.measured,
        "whole": whole,
    }


def _experiment(e: Experiment[BoardVerdict]) -> dict[str, Any]:
    return {
        "techniques": e.techniques,
        "technique": short(e.techniques),
        **fields(e, "on", "replaced", "predicted_ns", "saving_ns"),
        **_interval(e.verdict),
        **fields(e, "accepted", "halved"),
        "refusal": named(e.refusal, 1000),
        "log": e.log,
        "base": e.verdict.pair.base_run if e.verdict else None,
        "variant": _variant(e.verdict),
    }


def _interval(found: BoardVerdict | None) -> dict[str, int | None]:
    shift = found.comparison.goal.shift if found and found.comparison else None
    return {"low_ns": shift.low_ns if shift else None, "high_ns": shift.high_ns if shift else None}


def _variant(found: BoardVerdict | None) -> str | None:
    return found.pair.variant_run or None if found else None


def _worth(w: Worth[BoardVerdict]) -> dict[str, Any]:
    return {
        "technique": w.technique,
        "worth_ns": w.ns,
        **_interval(w.verdict),
        "dropped": w.dropped,
        "why": named(w.why, 1000),
        "run_id": _variant(w.verdict),
    }


def show(out: Console, found: BoardResult, folder: Path | None) -> None:
    """The same as text; `folder` is where the accepted techniques were written."""
    search = found.search
    table = make_table("=technique", ">saves", f">{CONFIDENCE} interval of the change", "")
    for e in search.experiments:
        c = e.verdict.comparison if e.verdict else None
        saving = span(e.saving_ns) if e.saving_ns is not None else "-"
        # The row already has the interval.
        why = e.refusal.partition(": the time changes")[0] if c else e.refusal
        said = Text("stays", "green") if e.accepted else Text(named(why, 120), "dim")
        table.add_row(short(e.techniques), saving, interval(c.goal) if c else "-", said)
    out.print(table)
    out.print(Text(f"ended: {named(search.ended, 400)}", "dim"))
    out.print()
    for worth in found.worths:
        out.print(Text(named(found.bench.worth_line(worth), 400), "dim"))
    if not search.accepted:
        out.print("no saving shown; more boots (-n) can show smaller savings")
        return
    out.print(Text(f"accepted: {' '.join(search.accepted)}"))
    if lost := loses(search.accepted):
        out.print(Text(f"removes: {', '.join(sorted(lost))}", "yellow"))
    if found.whole:
        tried.show(out, found.whole)
    if folder:
        out.print(Text(f"written to {folder}"))
    else:
        out.print(Text("next: bootscope apply with these techniques, for your tree (or -o DIR)", "dim"))
