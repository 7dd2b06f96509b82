# SPDX-License-Identifier: Apache-2.0
"""Makes the phases of two runs comparable if one of them lacks some.

A phase ends where the next one seen begins. A quiet kernel prints no line of its own, so all its time goes to
the phase before; a console shows the kernel only once its driver works. Compared with a run that shows more,
only the sum of such phases is meaningful.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from bootscope.analysis.samples import PHASE, BootTimes, Quantity, SampleSet
from bootscope.readers.early_kernel import QUIET, QUIET_KERNEL, UNPACK

_EARLY, _KERNEL = "early-kernel", "kernel"
_QUIET = {QUIET: (UNPACK, _KERNEL, "init"), QUIET_KERNEL: (UNPACK, _KERNEL)}
"""Phases that are sums with a name of their own -> the most that they contain."""


def joined(a: SampleSet, b: SampleSet) -> tuple[SampleSet, SampleSet]:
    """Both runs, with each phase that only one of them has merged into the preceding phase that both have;
    `decompress`, `kernel` and `init` become `decompress+kernel+init`. Merged phases that contain one with
    only a known bound in either run are left out of both."""
    in_a, in_b = _phases(a), _phases(b)
    common = {_begins(name) for name in in_a} & {_begins(name) for name in in_b}
    if _has_early(in_a) != _has_early(in_b):
        # One run's kernel phase begins with its console, the other's with its code.
        common.discard(_KERNEL)
    groups_a, groups_b = _groups(in_a, common), _groups(in_b, common)
    names = {first: _sum_of((*groups_a[first], *groups_b[first])) for first in groups_a}
    bounded = {*_bounded(a), *_bounded(b)}
    unknown = {names[f] for f in groups_a if bounded & {*groups_a[f], *groups_b[f]}}
    return _renamed(a, groups_a, names, unknown), _renamed(b, groups_b, names, unknown)


def _phases(boots: SampleSet) -> list[str]:
    shown = {*(q.name for q in boots.quantities() if q.kind == PHASE), *_bounded(boots)}
    return [name for name in boots.phases() if name in shown]


def _bounded(boots: SampleSet) -> set[str]:
    """The phases of which only a bound is known in some boot that is in the figures."""
    return {name for boot in boots.complete for name in boot.bounded}


def _begins(name: str) -> str:
    """The first phase of a phase, which may be a sum."""
    return _parts(name)[0]


def _parts(name: str) -> tuple[str, ...]:
    return _QUIET.get(name) or tuple(name.split("+"))


def _has_early(names: Iterable[str]) -> bool:
    return any(_EARLY in _parts(name) for name in names)


def _groups(names: Iterable[str], common: Collection[str]) -> dict[str, list[str]]:
    """Phases that both runs have, by their first part, each with the following ones that only one run has."""
    groups: dict[str, list[str]] = {}
    last = ""
    for name in names:
        last = _begins(name) if _begins(name) in common else last
        if last:
            groups.setdefault(last, []).append(name)
    return groups


def _sum_of(names: Iterable[str]) -> str:
    """The name of merged phases: each part once, without those that another part contains."""
    names = tuple(dict.fromkeys(names))
    if len(names) == 1:
        return names[0]
    parts = dict.fromkeys(part for name in names for part in _parts(name))
    if _KERNEL in parts:
        parts.pop(_EARLY, None)
    return "+".join(parts)


def _renamed(
    boots: SampleSet, groups: Mapping[str, Iterable[str]], names: Mapping[str, str], unknown: Collection[str]
) -> SampleSet:
    new = {old: names[first] for first, members in groups.items() for old in members}
    return replace(boots, boots=tuple(_of_boot(boot, new, unknown) for boot in boots.boots))


def _of_boot(boot: BootTimes, names: Mapping[str, str], unknown: Collection[str]) -> BootTimes:
    times: dict[Quantity, int] = {}
    for quantity, ns in boot.times.items():
        name = names.get(quantity.name, quantity.name) if quantity.kind == PHASE else quantity.name
        if quantity.kind == PHASE and name in unknown:
            continue
        known = Quantity(quantity.kind, name)
        times[known] = times.get(known, 0) + ns
    return replace(boot, times=times, order=())
