# SPDX-License-Identifier: Apache-2.0
"""What an audit found of its subject: which techniques apply, and what to beware of."""

from __future__ import annotations

from dataclasses import dataclass

from bootscope.lab.audit import Audit, audit
from bootscope.lab.beware import Beware, beware
from bootscope.lab.known import Known
from bootscope.lab.subject import Subject


@dataclass(frozen=True)
class Looked:
    """What was found."""

    audit: Audit
    beware: Beware


def looked(about: Subject) -> Looked:
    """Goes through all techniques and pitfalls; of a recorded boot, what its index has is used."""
    if about.seen:
        return about.seen.kept("audit", Looked, lambda: _look(about.known), about.depends)
    return _look(about.known)


def _look(known: Known) -> Looked:
    found = audit(known)
    return Looked(found, beware(known, found.findings))
