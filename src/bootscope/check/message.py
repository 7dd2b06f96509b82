# SPDX-License-Identifier: Apache-2.0
"""A check as a JSON document: what `check --json` prints for each product, and what is sent to a webhook.

History of the webhook's schema:
  1  2026-11  first version
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

import msgspec

from bootscope import __version__
from bootscope.check.checked import Checked, all_kept, beside_baseline
from bootscope.check.decide import Finding, Outcome
from bootscope.core.text import visible

SCHEMA = 1


class FindingTold(msgspec.Struct, frozen=True, kw_only=True):
    """A finding of a check; times are ns of board time, null if there is none."""

    what: Literal["boots", "budget", "baseline"]
    name: str
    of: str | None
    status: Literal["ok", "missed", "unsure", "none"]
    value_ns: int | None
    limit_ns: int | None
    base_ns: int | None
    boots: int
    p: float | None
    words: str


class ChangeTold(msgspec.Struct, frozen=True, kw_only=True):
    """A milestone, a phase or the total against the baseline: medians in ns."""

    name: str
    value_ns: int
    base_ns: int
    change_ns: int


class OutcomeTold(msgspec.Struct, frozen=True, kw_only=True):
    """The check of a run. `changes` is empty without a baseline; `refused` says why there is no verdict."""

    run_id: str
    boots: int
    exact: bool
    about: str
    refused: str | None
    kept: bool
    findings: tuple[FindingTold, ...]
    changes: tuple[ChangeTold, ...]
    notes: tuple[str, ...]


class ProductTold(OutcomeTold, frozen=True, kw_only=True):
    """The same with the product (empty if the check file has only one), and the system and board."""

    product: str
    facts: dict[str, str]


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """The message to a webhook. `sent` is the time in ISO 8601, `job` are facts from the CI system."""

    kind: Literal["bootscope-check"] = "bootscope-check"
    schema: int = SCHEMA
    bootscope: str
    sent: str
    kept: bool
    products: tuple[ProductTold, ...]
    job: dict[str, str] = {}


def message(checked: Sequence[Checked], job: Mapping[str, str], now: datetime) -> bytes:
    """The JSON that is sent to a webhook."""
    told = Message(
        bootscope=__version__,
        sent=now.isoformat(timespec="seconds"),
        kept=all_kept(checked),
        products=tuple(map(_product, checked)),
        job=dict(job),
    )
    return msgspec.json.encode(told)


def _product(checked: Checked) -> ProductTold:
    outcome = checked.outcome
    facts = {visible(name, 80): visible(value, 200) for name, value in outcome.boots.facts.items()}
    whole = msgspec.structs.asdict(told(outcome))
    return ProductTold(product=visible(checked.product, 120), facts=facts, **whole)


def told(outcome: Outcome) -> OutcomeTold:
    """An outcome with names that are safe to show."""
    changes = [
        ChangeTold(
            name=visible(str(each.quantity), 80),
            value_ns=each.now_ns,
            base_ns=each.before_ns,
            change_ns=each.change_ns,
        )
        for each in beside_baseline(outcome)
    ]
    return OutcomeTold(
        run_id=outcome.boots.run_id,
        boots=len(outcome.boots.boots),
        exact=outcome.boots.exact,
        about=visible(str(outcome.quantity), 80),
        refused=visible(outcome.refused, 400) or None,
        kept=not outcome.missed and not outcome.refused,
        findings=tuple(map(_finding, outcome.findings)),
        changes=tuple(changes),
        notes=tuple(visible(note, 400) for note in outcome.notes),
    )


def _finding(f: Finding) -> FindingTold:
    return FindingTold(
        what=f.what,  # type: ignore[arg-type]
        name=visible(f.name, 80),
        of=f.of or None,
        status=f.status,  # type: ignore[arg-type]
        value_ns=f.value_ns,
        limit_ns=f.limit_ns,
        base_ns=f.base_ns,
        boots=f.count,
        p=f.p,
        words=visible(f.words, 400),
    )
