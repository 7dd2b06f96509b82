# SPDX-License-Identifier: Apache-2.0
"""Techniques of which only one can be in a system, or that save the same time."""

from __future__ import annotations

from collections.abc import Iterable

from bootscope.audit.findings import Finding
from bootscope.audit.forecast import LEFT_OUT
from bootscope.audit.trials import exclude

Group = tuple[Finding, ...]


def groups(findings: Iterable[Finding]) -> list[Group]:
    """Findings with their alternatives behind them, in the order in which they are given: the best first."""
    found: list[list[Finding]] = []
    for finding in findings:
        group = next((g for g in found if _instead(g[0], finding)), None)
        if group:
            group.append(finding)
        else:
            found.append([finding])
    return [tuple(group) for group in found]


def _instead(best: Finding, other: Finding) -> bool:
    """Whether `other` is an alternative to `best`: it cannot be there beside it, or is predicted by the same
    change of the boot."""
    recipes = (best.technique.recipes[best.recipe], other.technique.recipes[other.recipe])
    # What leaves something out leaves out something else each time.
    told = recipes[0].predict if LEFT_OUT not in recipes[0].predict else ()
    same = bool(told) and told == recipes[1].predict
    return same or exclude(best.spec, best.change, other.spec, other.change)
