# SPDX-License-Identifier: Apache-2.0
"""Figures of techniques in words: those published, and those measured here."""

from __future__ import annotations

from bootscope.core.text import seconds, span
from bootscope.techniques.model import Figure, Measured, Technique, figures


def saving(found: Technique) -> str:
    """The published figures, briefly: the first two, and the number of others."""
    told = [figure_text(figures()[name]) for name in found.figures]
    told += [source.figure for source in found.sources if source.figure]
    return "; ".join(told[:2]) + (f"; {len(told) - 2} more" if len(told) > 2 else "")


def figure_text(figure: Figure) -> str:
    """A figure in words: what it is for, the value, and the value before."""
    unit = {"percent": "%"}.get(figure.unit, figure.unit)
    known = figure.baseline_value not in ("", figure.value)
    before = f" (before: {figure.baseline_value})" if known else ""
    name = figure.variant or figure.metric.replace("_", " ")
    return f"{name}: {figure.value} {unit}{before}"


def measured_text(row: Measured) -> str:
    """The result of a try, in words."""
    if row.error or row.saving_ns is None or row.base_ns is None:
        return f"{row.technique}: {row.error or '; '.join(row.faults)}"
    verb = "saves" if row.saving_ns >= 0 else "costs"
    predicted = f" (predicted {span(row.predicted_ns)})" if row.predicted_ns is not None else ""
    works = "" if row.works else f", but {'; '.join(row.faults)}"
    where = f" on {row.system}" if row.system not in ("", "stock") else ""
    until = f" to {row.milestone}" if row.milestone else ""
    later = f", {_later(row.later_ns)}" if row.later_ns else ""
    saves = f"{verb} {span(abs(row.saving_ns))} of {seconds(row.base_ns)} s{until}{where}"
    return f"{row.technique}: {saves}{later}{predicted}{works}"


def _later(ns: int) -> str:
    return f"and makes the whole boot {span(abs(ns))} {'longer' if ns > 0 else 'shorter'}"


def only_for(t: Technique) -> str:
    """The systems that a technique is for, in words; empty for any system."""
    scope = t.applies_to
    parts = (
        " or ".join(scope.architectures),
        scope.inits and f"{' or '.join(scope.inits)} as init",
        scope.roots and f"a root on {' or '.join(scope.roots)}",
        scope.least_cpus and f"{scope.least_cpus} processors or more",
        scope.most_cpus and ("one processor" if scope.most_cpus == 1 else f"{scope.most_cpus} or fewer"),
    )
    return "; ".join(str(part) for part in parts if part)
