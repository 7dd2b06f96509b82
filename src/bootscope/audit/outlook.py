# SPDX-License-Identifier: Apache-2.0
"""What matters in a boot of which only logs are known: one list of what takes the time and of techniques that
save some, the largest gain first."""

from __future__ import annotations

from bootscope.audit.culprits.model import FAILURE, Culprit, Cure
from bootscope.audit.findings import Group
from bootscope.audit.result import AuditResult

TECHNIQUE = "technique"
_NAMED = 2
"""How many alternatives are named."""


def outlook(found: AuditResult) -> list[Culprit]:
    """The culprits, and each group of techniques with a predicted saving that cures none of them."""
    cures = {name for culprit in found.culprits for name in culprit.cure.techniques}
    new = (g for g in found.groups if not cures & {finding.technique.id for finding in g})
    more = [_row(group) for group in new if (group[0].saving_ns or 0) > 0]
    return sorted([*found.culprits, *more], key=lambda c: (c.kind != FAILURE, -c.cost_ns, c.start_ns))


def without_figure(found: AuditResult) -> int:
    """How many groups of applicable techniques have savings that only a try can tell."""
    return sum(group[0].saving_ns is None for group in found.groups)


def _row(group: Group) -> Culprit:
    best, *others = group
    named = ", ".join(f.spec for f in others[:_NAMED]) + (" ..." if len(others) > _NAMED else "")
    return Culprit(
        kind=TECHNIQUE,
        what=best.technique.title,
        where=best.evidence or "; ".join(best.assumptions),
        cost_ns=best.saving_ns or 0,
        start_ns=0,
        end_ns=0,
        cure=Cure(f"as predicted{f'; or {named}' if named else ''}", (best.technique.id,)),
        at_most=True,
    )
