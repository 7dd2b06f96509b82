# SPDX-License-Identifier: Apache-2.0
"""At the end of a search: what each accepted technique is still worth, and what can be had back.

A technique that was worth something when it was accepted need not be at the end: what the application
as first process makes superfluous, for one. It is taken out again, so that nobody loses an ability for
nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bootscope.audit.trials import name_of, needs_kernel
from bootscope.core.errors import UserError
from bootscope.core.text import span
from bootscope.search.optimize import Search
from bootscope.search.outcome import Outcome, faults
from bootscope.search.scheduler import Candidate
from bootscope.system.changes import Change
from bootscope.techniques.model import techniques


@dataclass(frozen=True)
class Worth:
    """What the boot takes more without a technique (`ns`); None where it does not work without it, and
    `why` says so. `dropped`: it was worth nothing and was taken out."""

    technique: str
    ns: int | None
    without: Outcome
    dropped: bool = False
    why: str = ""


def ablate(search: Search, everything: bool) -> list[Worth]:
    """Takes one accepted technique away at a time; without `everything` only those that need no new kernel.

    Stops when the search's time is over.
    """
    found: list[Worth] = []
    left = [s for s in _order(search.accepted) if everything or not needs_kernel(search.accepted[s])]
    while left and time.monotonic() < search.deadline:
        name, *left = left
        try:
            candidate = search.candidate(_rest(search.accepted, name), f"without {name}")
        except UserError:
            continue  # what is left cannot be put together
        if not search.scheduler.known(candidate):
            search.scheduler.hint(_without(search, left[: search.scheduler.boots]))
        found.append(_worth(search, name, search.scheduler.measured(candidate)))
    return found


def _worth(search: Search, name: str, without: Outcome) -> Worth:
    assert search.current
    wrong = faults(search.current, without)
    if wrong:
        return Worth(name, None, without, why="; ".join(wrong))
    ns = without.total_ns - search.current.total_ns
    search.tell(f"without {name}: {span(ns)} more" if ns > 0 else f"without {name}: no slower, taken out")
    if ns <= 0:
        search.accepted, search.current = _rest(search.accepted, name), without
    return Worth(name, ns, without, dropped=ns <= 0)


def _order(accepted: Iterable[str]) -> list[str]:
    """What takes away most first: of two that stand for each other that one should go."""
    known = techniques()
    return sorted(accepted, key=lambda spec: -len(known[name_of(spec)].loses))


def _rest(accepted: Mapping[str, Change], name: str) -> dict[str, Change]:
    return {spec: change for spec, change in accepted.items() if spec != name}


def _without(search: Search, names: Iterable[str]) -> list[Candidate]:
    found = []
    for name in names:
        try:
            found.append(search.candidate(_rest(search.accepted, name), f"without {name}"))
        except UserError:
            continue
    return found
