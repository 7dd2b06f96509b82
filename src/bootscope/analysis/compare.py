# SPDX-License-Identifier: Apache-2.0
"""Two boots side by side: phase by phase, and what differs in what booted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bootscope.capture.record import RunInfo
from bootscope.timeline.model import PHASES, Phase, Timeline

SPLIT = ("cpu_ns", "storage_ns", "console_ns", "idle_ns", "fixed_ns")


@dataclass(frozen=True, slots=True)
class PhaseChange:
    """A phase in boot A and in boot B; 0 where a boot has no such phase. `split` is B minus A."""

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
    """Something that differs between what booted: `a` or `b` is None where it is not there."""

    what: str
    a: str | None
    b: str | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Boot B against boot A; `same_build` when every byte that booted is the same."""

    same_build: bool

    total_a_ns: int
    total_b_ns: int
    phases: tuple[PhaseChange, ...]
    milestones: dict[str, tuple[int | None, int | None]]
    differences: tuple[Difference, ...]


def compare(a: Timeline, b: Timeline, differences: tuple[Difference, ...], same_build: bool) -> Comparison:
    """Compares two timelines; `differences` come from :func:`differences`."""
    in_a, in_b = {p.name: p for p in a.phases}, {p.name: p for p in b.phases}
    names = [name for name in PHASES if name in in_a or name in in_b]
    changes = tuple(_change(name, in_a.get(name), in_b.get(name)) for name in names)
    reached = list(dict.fromkeys([*a.milestones, *b.milestones]))
    return Comparison(
        same_build,
        a.total_ns,
        b.total_ns,
        changes,
        {name: (a.milestones.get(name), b.milestones.get(name)) for name in reached},
        differences,
    )


def _change(name: str, a: Phase | None, b: Phase | None) -> PhaseChange:
    split = {key: (getattr(b, key) if b else 0) - (getattr(a, key) if a else 0) for key in SPLIT}
    return PhaseChange(name, a.duration_ns if a else 0, b.duration_ns if b else 0, split)


def _pairs(prefix: str, a: Mapping[str, str], b: Mapping[str, str]) -> list[Difference]:
    return [
        Difference(f"{prefix}{key}", a.get(key), b.get(key))
        for key in sorted({*a, *b})
        if a.get(key) != b.get(key)
    ]


def differences(
    a: RunInfo, b: RunInfo, configs: Mapping[str, tuple[Mapping[str, str], Mapping[str, str]]]
) -> tuple[Difference, ...]:
    """What differs between two runs: settings, Kconfig symbols, sizes, board, tools.

    `configs` maps the name of a configuration to its symbols in A and in B.
    """
    found = _pairs("", a.system.settings, b.system.settings)
    for name, (symbols_a, symbols_b) in configs.items():
        found += _pairs(f"{name}: ", symbols_a, symbols_b)
    found += _pairs("source ", _sources(a), _sources(b))
    found += _pairs("", _parts(a), _parts(b))
    found += _pairs("tool ", a.tools, b.tools)
    if a.board != b.board:
        found += _pairs("board ", {"profile": a.board.name}, {"profile": b.board.name}) or [
            Difference("board profile", "differs", "differs")
        ]
    return tuple(found)


def _parts(run: RunInfo) -> dict[str, str]:
    return {part.name: f"{part.size_bytes:,} bytes, {part.sha256[:8]}" for part in run.parts}


def _sources(run: RunInfo) -> dict[str, str]:
    return {name: f"{s.version} ({s.origin}, {s.sha256[:8]})" for name, s in run.sources.items()}
