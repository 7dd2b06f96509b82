# SPDX-License-Identifier: Apache-2.0
"""The result of a search as one HTML file that opens without a network and runs no script.

Everything goes through jinja2's escaping, and texts of tools and targets through :func:`plain` before.
"""

from __future__ import annotations

import base64

from bootscope import __version__
from bootscope.core.text import duration
from bootscope.export.text import plain
from bootscope.loaders.registry import PHASES
from bootscope.report.pages import sources, template
from bootscope.search.experiment import Experiment
from bootscope.search.outcome import Outcome
from bootscope.search.result import Result, Step
from bootscope.search.verdict import ExactVerdict
from bootscope.system.changes import word_name
from bootscope.techniques.model import techniques

MAX_REASON = 600


def render(a: Result) -> str:
    """The result as one HTML document."""
    return template("search.html.j2").render(
        accounts=[_account(found) for found in (a, a.beside) if found],
        phases=PHASES,
        version=__version__,
        style=sources("report.css", "search.css"),
    )


def _account(a: Result) -> dict[str, object]:
    base, final, floor = a.base.total_ns, a.final.total_ns, a.floor.sums["floor_ns"]
    picture = a.last.picture
    info = a.last.run.info
    return {
        "title": plain(a.search.bench.loaded.system.name),
        "subtitle": plain(a.search.bench.loaded.system.title),
        "keep": a.search.goal.keep,
        "until": plain(a.base.until),
        "base_ns": base,
        "final_ns": final,
        "times": f"{base / final:.1f}" if final else "",
        "floor_ns": floor,
        "above_ns": max(0, final - floor),
        "ended": plain(a.search.ended),
        "lost": a.lost,
        "picture": base64.b64encode(picture).decode() if picture else None,
        "states": [_state("as it was", (), a.base, base, base), *(_step(s, base) for s in a.steps)],
        "phase_rows": [
            {"name": name, "before_ns": b, "after_ns": c, "before": _share(b, base), "after": _share(c, base)}
            for name, b, c in a.phases
        ],
        "floor_rows": a.floor.rows,
        "floor_notes": a.floor.notes,
        "experiments": [_experiment(e, number) for number, e in enumerate(a.search.experiments, start=1)],
        "refused": [(", ".join(e.techniques), plain(e.reason, MAX_REASON)) for e in a.refused],
        "worths": sorted(a.worths, key=lambda w: -(w.ns or 0)),
        "points": [
            {
                "point": p,
                "share": _share(p.total_ns, base),
                "loses": ", ".join(p.loses) or "nothing",
                "count": len(p.techniques),
            }
            for p in a.points
        ],
        "techniques": [(name, techniques()[word_name(name)]) for name in a.accepted],
        "provenance": [
            ("first recording", a.base.run_id),
            ("last recording", a.final.run_id),
            ("board", plain(f"{info.board.name}: {info.board.title}")),
            ("command line", plain(info.system.command_line)),
            ("kept", ", ".join(a.search.goal.keep) or "no capability was required"),
            ("how it ended", plain(a.search.ended)),
            ("host time", f"{duration(a.host_s)}, {a.measured} systems built or booted"),
            ("bootscope", info.bootscope),
            *((f"tool: {plain(name)}", plain(version)) for name, version in sorted(info.tools.items())),
        ],
    }


def _share(ns: int, whole_ns: int) -> str:
    """A share of the first boot's time as a length in CSS."""
    return f"{100 * ns / whole_ns:.3f}%" if whole_ns else "0"


def _step(s: Step, whole_ns: int) -> dict[str, object]:
    name = ", ".join(s.came) if len(s.came) < 4 else f"{', '.join(s.came[:2])} and {len(s.came) - 2} more"
    went = s.went
    if not s.came:
        name, went = f"without {', '.join(went)}", ()
    row = _state(name, went, s.after, s.before_ns, whole_ns)
    return {**row, "all": ", ".join(s.came), "saving_ns": s.saving_ns}


def _state(
    name: str, went: tuple[str, ...], after: Outcome, before_ns: int, whole_ns: int
) -> dict[str, object]:
    """A row of the waterfall: a bar of phases, followed by what the step has saved."""
    return {
        "name": name,
        "all": "",
        "went": ", ".join(went),
        "total_ns": after.total_ns,
        "saving_ns": None,
        "parts": [(p, ns, _share(ns, whole_ns)) for p in PHASES if (ns := after.phases.get(p, 0))],
        "saved": _share(max(0, before_ns - after.total_ns), whole_ns),
    }


def _experiment(e: Experiment[ExactVerdict], number: int) -> dict[str, object]:
    base, variant = (e.verdict.base, e.verdict.variant) if e.verdict else (None, None)
    verdict = "accepted" if e.accepted else "tried in parts" if e.halved else "refused"
    return {
        "number": number,
        "name": ", ".join(e.techniques),
        "on": len(e.on),
        "replaced": ", ".join(e.replaced),
        "predicted_ns": e.predicted_ns,
        "saving_ns": e.saving_ns,
        "after_ns": variant.total_ns if variant and variant.reached else None,
        "verdict": verdict,
        "why": plain(e.reason, MAX_REASON) if e.refusal else "",
        "base": base.run_id if base else "",
        "variant": variant.run_id if variant else "",
        "host_s": round(variant.host_ms / 1000) if variant else 0,
    }
