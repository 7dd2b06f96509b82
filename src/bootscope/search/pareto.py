# SPDX-License-Identifier: Apache-2.0
"""Time against capabilities: the systems of a search than which no other is better in both.

A system is on the list when no other one is at least as fast and loses no more. The booted systems of a
search have measured times; for each capability that the result has lost there is one more, the result without
the techniques that take it away, whose time is only estimated until it is booted.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bootscope.core.errors import UserError
from bootscope.search.emulated import EmulatedSearch
from bootscope.search.experiment import Experiment, Worth
from bootscope.search.outcome import Outcome, faults
from bootscope.search.verdict import ExactVerdict
from bootscope.system.changes import Change, word_name
from bootscope.techniques.model import ABILITIES, measured, techniques


@dataclass(frozen=True)
class Point:
    """A system: its time in ns, the capabilities it has lost, its techniques. `run_id` is empty when the time
    is estimated; `keeps` is the capability that it was composed to keep, if any."""

    total_ns: int
    loses: tuple[str, ...]
    techniques: tuple[str, ...]
    run_id: str = ""
    keeps: str = ""


def loses(names: Iterable[str]) -> tuple[str, ...]:
    """The capabilities that techniques together take away, in the order of the catalogue."""
    known = techniques()
    lost = {ability for name in names for ability in known[word_name(name)].loses}
    return tuple(ability for ability in ABILITIES if ability in lost)


def keeping(accepted: Mapping[str, Change], capabilities: Iterable[str]) -> dict[str, Change]:
    """The accepted techniques that take away none of these capabilities."""
    wanted = set(capabilities)
    return {name: change for name, change in accepted.items() if not wanted & set(loses([name]))}


def measure_keepers(search: EmulatedSearch) -> None:
    """For each lost capability, boots the result without what takes it away; until time is over."""
    bench = search.bench
    left = [keeping(search.accepted, [ability]) for ability in loses(search.accepted)]
    while left and time.monotonic() < search.deadline:
        accepted, *left = left
        try:
            scheduler = bench.scheduler
            scheduler.hint(bench.candidate(rest, _title(rest)) for rest in left[: scheduler.boots])
            bench.outcome(accepted, _title(accepted))
        except UserError:
            continue


def _title(accepted: Mapping[str, Change]) -> str:
    return f"with {len(accepted)} techniques"


def pareto(
    search: EmulatedSearch, worths: Iterable[Worth[ExactVerdict]], others: Iterable[Outcome] = ()
) -> list[Point]:
    """The list, fastest first. `others` are outcomes of other searches for the same system."""
    worths = list(worths)
    tried = [*(e.verdict for e in search.experiments), *(w.verdict for w in worths)]
    seen = [search.base, *(v.variant for v in tried if v), *others]
    points = [_point(outcome) for outcome in seen if not faults(search.base, outcome)]
    points += _kept(search, worths)
    return front(points)


def front(points: Iterable[Point]) -> list[Point]:
    """The points that no other point beats, fastest first; of equal ones the booted one.

    A booted point is beaten by booted ones only: an estimate proves nothing.
    """
    # In this order, whatever beats a point comes before it.
    order = sorted(points, key=lambda p: (p.total_ns, len(p.loses), not p.run_id, len(p.techniques)))
    found: list[Point] = []
    for p in order:
        rivals = [better for better in found if better.run_id or not p.run_id]
        if not any(set(better.loses) <= set(p.loses) for better in rivals):
            found.append(p)
    return found


def _point(outcome: Outcome, keeps: str = "") -> Point:
    return Point(outcome.total_ns, loses(outcome.what), outcome.what, outcome.run_id, keeps)


def _kept(search: EmulatedSearch, worths: list[Worth[ExactVerdict]]) -> list[Point]:
    """For each lost capability, the result without the techniques that take it away."""
    found = []
    for ability in loses(search.accepted):
        accepted = keeping(search.accepted, [ability])
        try:
            known = search.bench.scheduler.known(search.bench.candidate(accepted))
        except UserError:
            continue  # the rest cannot be combined
        if known:
            if not faults(search.base, known):
                found.append(_point(known, ability))
            continue
        gone = [name for name in search.accepted if name not in accepted]
        single = {w.technique: w.ns for w in worths}
        more = sum(_estimated(name, single, search.experiments) for name in gone)
        total_ns = min(search.base.total_ns, search.current.total_ns + more)
        found.append(Point(total_ns, loses(accepted), tuple(sorted(accepted)), "", ability))
    return found


def _estimated(
    name: str, single: Mapping[str, int | None], experiments: Iterable[Experiment[ExactVerdict]]
) -> int:
    """What a technique is worth: from the ablation, else its share of what its group saved when accepted."""
    worth = single.get(name)
    if worth is not None:
        return worth
    made = next((e for e in experiments if e.accepted and name in e.techniques), None)
    return (made.saving_ns or 0) * _weight(name) // sum(map(_weight, made.techniques)) if made else 0


def _weight(name: str) -> int:
    """The weight for sharing a group's saving: what each technique saved alone on the reference system."""
    row = measured().get(name)
    return max(1, (row.saving_ns or 0) if row else 0)
