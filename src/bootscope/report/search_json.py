# SPDX-License-Identifier: Apache-2.0
"""The result of a search as a JSON document (docs/json.md)."""

from __future__ import annotations

from bootscope.report.jsondoc import fields
from bootscope.search.experiment import Experiment, Worth
from bootscope.search.result import Result
from bootscope.search.verdict import ExactVerdict


def document(a: Result) -> dict[str, object]:
    """The fields of the document; `beside` is one like it, or null."""
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
