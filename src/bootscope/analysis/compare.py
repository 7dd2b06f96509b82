# SPDX-License-Identifier: Apache-2.0
"""Two boots side by side: phase by phase, and what differs in what booted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bootscope.capture.record import RunInfo
from bootscope.loaders.registry import PHASES
from bootscope.timeline.model import Phase, Timeline

SPLIT = ("cpu_ns", "storage_ns", "console_ns", "idle_ns", "fixed_ns")
ON_CORE = ("issue_ns", "memory_ns")
"""The parts of `cpu_ns` if a core is modelled."""


@dataclass(frozen=True, slots=True)
class PhaseChange:
    """A phase in boot A and in boot B; 0 if a boot has no such phase. `split` is B minus A; it is empty if
    the phase was cut in one of them, since the split of the rest is unknown. With a core it also has issue
    and memory."""

    name: str
    a_ns: int
    b_ns: int
    split: dict[str, int]

    @property
    def change_ns(self) -> int:
        """B minus A: negative is faster."""
        return self.b_ns - self.a_ns


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference in what booted: `a` or `b` is None if it is absent there."""

    what: str
    a: str | None
    b: str | None


@dataclass(frozen=True, slots=True)
class End:
    """The milestone that a boot was recorded until; `why` it was not reached, in words."""

    until: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Boot B against boot A; `same_build` when every byte that booted is the same.

    If the two did not end at the same milestone, both are cut at `cut_at`, the last that both reached; it is
    empty for whole boots. `refused` says why there is no verdict, and is empty if there is one.
    """

    same_build: bool

    total_a_ns: int
    total_b_ns: int
    phases: tuple[PhaseChange, ...]
    milestones: dict[str, tuple[int | None, int | None]]
    differences: tuple[Difference, ...]
    cut_at: str = ""
    refused: str = ""


def compare(
    a: Timeline,
    b: Timeline,
    differences: tuple[Difference, ...],
    same_build: bool,
    ends: tuple[End, End] = (End(""), End("")),
) -> Comparison:
    """Compares two timelines that end as `ends` says; `differences` come from :func:`differences`."""
    same_end = ends[0] == ends[1] and not ends[0].why
    cut_at = "" if same_end else _last_common(a, b)
    total_a_ns = a.milestones[cut_at] if cut_at else a.total_ns
    total_b_ns = b.milestones[cut_at] if cut_at else b.total_ns
    in_a = {p.name: p for p in a.phases if p.start_ns < total_a_ns}
    in_b = {p.name: p for p in b.phases if p.start_ns < total_b_ns}
    names = [name for name in PHASES if name in in_a or name in in_b]
    cut = tuple(_change(n, (in_a.get(n), total_a_ns), (in_b.get(n), total_b_ns)) for n in names)
    reached = list(dict.fromkeys([*a.milestones, *b.milestones]))
    return Comparison(
        same_build,
        total_a_ns,
        total_b_ns,
        cut,
        {name: (a.milestones.get(name), b.milestones.get(name)) for name in reached},
        differences,
        cut_at,
        _refusal(ends, cut_at),
    )


def _last_common(a: Timeline, b: Timeline) -> str:
    """The last milestone that both reached; empty for none."""
    common = [name for name in a.milestones if name in b.milestones]
    return max(common, key=lambda name: (a.milestones[name], b.milestones[name]), default="")


def _refusal(ends: tuple[End, End], cut_at: str) -> str:
    """Why there is no verdict; empty if there is one."""
    short = [
        f"{side} did not reach {end.until} ({end.why})"
        for side, end in zip("AB", ends, strict=True)
        if end.why
    ]
    if short:
        return f"no verdict: {' and '.join(short)}"
    if ends[0] != ends[1] and not cut_at:
        return f"no verdict: A ends at {ends[0].until}, B at {ends[1].until}, and no milestone is in both"
    return ""


def _change(name: str, a: tuple[Phase | None, int], b: tuple[Phase | None, int]) -> PhaseChange:
    """A phase in both boots, each with the moment at which that boot is cut."""
    a_ns, b_ns = (min(p.end_ns, end_ns) - p.start_ns if p else 0 for p, end_ns in (a, b))
    if any(p and p.end_ns > end_ns for p, end_ns in (a, b)):
        return PhaseChange(name, a_ns, b_ns, {})
    on_core = all(p.memory_ns is not None for p, _ in (a, b) if p)
    keys = (*SPLIT, *ON_CORE) if on_core else SPLIT
    split = {key: (getattr(b[0], key) if b[0] else 0) - (getattr(a[0], key) if a[0] else 0) for key in keys}
    return PhaseChange(name, a_ns, b_ns, split)


def _pairs(prefix: str, a: Mapping[str, str], b: Mapping[str, str]) -> list[Difference]:
    return [
        Difference(f"{prefix}{key}", a.get(key), b.get(key))
        for key in sorted({*a, *b})
        if a.get(key) != b.get(key)
    ]


def differences(
    a: RunInfo, b: RunInfo, configs: Mapping[str, tuple[Mapping[str, str], Mapping[str, str]]]
) -> tuple[Difference, ...]:
    """What differs between two runs: board, settings, Kconfig symbols, sizes, tools.

    `configs` maps the name of a configuration to its symbols in A and in B.
    """
    found = []
    if a.board.in_use() != b.board.in_use():
        found += _pairs("board ", {"profile": a.board.name}, {"profile": b.board.name}) or [
            Difference("board profile", "differs", "differs")
        ]
    found += _pairs("", a.system.settings, b.system.settings)
    for name, (symbols_a, symbols_b) in configs.items():
        found += _pairs(f"{name}: ", symbols_a, symbols_b)
    found += _pairs("source ", _sources(a), _sources(b))
    found += _pairs("", _parts(a), _parts(b))
    found += _pairs("tool ", a.tools, b.tools)
    return tuple(found)


def _parts(run: RunInfo) -> dict[str, str]:
    return {part.name: f"{part.size_bytes:,} bytes, {part.sha256[:8]}" for part in run.parts}


def _sources(run: RunInfo) -> dict[str, str]:
    return {name: f"{s.version} ({s.origin}, {s.sha256[:8]})" for name, s in run.sources.items()}
