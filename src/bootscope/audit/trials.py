# SPDX-License-Identifier: Apache-2.0
"""What a search tries next: in which order, and what together.

The order is that of the literature: application, init, file system, kernel, boot loader. Within these, the
parts that can be left out of a kernel (or of the boot loader, or BusyBox) come first and all together: that
is one build instead of one each, and it makes every later build faster. Then follow the largest expected
savings. What takes away the means of measuring comes at the very end, since little can be explained after it.

All this happens twice: first with what saves a large part of the boot, then with the rest. By then boots are
short, and little is lost by a limit of time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from bootscope.audit.findings import Finding, exclude
from bootscope.kbuild.kconfig import written
from bootscope.system.changes import TREES, Change
from bootscope.techniques.model import Technique, measured

ORDER = (
    ("application", "toolchain"),
    ("init",),
    ("filesystem",),
    ("kernel", "decompress", "load"),
    ("bootloader", "spl"),
)
"""Phases of techniques in the order in which they are worked on."""

WORKS_ON = {
    **dict.fromkeys(("application", "toolchain", "init"), ("init", "application")),
    "filesystem": ("kernel", "init", "application"),
    **dict.fromkeys(("decompress", "load"), ("load", "decompress")),
    "spl": ("spl", "bootloader"),
    "bootloader": ("spl", "bootloader", "load"),
}
"""Phase of a technique -> the phases of a boot that it shortens; if not listed, any."""

LARGE = 50
"""What saves at least one fiftieth of the boot is tried before all the rest."""

LAST = "measuring"
"""The capability that is given up last."""

_OPENS = ("EXPERT", "EMBEDDED")
"""Symbols that only allow others to be switched off."""


def stage(technique: Technique) -> tuple[bool, int]:
    """A sort key for a technique's turn; techniques of a stage are tried against each other."""
    group = next((n for n, phases in enumerate(ORDER) if technique.phase in phases), len(ORDER))
    return LAST in technique.loses, group


def leaves_out(change: Change) -> str:
    """The Kconfig tree that a change only leaves parts out of; empty if it does anything else."""
    trees = [tree for tree in TREES if getattr(change, tree)]
    if len(trees) != 1 or msgspec.structs.replace(change, **{trees[0]: {}}).claims():
        return ""
    off = {name: written(value) == "n" for name, value in getattr(change, trees[0]).items()}
    only = all(out or name in _OPENS for name, out in off.items())
    return trees[0] if only and any(off.values()) else ""


def needs_kernel(change: Change) -> bool:
    """Whether a change needs another kernel, which takes minutes to build."""
    settings = any(key.startswith(("kernel.", "initramfs")) for key in change.settings)
    return bool(change.kernel or change.kernel_wishes) or settings


def other_sources(change: Change) -> bool:
    """Whether a change brings a kernel of other sources, which may work where the first did not: one of a
    distribution is not built here, and has most drivers as modules."""
    return "kernel.source" in change.settings


def rivals(finding: Finding, accepted: Mapping[str, Change]) -> tuple[str, ...]:
    """The accepted techniques that a finding would replace."""
    return tuple(s for s, change in accepted.items() if exclude(finding.spec, finding.change, s, change))


def next_trial(
    findings: Iterable[Finding],
    alone: Collection[str],
    accepted: Mapping[str, Change],
    phases: Mapping[str, int] | None = None,
    hurry: bool = False,
) -> tuple[Finding, ...]:
    """What to try next: one finding, or several together; nothing when there are none.

    `alone` are those that must not be tried together with others. Findings expected to save much of the boot
    go first, if `phases` tells how long each takes now, in ns; in a `hurry` also those that take away the
    means of measuring.
    """
    found = list(findings)
    if not found:
        return ()
    large = {f.spec for f in found if _is_large(f, phases or {}, hurry)}
    turns = [f for f in found if f.spec in large or not large]
    # In a hurry the expected saving counts more than the order of the stages.
    ahead = [max(turns, key=expected_ns)] if hurry and large else turns
    first = min(stage(f.technique) for f in ahead)
    here = sorted((f for f in found if stage(f.technique) == first), key=expected_ns, reverse=True)
    wanted = [f for f in here if f.spec in large] or here
    group = _together(here, alone, accepted)
    if not {f.spec for f in group} & {f.spec for f in wanted}:
        return (_unblocked(wanted, here),)
    # What a group leaves out part by part, a configuration from nothing leaves out in one build.
    anew = [f for f in wanted if f.change.from_nothing]
    return (_unblocked(anew, here),) if anew else group


def next_group(
    findings: Iterable[Finding], alone: Collection[str], accepted: Mapping[str, Change]
) -> tuple[Finding, ...]:
    """What to try next if a boot takes long: all compatible findings of a stage, one recipe of each
    technique; otherwise one finding; nothing when there are none. `alone` as for :func:`next_trial`."""
    found = list(findings)
    first = min((stage(f.technique) for f in found), default=None)
    here = sorted((f for f in found if stage(f.technique) == first), key=expected_ns, reverse=True)
    group: list[Finding] = []
    for f in here:
        fits = f.spec not in alone and expected_ns(f) >= 0 and not rivals(f, accepted)
        if fits and not any(exclude(f.spec, f.change, g.spec, g.change) for g in group):
            group.append(f)
    return tuple(group or here[:1])


def _is_large(f: Finding, phases: Mapping[str, int], hurry: bool) -> bool:
    # A phase that takes almost no time has nothing left to save.
    here = WORKS_ON.get(f.technique.phase, phases)
    most_ns = min(expected_ns(f), sum(phases.get(name, 0) for name in here))
    waits = LAST in f.technique.loses and not hurry
    return not waits and 0 < most_ns >= sum(phases.values()) // LARGE


def expected_ns(finding: Finding) -> int:
    """What a finding is expected to save, in ns: as predicted from the boot, otherwise as measured alone on
    the reference system; 0 if unknown, and below 0 if it did not work there."""
    if finding.saving_ns is not None:
        return finding.saving_ns
    row = measured().get(finding.spec)
    if not row:
        return 0
    return row.saving_ns if row.works and row.saving_ns is not None else -1


def _unblocked(wanted: Sequence[Finding], here: Sequence[Finding]) -> Finding:
    """The first wanted finding that need not come after another in `here`; otherwise what these wait for."""
    names = {f.technique.id for f in here}

    def waits_for(f: Finding) -> set[str]:
        return names & set(f.technique.after) - {f.technique.id}

    waited = {name for f in wanted for name in waits_for(f)}
    for f in (*wanted, *(f for f in here if f.technique.id in waited)):
        if not waits_for(f):
            return f
    return wanted[0]


def _together(
    here: Sequence[Finding], alone: Collection[str], accepted: Mapping[str, Change]
) -> tuple[Finding, ...]:
    """Findings that only leave parts out of the same tree, and are compatible; nothing for fewer than two."""
    for tree in TREES:
        group: list[Finding] = []
        for f in here:
            recipes = sum(g.technique.id == f.technique.id for g in here)
            if leaves_out(f.change) != tree or recipes > 1 or f.spec in alone or rivals(f, accepted):
                continue
            if not any(exclude(f.spec, f.change, g.spec, g.change) for g in group):
                group.append(f)
        if len(group) > 1:
            return tuple(group)
    return ()
