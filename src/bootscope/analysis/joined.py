# SPDX-License-Identifier: Apache-2.0
"""Phases of two runs made comparable, where one of them does not have all.

The end of a phase is the beginning of the next that was seen. A kernel that is told to be quiet shows no line
of its own, so that all its time goes to the phase before: beside a run that shows both, only their sum means
something.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bootscope.analysis.samples import PHASE, BootTimes, Quantity, SampleSet


def joined(a: SampleSet, b: SampleSet) -> tuple[SampleSet, SampleSet]:
    """Both runs, with each phase that only one of them has put together with the phase before it that both
    have; `decompress`, `kernel` and `init` become `decompress+kernel+init`."""
    in_a, in_b = _phases(a), _phases(b)
    groups: dict[Quantity, list[Quantity]] = {}
    for of, other in ((in_a, in_b), (in_b, in_a)):
        last: Quantity | None = None
        for phase in of:
            if phase in other:
                last = phase
            elif last and phase not in groups.setdefault(last, []):
                groups[last].append(phase)
    names = {
        part: Quantity(PHASE, "+".join(q.name for q in (first, *rest)))
        for first, rest in groups.items()
        for part in (first, *rest)
    }
    return (_renamed(a, names), _renamed(b, names)) if names else (a, b)


def _phases(boots: SampleSet) -> list[Quantity]:
    return [q for q in boots.quantities() if q.kind == PHASE]


def _renamed(boots: SampleSet, names: Mapping[Quantity, Quantity]) -> SampleSet:
    return replace(boots, boots=tuple(_of_boot(boot, names) for boot in boots.boots))


def _of_boot(boot: BootTimes, names: Mapping[Quantity, Quantity]) -> BootTimes:
    times: dict[Quantity, int] = {}
    for quantity, ns in boot.times.items():
        name = names.get(quantity, quantity)
        times[name] = times.get(name, 0) + ns
    return replace(boot, times=times)
