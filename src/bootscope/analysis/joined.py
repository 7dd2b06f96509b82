# SPDX-License-Identifier: Apache-2.0
"""Phases of two runs made comparable, where one of them does not have all.

The end of a phase is the beginning of the next that was seen. A kernel that is told to be quiet shows no line
of its own, so that all its time goes to the phase before; a console shows the kernel only once its driver is
there. Beside a run that shows more, only their sum means something.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from bootscope.analysis.samples import PHASE, BootTimes, Quantity, SampleSet
from bootscope.readers.early_kernel import QUIET, QUIET_KERNEL, UNPACK

_EARLY, _KERNEL = "early-kernel", "kernel"
_QUIET = {QUIET: (UNPACK, _KERNEL, "init"), QUIET_KERNEL: (UNPACK, _KERNEL)}
"""Of phases that are a sum with a name of its own: what they hold at most."""


def joined(a: SampleSet, b: SampleSet) -> tuple[SampleSet, SampleSet]:
    """Both runs, with each phase that only one of them has put together with the phase before it that both
    have; `decompress`, `kernel` and `init` become `decompress+kernel+init`. What holds a phase of which one
    of them knows only a bound is left out of both."""
    in_a, in_b = _phases(a), _phases(b)
    common = {_begins(name) for name in in_a} & {_begins(name) for name in in_b}
    if _has_early(in_a) != _has_early(in_b):
        # What one calls the kernel begins with its console, what the other calls so with its code.
        common.discard(_KERNEL)
    groups_a, groups_b = _groups(in_a, common), _groups(in_b, common)
    names = {first: _sum_of((*groups_a[first], *groups_b[first])) for first in groups_a}
    bounded = {*_bounded(a), *_bounded(b)}
    unknown = {names[f] for f in groups_a if bounded & {*groups_a[f], *groups_b[f]}}
    return _renamed(a, groups_a, names, unknown), _renamed(b, groups_b, names, unknown)


def _phases(boots: SampleSet) -> list[str]:
    known = [q.name for q in boots.quantities() if q.kind == PHASE]
    return [*known, *(name for name in _bounded(boots) if name not in known)]


def _bounded(boots: SampleSet) -> list[str]:
    return list(dict.fromkeys(name for boot in boots.boots for name in boot.bounded))


def _begins(name: str) -> str:
    """The phase that a phase begins with, which may be a sum."""
    return _parts(name)[0]


def _parts(name: str) -> tuple[str, ...]:
    return _QUIET.get(name) or tuple(name.split("+"))


def _has_early(names: Iterable[str]) -> bool:
    return any(_EARLY in _parts(name) for name in names)


def _groups(names: Iterable[str], common: Collection[str]) -> dict[str, list[str]]:
    """Phases that both runs have, by what they begin with, each with those after it that only one has."""
    groups: dict[str, list[str]] = {}
    last = ""
    for name in names:
        last = _begins(name) if _begins(name) in common else last
        if last:
            groups.setdefault(last, []).append(name)
    return groups


def _sum_of(names: Iterable[str]) -> str:
    """The name of phases put together: each part once, and none that another one holds."""
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
    return replace(boot, times=times)
