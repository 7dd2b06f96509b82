# SPDX-License-Identifier: Apache-2.0
"""Boots made comparable: counted from the same moment, up to the same milestone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bootscope.analysis.samples import MILESTONE, PHASE, WHOLE, BootTimes, Quantity, SampleSet, last_common

FIRST_LINE = "the first line"


@dataclass(frozen=True)
class Ground:
    """Runs on common ground. `notes` say what was done to them; `refused` why there is none, else empty."""

    sets: tuple[SampleSet, ...]
    notes: tuple[str, ...] = ()
    refused: str = ""


def common_ground(sets: Sequence[SampleSet]) -> Ground:
    """Runs whose boots count from the same moment and end at the same milestone."""
    same = common_zero(sets)
    return same if same.refused else _common_end(same)


def common_zero(sets: Sequence[SampleSet]) -> Ground:
    """Runs whose boots count from the same moment: their own zero, or the first line if these differ."""
    boots = [boot for each in sets for boot in each.complete if boot.zero]
    zeros = list(dict.fromkeys(boot.zero for boot in boots))
    if len(zeros) < 2:
        return Ground(tuple(sets))
    which = "; ".join(f"{zero} for {_listed(sets, zero)}" for zero in zeros)
    if any(boot.first_ns is None for boot in boots):
        return Ground(tuple(sets), refused=f"times have different origins: {which}")
    note = f"times had different origins ({which}); all now count from {FIRST_LINE}"
    moved = tuple(replace(each, boots=tuple(_from_first(boot) for boot in each.boots)) for each in sets)
    return Ground(moved, (note,))


def _listed(sets: Sequence[SampleSet], zero: str) -> str:
    """The boots with that zero, such as `boots 9, 10 of A`."""
    found = []
    for side, each in zip("AB", sets, strict=False):
        numbers = [boot.boot_id.rpartition("/")[2].lstrip("0") for boot in each.complete if boot.zero == zero]
        if numbers:
            whose = f" of {side}" if len(sets) > 1 else ""
            found.append(f"boot{'' if len(numbers) == 1 else 's'} {', '.join(numbers)}{whose}")
    return " and ".join(found)


def _from_first(boot: BootTimes) -> BootTimes:
    # A boot that did not reach its end has no total, and is in no figure.
    if boot.first_ns is None or not boot.complete:
        return boot
    return replace(_window(boot, boot.first_ns, boot.times.get(WHOLE)), zero=FIRST_LINE, first_ns=0)


def _common_end(ground: Ground) -> Ground:
    """Both cut at the last milestone that both usually reach, if they do not end at the same one."""
    sets = ground.sets
    ends = [end_of(each) for each in sets]
    if len(set(ends)) < 2 or not all(each.complete for each in sets):
        return ground
    names = [end or "no milestone" for end in ends]
    words = f"the runs end at different milestones: {names[0]} (A), {names[1]} (B)"
    cut = last_common(sets)
    if cut is None:
        return replace(ground, refused=f"{words}, and no milestone is in both")
    made = tuple(replace(each, boots=tuple(_until(boot, cut) for boot in each.boots)) for each in sets)
    return replace(ground, sets=made, notes=(*ground.notes, f"{words}; both are cut at {cut}"))


def end_of(boots: SampleSet) -> str:
    """The milestone at which the boots of a run end: the one recorded for, or the last that most reach."""
    if boots.until:
        return boots.until
    last = last_common([boots])
    return last.name if last else ""


def _until(boot: BootTimes, end: Quantity) -> BootTimes:
    if not boot.complete:
        return boot
    if end not in boot.times:
        return replace(boot, complete=False, why=f"{end} was not reached")
    return _window(boot, 0, boot.times[end])


def _window(boot: BootTimes, start_ns: int, end_ns: int | None) -> BootTimes:
    """A boot from `start_ns` to `end_ns`, to its unknown end with None. Phases without known stretches are
    left out."""
    times: dict[Quantity, int] = {}
    spans: dict[Quantity, tuple[tuple[int, int], ...]] = {}
    for quantity, ns in boot.times.items():
        if quantity.kind == MILESTONE and (end_ns is None or ns <= end_ns):
            times[quantity] = max(0, ns - start_ns)
    for quantity, found in boot.spans.items():
        inside = [
            (max(a, start_ns) - start_ns, (b if end_ns is None else min(b, end_ns)) - start_ns)
            for a, b in found
        ]
        kept = tuple((a, b) for a, b in inside if b > a)
        if kept and quantity.kind == PHASE:
            spans[quantity], times[quantity] = kept, sum(b - a for a, b in kept)
    if end_ns is not None:
        times[WHOLE] = end_ns - start_ns
    return replace(boot, times=times, spans=spans)
