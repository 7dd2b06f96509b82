# SPDX-License-Identifier: Apache-2.0
"""What an audit found of its subject: what takes the time, which techniques apply and pitfalls."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from bootscope.audit.counted import CountedCosts, counted_costs, passes
from bootscope.audit.culprits.find import culprits
from bootscope.audit.culprits.model import Culprit
from bootscope.audit.findings import Audit, Group, audit, groups, ruled_out
from bootscope.audit.pitfalls.find import FoundPitfalls, find_pitfalls
from bootscope.audit.subject import Subject
from bootscope.inventory.inventory import Inventory
from bootscope.inventory.recorded import Recorded
from bootscope.timeline.trace import Trace


@dataclass(frozen=True)
class AuditResult:
    """What was found; `culprits` that cost most are first. `alternatives` are places in the audit's findings,
    the best of each group of alternatives first."""

    audit: Audit
    pitfalls: FoundPitfalls
    culprits: tuple[Culprit, ...]
    alternatives: tuple[tuple[int, ...], ...]
    counted: CountedCosts | None = None
    """What caches, memory and clock cost, where that was counted."""

    @property
    def groups(self) -> list[Group]:
        """The findings with their alternatives behind them."""
        return [tuple(self.audit.findings[at] for at in places) for places in self.alternatives]


def run_audit(about: Subject) -> AuditResult:
    """Goes through all techniques and pitfalls; of a recorded boot, what its index has is used."""
    if about.seen:
        depends = f"{about.depends}, {passes(about.seen)}"
        return about.seen.kept("audit", AuditResult, lambda: look_at(about.known), depends)
    return look_at(about.known, about.trace)


def look_at(known: Inventory, trace: Trace | None = None) -> AuditResult:
    """All findings and pitfalls of a system."""
    found = audit(known)
    place = {id(finding): at for at, finding in enumerate(found.findings)}
    # Which are alternatives is told by the whole catalogue, which takes long to read.
    alternatives = tuple(tuple(place[id(f)] for f in group) for group in groups(found.findings))
    out = ruled_out(found, known)
    rows = tuple(_fitting(culprit, out) for culprit in culprits(known, trace))
    costs = counted_costs(known.view) if isinstance(known, Recorded) else None
    return AuditResult(found, find_pitfalls(known, found.findings), rows, alternatives, costs)


def _fitting(culprit: Culprit, out: Collection[str]) -> Culprit:
    """A culprit without the techniques that are `out` of the question here."""
    left = tuple(name for name in culprit.cure.techniques if name not in out)
    return replace(culprit, cure=replace(culprit.cure, techniques=left))
