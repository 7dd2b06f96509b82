# SPDX-License-Identifier: Apache-2.0
"""The result of a calibration."""

from __future__ import annotations

from dataclasses import dataclass

from bootscope.boards.profile import Board
from bootscope.cores.profile import Core
from bootscope.loaders.registry import PHASES
from bootscope.statistics.describe import quantile

FITTED, TOLD, KEPT = "fitted", "told", "kept"
"""The origin of a figure: the boots, a setting of the board's, or the unchanged profile."""
CPU_SCALE, BANDWIDTH, LATENCY, LINE_RATE, POWER_ON = (
    "cpu_scale_ppm",
    "bandwidth_bytes_per_s",
    "command_latency_ns",
    "line_baud",
    "power_on_ns",
)

INSTRUCTION, MEMORY_LATENCY = "instruction_millicycles", "read_ns"
"""Figures of a core, which replace CPU_SCALE where one is fitted."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of the profile in its own unit: its old and its new value, with its 95 % interval.

    `how` is FITTED, TOLD or KEPT; `why` says for the latter two where it is from, or why the boots do not
    determine it. `low` and `high` are None for one that was kept, `high` also where there is no upper bound.
    `stretches`: the number that it rests on, as if all had the same weight. `warning`: what is odd about it.
    """

    name: str
    before: int
    value: int
    low: int | None
    high: int | None
    stretches: float = 0.0
    how: str = FITTED
    why: str = ""
    warning: str = ""


@dataclass(frozen=True, slots=True)
class Compared:
    """A stretch between two lines (untrusted), in ns: its time on the board, in how many boots, and its time
    by the old and by the new profile. `counted`: whether the fit used it, or left it out as an outlier."""

    phase: str
    first: bytes
    last: bytes
    boots: int
    took_ns: int
    before_ns: int
    after_ns: int
    counted: bool

    @property
    def off_ns(self) -> int:
        """By how much the new profile overestimates it."""
        return self.after_ns - self.took_ns


@dataclass(frozen=True)
class Calibration:
    """`board` was fitted to `boots` by an emulated boot (`like`); `matched` of its `lines` are in these."""

    board: Board
    like: str
    boots: tuple[str, ...]
    figures: tuple[Figure, ...]
    stretches: tuple[Compared, ...]
    lines: int
    matched: int
    notes: tuple[str, ...]
    core: Core | None = None
    """The core whose figures were fitted, before the fit."""

    def figure(self, name: str) -> Figure:
        """The figure of that name."""
        return next(f for f in self.figures if f.name == name)

    def off_ns(self, part: int) -> int:
        """The error of the new profile that `part` percent of the stretches do not exceed."""
        return quantile(sorted(abs(s.off_ns) for s in self.stretches), part, 100)

    def explained_ppm(self, *, before: bool = False) -> int:
        """The share of the time between the lines that a profile explains, in 1 / 1,000,000."""
        whole = sum(s.took_ns for s in self.stretches)
        off = sum(abs((s.before_ns if before else s.after_ns) - s.took_ns) for s in self.stretches)
        return max(0, 1_000_000 - off * 1_000_000 // whole) if whole > 0 else 0

    def phases(self) -> list[tuple[str, int, int, int]]:
        """(phase, ns on the board, by the old profile, by the new one), between the lines."""
        found = []
        for phase in PHASES:
            mine = [s for s in self.stretches if s.phase == phase]
            if mine:
                took_ns = sum(s.took_ns for s in mine)
                found.append((phase, took_ns, sum(s.before_ns for s in mine), sum(s.after_ns for s in mine)))
        return found

    def worst(self, count: int) -> list[Compared]:
        """The stretches with the largest errors, the worst first."""
        return sorted(self.stretches, key=lambda s: -abs(s.off_ns))[:count]
