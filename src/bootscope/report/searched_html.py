# SPDX-License-Identifier: Apache-2.0
"""A search on a real board as one HTML file that opens without a network and runs no script.

Boots of a board vary, so it shows every boot, and the interval of each technique's effect. Names of
milestones and messages come from targets: they go through :func:`plain`, and then through the template's
escaping.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from bootscope import __version__
from bootscope.analysis.samples import PHASE
from bootscope.analysis.significance import NOT_SHOWN, BootComparison, ComparedQuantity, interval
from bootscope.buildtrees.model import Tree
from bootscope.core.text import span
from bootscope.export.text import plain
from bootscope.report.boots import could
from bootscope.report.pages import sources, template
from bootscope.search.board_verdict import BoardVerdict
from bootscope.search.experiment import Experiment, Worth
from bootscope.search.pareto import loses
from bootscope.search.session import BoardResult
from bootscope.statistics.shift import CONFIDENCE
from bootscope.system.changes import word_name
from bootscope.techniques.model import techniques

MAX_REASON = 600


def render(tree: Tree, found: BoardResult) -> str:
    """The result of a search as one HTML document."""
    search, whole = found.search, found.whole
    c, goal = whole.comparison if whole else None, _goal(whole)
    experiments = [_experiment(e, number) for number, e in enumerate(search.experiments, start=1)]
    return template("searched.html.j2").render(
        title=plain(tree.name),
        subtitle=plain(f"{tree.made_by} in {tree.folder}"),
        keep=search.goal.keep,
        ended=plain(search.ended, MAX_REASON),
        until=plain(str(goal.quantity)) if goal else "",
        goal=goal if goal and goal.a and goal.b and goal.shift else None,
        change=interval(goal) if goal else "",
        could=could(goal, goal.a.median_ns) if goal and goal.a else "",
        rounds=whole.pair.rounds if whole else 0,
        sides=_sides(c) if c else [],
        phases=[_phase(v) for v in (c.details if c else ()) if v.quantity.kind == PHASE],
        faults=[plain(fault, MAX_REASON) for fault in (whole.faults if whole else ())],
        notes=[plain(note, MAX_REASON) for note in (whole.notes if whole else ())],
        lost=sorted(loses(search.accepted)),
        rows=_with_bars(experiments),
        worths=_with_bars([_worth(w) for w in found.worths]),
        techniques=[(name, techniques()[word_name(name)]) for name in search.accepted],
        provenance=list(_provenance(tree, found)),
        confidence=CONFIDENCE,
        version=__version__,
        style=sources("report.css", "search.css", "searched.css"),
    )


def _sides(c: BootComparison) -> list[dict[str, object]]:
    """Every boot of both runs as a dot between the fastest and the slowest of all."""
    sides = [("before", c.a.values(c.goal.quantity)), ("after", c.b.values(c.goal.quantity))]
    values = [ns for _, of in sides for ns in of]
    if not values:
        return []
    place = _scale(min(values), max(values))
    return [{"name": name, "dots": [(place(ns), ns) for ns in of], "count": len(of)} for name, of in sides]


def _scale(low_ns: int, high_ns: int) -> Callable[[int], str]:
    """Maps a time between two others to a length in CSS."""
    width_ns = max(1, high_ns - low_ns)
    return lambda ns: f"{100 * (ns - low_ns) / width_ns:.2f}%"


def _phase(v: ComparedQuantity) -> dict[str, object]:
    return {
        "name": plain(v.quantity.name),
        "before_ns": v.a.median_ns if v.a else None,
        "after_ns": v.b.median_ns if v.b else None,
        "change": interval(v),
        "word": v.word.replace(NOT_SHOWN, "not shown"),
    }


def _experiment(e: Experiment[BoardVerdict], number: int) -> dict[str, Any]:
    pair = e.verdict.pair if e.verdict else None
    return {
        "number": number,
        "name": ", ".join(e.techniques),
        "replaced": ", ".join(e.replaced),
        "predicted_ns": e.predicted_ns,
        "verdict": "accepted" if e.accepted else "tried in parts" if e.halved else "refused",
        "why": _line(e.refusal + (f"; full log: {e.log}" if e.log else "")),
        "runs": ", ".join(filter(None, (pair.base_run, pair.variant_run))) if pair else "",
        "v": _goal(e.verdict),
    }


def _worth(w: Worth[BoardVerdict]) -> dict[str, Any]:
    why = "; ".join(filter(None, ("taken out" if w.dropped else "", w.why)))
    return {"name": w.technique, "why": _line(why), "v": _goal(w.verdict)}


def _goal(found: BoardVerdict | None) -> ComparedQuantity | None:
    """The quantity that a verdict compares; None if there is none."""
    c = found.comparison if found else None
    return c.goal if c and not c.refused else None


def _line(text: str) -> str:
    """A message of a build or a boot, on one line."""
    return plain(" ... ".join(part.strip() for part in text.splitlines() if part.strip()), MAX_REASON)


def _with_bars(rows: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """Rows with their intervals drawn on one scale, which includes zero change."""
    shifts = [row["v"].shift for row in rows if row["v"] and row["v"].shift]
    low, high = min((0, *(s.low_ns for s in shifts))), max((0, *(s.high_ns for s in shifts)))
    place, width = _scale(low, high), _scale(0, high - low)
    for row in rows:
        row["change"], row["bar"], row["saves"] = interval(row["v"]) if row["v"] else "", None, ""
        if row["v"] and (shift := row["v"].shift):
            row["saves"] = span(-shift.shift_ns)
            row["bar"] = {
                "zero": place(0),
                "left": place(shift.low_ns),
                "width": width(shift.high_ns - shift.low_ns),
                "middle": place(shift.shift_ns),
            }
    return rows


def _provenance(tree: Tree, found: BoardResult) -> Iterable[tuple[str, str]]:
    search, pairs = found.search, found.bench.pairs
    yield "the original system", found.bench.first_run
    if found.whole:
        yield "before", found.whole.pair.base_run
        yield "after", found.whole.pair.variant_run or "not booted"
        yield "rounds", f"{found.whole.pair.rounds}"
    yield "tree", plain(tree.folder)
    yield "measured", f"{pairs.measured} comparisons, of {pairs.order.boots} boots each way"
    yield "checked with", plain(pairs.check) or "only that the boots complete"
    yield "kept", ", ".join(search.goal.keep) or "no capability was required"
    yield "how it ended", plain(search.ended, MAX_REASON)
    yield "written", datetime.now(UTC).date().isoformat()
    yield "bootscope", __version__
