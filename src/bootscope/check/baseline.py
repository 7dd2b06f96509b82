# SPDX-License-Identifier: Apache-2.0
"""A baseline: the times of all boots of a run in a small JSON file that goes into version control.

History of the schema:
  1  2026-11  first version
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from bootscope import __version__
from bootscope.analysis.samples import MILESTONE, PHASE, WHOLE, BootTimes, Quantity, SampleSet
from bootscope.capture.record import read_json
from bootscope.core.errors import UserError

SCHEMA = 1
HISTORY = "history"
"""The name of a baseline made of several runs of the store."""


class KeptBoot(msgspec.Struct, frozen=True, kw_only=True):
    """A complete boot: name -> ns. `total_ns` is None if its end is not known."""

    boot: str
    milestones: dict[str, int]
    phases: dict[str, int]
    total_ns: int | None


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """A run's samples. `boots` are the complete ones; `bootscope` is the version that wrote it."""

    kind: Literal["baseline"] = "baseline"
    schema: int = SCHEMA
    bootscope: str
    run_id: str
    exact: bool
    until: str
    step_ns: int
    facts: dict[str, str]
    boots: tuple[KeptBoot, ...]


def baseline_of(boots: SampleSet) -> bytes:
    """The file of a baseline. Raises UserError when no boot of the run is complete."""
    if not boots.complete:
        raise UserError(f"run {boots.run_id} has no complete boot to use as a baseline")
    kept = Baseline(
        bootscope=__version__,
        run_id=boots.run_id,
        exact=boots.exact,
        until=boots.until,
        step_ns=boots.step_ns,
        facts=dict(boots.facts),
        boots=tuple(
            KeptBoot(
                boot=boot.boot_id,
                milestones={q.name: ns for q, ns in boot.times.items() if q.kind == MILESTONE},
                phases={q.name: ns for q, ns in boot.times.items() if q.kind == PHASE},
                total_ns=boot.times.get(WHOLE),
            )
            for boot in boots.complete
        ),
    )
    return msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n"


def read_baseline(path: Path) -> SampleSet:
    """The samples in a baseline's file. Raises UserError when it is damaged, newer, or not a baseline."""
    hint = f"bootscope check --save-baseline {path} RUN"
    if not path.exists():
        raise UserError(f"there is no baseline {path}", hint=hint)
    found = read_json(path, Baseline, SCHEMA)
    if not found.boots:
        raise UserError(f"{path} is a baseline without boots", hint=f"make it again: {hint}")
    boots = tuple(
        BootTimes(
            boot.boot,
            {
                **{Quantity(MILESTONE, name): ns for name, ns in boot.milestones.items()},
                **{Quantity(PHASE, name): ns for name, ns in boot.phases.items()},
                **({} if boot.total_ns is None else {WHOLE: boot.total_ns}),
            },
        )
        for boot in found.boots
    )
    return SampleSet(found.run_id, boots, found.exact, found.until, found.step_ns, found.facts)
