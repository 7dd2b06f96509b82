# SPDX-License-Identifier: Apache-2.0
"""The result of an audit: what takes the time, which techniques apply, and pitfalls."""

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
    """The findings of an audit; `culprits` are in order of cost, the largest first. `alternatives` are
    indices of the audit's findings, in groups of alternatives with the best one first."""

    audit: Audit
    pitfalls: FoundPitfalls
    culprits: tuple[Culprit, ...]
    alternatives: tuple[tuple[int, ...], ...]
    counted: CountedCosts | None = None
    """What caches, memory and clock cost, if that was counted."""

    @property
    def groups(self) -> list[Group]:
        """The findings followed by their alternatives."""
        return [tuple(self.audit.findings[at] for at in places) for places in self.alternatives]


def run_audit(about: Subject) -> AuditResult:
    """Checks all techniques and pitfalls; for a recorded boot, results in its index are reused."""
    if about.seen:
        depends = f"{about.depends}, {passes(about.seen)}"
        return about.seen.kept("audit", AuditResult, lambda: look_at(about.known), depends)
    return look_at(about.known, about.trace)


def look_at(known: Inventory, trace: Trace | None = None) -> AuditResult:
    """All findings and pitfalls of a system."""
    found = audit(known)
    place = {id(finding): at for at, finding in enumerate(found.findings)}
    # Finding the alternatives takes the whole catalogue, which is slow to read.
    alternatives = tuple(tuple(place[id(f)] for f in group) for group in groups(found.findings))
    out = ruled_out(found, known)
    rows = tuple(_fitting(culprit, out) for culprit in culprits(known, trace))
    costs = counted_costs(known.view) if isinstance(known, Recorded) else None
    return AuditResult(found, find_pitfalls(known, found.findings), rows, alternatives, costs)


def _fitting(culprit: Culprit, out: Collection[str]) -> Culprit:
    """A culprit without the techniques that are ruled `out` here."""
    left = tuple(name for name in culprit.cure.techniques if name not in out)
    return replace(culprit, cure=replace(culprit.cure, techniques=left))
