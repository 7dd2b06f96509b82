# SPDX-License-Identifier: Apache-2.0
"""Which pitfalls a system is in, as far as a machine can tell, and which a person should consider."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bootscope.audit.findings import Finding
from bootscope.audit.pitfalls.checks import bootloader, falcon, kernel, measuring, method, rootfs
from bootscope.audit.pitfalls.checks.base import CHECKS
from bootscope.audit.pitfalls.model import How, Pitfall, pitfalls
from bootscope.inventory.inventory import Inventory

MODULES = (measuring, method, bootloader, falcon, kernel, rootfs)
"""The modules with the checks; importing them fills CHECKS."""


@dataclass(frozen=True)
class Warned:
    """A pitfall that a system is in (or, for advice, concerns), and the evidence.

    `technique` is the audit's finding that says the same; empty if none does.
    """

    ident: str
    pitfall: Pitfall
    evidence: str
    technique: str = ""


@dataclass(frozen=True)
class FoundPitfalls:
    """`warnings` were found, `advice` is what only a person can judge; `undecided` maps the others to what
    would have to be known."""

    warnings: tuple[Warned, ...]
    advice: tuple[Warned, ...]
    undecided: dict[str, str]


def find_pitfalls(known: Inventory, findings: Sequence[Finding] = ()) -> FoundPitfalls:
    """Checks all pitfalls; `findings` are those of the audit of the same system."""
    found: list[Warned] = []
    undecided: dict[str, str] = {}
    listed = {f.technique.id for f in findings}
    for ident, pitfall in pitfalls().items():
        check = CHECKS[ident]
        missing = check.missing(known)
        seen = None if missing else check.look(known, findings)
        if seen == "" and (partly := check.partly(known)):
            # A symbol that a configuration fragment does not name may still be set.
            seen, missing = None, f"all of the {partly}"
        if seen is None:
            undecided[ident] = missing or "more input"
        elif seen:
            same = next((name for name in pitfall.covered_by if name in listed), "")
            found.append(Warned(ident, pitfall, seen, same))
    by = {how: tuple(w for w in found if w.pitfall.how == how) for how in How}
    return FoundPitfalls(by[How.CHECKED], by[How.ADVICE], undecided)
