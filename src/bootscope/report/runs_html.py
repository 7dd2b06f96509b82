# SPDX-License-Identifier: Apache-2.0
"""Runs of several boots for the report's page: a dot for each boot, median and interval, phases as boxes, and
two runs beside each other.

Texts come from targets or files: they go through :func:`named`, and through the template's escaping.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from bootscope.analysis.compare import Comparison
from bootscope.analysis.ground import common_zero
from bootscope.analysis.samples import PHASE, SampleSet, goal
from bootscope.analysis.significance import BootComparison, interval, oddities
from bootscope.core.text import seconds, signed, span
from bootscope.report.boots import named, verdict_lines
from bootscope.report.terminal import verdict
from bootscope.statistics.describe import LEAST_PERCENT, Description, describe, median_interval
from bootscope.statistics.shift import CONFIDENCE

_MARGIN = 0.06
"""Part of a scale that is left free on both sides."""
_MOST_DOTS = 200


@dataclass(frozen=True, slots=True)
class _Scale:
    """Maps times in ns to positions in percent of a drawing's width."""

    low_ns: int
    high_ns: int

    def at(self, ns: int) -> float:
        """The position of a time."""
        length = max(1, self.high_ns - self.low_ns)
        return round(100 * (_MARGIN + (1 - 2 * _MARGIN) * (ns - self.low_ns) / length), 2)

    def ticks(self) -> list[tuple[float, str]]:
        """Its ends and its middle."""
        times = sorted({self.low_ns, (self.low_ns + self.high_ns) // 2, self.high_ns})
        return [(self.at(ns), f"{seconds(ns)} s") for ns in times]


def sections(runs: Sequence[SampleSet]) -> list[dict[str, object]]:
    """The page's data for each run, on one scale of time for all."""
    grounds = [common_zero((each,)) for each in runs]
    abouts = [goal(ground.sets) for ground in grounds]
    values = [ground.sets[0].values(about) for ground, about in zip(grounds, abouts, strict=True)]
    scale = _Scale(min(chain(*values), default=0), max(chain(*values), default=1))
    found = []
    for ground, about, times in zip(grounds, abouts, values, strict=True):
        boots = ground.sets[0]
        described = describe(times, boots.step_ns) if times and not ground.refused else None
        notes = (*ground.notes, ground.refused, *oddities("the run", boots, described, about))
        found.append(
            {
                "run_id": named(boots.run_id),
                "count": f"{len(boots.complete)} of {len(boots.boots)} boots completed",
                "about": named(about),
                "failed": [
                    (boot.boot_id.rpartition("/")[2], named(boot.why, 200))
                    for boot in boots.boots
                    if not boot.complete
                ],
                "notes": [named(note, 400) for note in notes if note],
                "ticks": scale.ticks(),
                **(_middle(described, times, scale) if described else {"median": ""}),
                "dots": _dots(boots, scale, described) if described else [],
                "boxes": _boxes(boots) if described else [],
            }
        )
    return found


def _middle(d: Description, times: Sequence[int], scale: _Scale) -> dict[str, object]:
    known = median_interval(times)
    words = (
        f"{LEAST_PERCENT} % interval of the median {seconds(known[0])} to {seconds(known[1])} s"
        if known
        else "too few boots for an interval of the median"
    )
    return {
        "median": seconds(d.median_ns),
        "interval": words,
        "spread": f"spread (IQR) {span(d.spread_ns)}",
        "range": f"from {seconds(d.lowest_ns)} to {seconds(d.highest_ns)} s",
        "median_at": scale.at(d.median_ns),
        "known_at": tuple(map(scale.at, known)) if known else None,
    }


def _dots(boots: SampleSet, scale: _Scale, described: Description) -> list[dict[str, object]]:
    about = goal((boots,))
    outliers = {boots.of(about)[at].boot_id for at in described.outliers}
    return [
        {
            "number": boot.boot_id.rpartition("/")[2].lstrip("0"),
            "at": scale.at(boot.times[about]),
            "time": f"{seconds(boot.times[about])} s",
            "outlier": boot.boot_id in outliers,
        }
        for boot in boots.of(about)[:_MOST_DOTS]
    ]


def _boxes(boots: SampleSet) -> list[dict[str, object]]:
    """The phases: minimum, lower quartile, median, upper quartile, maximum, each phase on its own scale."""
    phases = [q for q in boots.quantities() if q.kind == PHASE]
    told = [(q, describe(boots.values(q), boots.step_ns)) for q in phases]
    return [
        {
            "name": named(q.name, 60),
            "boots": d.count,
            "median": seconds(d.median_ns),
            "spread": span(d.spread_ns),
            "ends": (seconds(d.lowest_ns), seconds(d.highest_ns)),
            "at": [*map(_Scale(d.lowest_ns, d.highest_ns).at, _five(d))],
        }
        for q, d in told
    ]


def _five(d: Description) -> list[int]:
    return sorted((d.lowest_ns, *d.quartiles, d.median_ns, d.highest_ns))


def of_boots(found: BootComparison) -> dict[str, object]:
    """Run B against run A, for the page."""
    rows = []
    for v in (found.goal, *found.details):
        medians = [seconds(d.median_ns) if d else "-" for d in (v.a, v.b)]
        change = signed(v.shift.shift_ns) if v.shift else "-"
        rows.append((named(v.quantity, 60), *medians, change, interval(v), v.word or "-"))
    refused = [(f"no verdict: {named(found.refused, 400)}", "")] if found.refused else []
    return {
        "a": named(found.a.run_id),
        "b": named(found.b.run_id),
        "lines": [line for line, _ in refused or verdict_lines(found)],
        "columns": ("", "A s", "B s", "change", f"{CONFIDENCE} interval", "verdict"),
        "rows": rows,
        "notes": [named(note, 400) for note in found.notes],
    }


def of_exact(a: str, b: str, c: Comparison) -> dict[str, object]:
    """The same for two boots of the emulated board."""
    whole = f"until {c.cut_at}" if c.cut_at else "total"
    cut = f"the two end at different milestones; both are cut at {c.cut_at}, the last common one"
    rows = [(p.name, seconds(p.a_ns), seconds(p.b_ns), signed(p.change_ns)) for p in c.phases]
    return {
        "a": named(a),
        "b": named(b),
        "lines": [named(c.refused or verdict(c), 400)],
        "columns": ("", "A s", "B s", "change"),
        "rows": [
            *rows,
            (named(whole), seconds(c.total_a_ns), seconds(c.total_b_ns), signed(c.total_b_ns - c.total_a_ns)),
        ],
        "notes": [named(cut)] if c.cut_at else [],
    }
