# SPDX-License-Identifier: Apache-2.0
"""How far off CPU time on a core's model may be: known for the kinds of work that were compared with
published times, unknown for the others, and exact where loops wait for a clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bootscope.core.text import listed, span
from bootscope.cores.accuracy import UNPACKING, Validated, validated
from bootscope.cores.profile import Core, core_names, load_core
from bootscope.loaders.registry import LOADER_PHASES
from bootscope.timeline.model import Phase, Timeline

_PPM = 1_000_000
_KINDS = {
    "decompress": UNPACKING,
    **dict.fromkeys(LOADER_PHASES, "boot loader"),
    "kernel": "kernel",
    "init": "user space",
    "application": "user space",
}
"""The kind of work that a phase is."""


@dataclass(frozen=True)
class Work:
    """CPU time of one kind of work on a core, and the largest error either way, in ns; None if nothing of its
    kind was compared."""

    kind: str
    cpu_ns: int
    error_ns: int | None
    compared: Validated | None


@dataclass(frozen=True)
class Uncertainty:
    """A boot's CPU time on a core: `clocked_ns` is the same on any core, the rest is by kind of work.
    `known_ns` is of kinds that were compared with published times, and off by at most `error_ns`;
    `unknown_ns` is of the others."""

    core: str
    clocked_ns: int
    known_ns: int
    error_ns: int
    unknown_ns: int
    work: tuple[Work, ...]


def uncertainty(tl: Timeline, core: Core) -> Uncertainty:
    """How far off the CPU time of a boot may be on a core; unknown if the core differs from the compared
    profile."""
    as_compared = core.name in core_names() and core == load_core(core.name)
    work = tuple(_work(tl, core.name if as_compared else ""))
    known = [w for w in work if w.error_ns is not None]
    return Uncertainty(
        core=core.name,
        clocked_ns=sum(phase.clocked_ns or 0 for phase in tl.phases),
        known_ns=sum(w.cpu_ns for w in known),
        error_ns=sum(w.error_ns or 0 for w in known),
        unknown_ns=sum(w.cpu_ns for w in work if w.error_ns is None),
        work=work,
    )


def _work(tl: Timeline, core: str) -> Iterator[Work]:
    sums: dict[str, int] = {}
    for phase in tl.phases:
        if modelled_ns := _modelled_ns(phase):
            kind = _KINDS.get(phase.name, phase.name)
            sums[kind] = sums.get(kind, 0) + modelled_ns
    for kind, ns in sums.items():
        compared = validated(core, kind)
        error_ns = ns * compared.worst_ppm // _PPM if compared else None
        yield Work(kind, ns, error_ns, compared)


def _modelled_ns(phase: Phase) -> int:
    return phase.cpu_ns - (phase.clocked_ns or 0)


def brief(found: Uncertainty) -> str:
    """A note for a total: how far off its CPU time may be, as far as known."""
    if not found.known_ns:
        return "(error of the model not known)" if found.unknown_ns else ""
    return f"± {span(found.error_ns)}{' or more' if found.unknown_ns else ''}"


def words(found: Uncertainty) -> list[str]:
    """The same in words: a line each for what is known, what is unknown, and what is exact."""
    lines = [_known(w, w.compared) for w in found.work if w.compared]
    if found.unknown_ns:
        kinds = listed([w.kind for w in found.work if not w.compared])
        lines.append(f"{span(found.unknown_ns)} {kinds}: error not known, no published time was compared")
    if found.clocked_ns:
        lines.append(f"{span(found.clocked_ns)} in loops that wait for a clock or a device: as recorded")
    return lines


def _known(work: Work, compared: Validated) -> str:
    held_out = f", {compared.held_out} of them held out" if compared.held_out else ", all fitted to"
    error = f"{work.kind} ± {span(work.error_ns or 0)}"
    of = f"{compared.worst_ppm / 1e4:.0f} % at worst of {compared.compared} published times{held_out}"
    return f"{span(work.cpu_ns)} {error} ({of}; {compared.median_ppm / 1e4:.0f} % in the median)"
