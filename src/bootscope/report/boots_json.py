# SPDX-License-Identifier: Apache-2.0
"""Runs of several boots against each other, as the JSON that docs/json.md documents."""

from __future__ import annotations

from bootscope.analysis.samples import Quantity, SampleSet
from bootscope.analysis.significance import BootComparison, ComparedQuantity
from bootscope.report.boots import named
from bootscope.report.jsondoc import fields
from bootscope.statistics.describe import Description
from bootscope.statistics.shift import ALPHA


def compare(found: BootComparison) -> dict[str, object]:
    """`bootscope compare --json` of runs that are not exact."""
    return {
        "a": run(found.a, found.goal.quantity),
        "b": run(found.b, found.goal.quantity),
        "alpha": ALPHA,
        "refused": named(found.refused, 400) or None,
        "goal": versus(found.goal),
        "details": [versus(v) for v in found.details],
        "notes": [named(note, 400) for note in found.notes],
    }


def run(boots: SampleSet, quantity: Quantity) -> dict[str, object]:
    """A run with the values of its boots; null for a boot that did not reach the quantity."""
    times = [boot.times.get(quantity) if boot.complete else None for boot in boots.boots]
    return {
        **fields(boots, "run_id", "exact", "step_ns"),
        "boots": [
            {"boot": boot.boot_id, "complete": boot.complete, "ns": ns}
            for boot, ns in zip(boots.boots, times, strict=True)
        ],
    }


def versus(v: ComparedQuantity) -> dict[str, object]:
    """A quantity in both runs."""
    shift = v.shift
    return {
        "name": named(v.quantity),
        "kind": v.quantity.kind,
        "verdict": v.word or None,
        "a": description(v.a),
        "b": description(v.b),
        "change_ns": shift.shift_ns if shift else None,
        "low_ns": shift.low_ns if shift else None,
        "high_ns": shift.high_ns if shift else None,
        "p": v.p,
        "test": shift.test if shift else None,
        "smallest_ns": v.smallest_ns,
        "boots_needed": v.needed,
        "boots_needed_for_2_percent": v.needed_planned,
    }


def description(d: Description | None) -> dict[str, object] | None:
    """A sample in figures; `outliers` are positions, from 1."""
    if d is None:
        return None
    return {
        "boots": d.count,
        **fields(d, "median_ns", "lowest_ns", "highest_ns"),
        "quartiles_ns": d.quartiles,
        "mad_ns": d.mad_ns,
        "outliers": [at + 1 for at in d.outliers],
        **fields(d, "warm_up_ns", "drift"),
    }
