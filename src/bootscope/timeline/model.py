# SPDX-License-Identifier: Apache-2.0
"""The timeline of one boot: everything on one clock, in nanoseconds of board time from power-on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Phase:
    """A stretch of the boot, and how its time was spent.

    ``cpu_ns + storage_ns + console_ns + idle_ns + fixed_ns == end_ns - start_ns``, and a phase ends where the
    next one starts. `evidence` says how its start was found. `memory_ns` is the part of `cpu_ns` that a
    modelled core waits for memory and devices, `clocked_ns` the part of loops that wait for a clock or poll a
    device, which is the same on any core; None without a model.
    """

    name: str
    start_ns: int
    end_ns: int
    cpu_ns: int
    storage_ns: int
    console_ns: int
    idle_ns: int
    fixed_ns: int
    evidence: str
    memory_ns: int | None = None
    clocked_ns: int | None = None

    @property
    def issue_ns(self) -> int:
        """The part of `cpu_ns` that instructions take."""
        return self.cpu_ns - (self.memory_ns or 0)

    @property
    def duration_ns(self) -> int:
        """Length in nanoseconds."""
        return self.end_ns - self.start_ns


@dataclass(frozen=True, slots=True)
class Line:
    """A console line: when its first byte was written to the port and its last one was sent."""

    start_ns: int
    end_ns: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Transfer:
    """A storage command with data: where, how much, and the modelled cost."""

    start_ns: int
    cost_ns: int
    sector: int | None
    size_bytes: int
    write: bool
    what: str


@dataclass(frozen=True, slots=True)
class Sleep:
    """A stretch in which the CPU was idle."""

    start_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A console marker that contradicts the program addresses about the start of a phase."""

    phase: str
    address_ns: int
    marker_ns: int
    marker: str
    reason: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """One boot."""

    boot_id: str
    total_ns: int
    phases: tuple[Phase, ...]
    milestones: dict[str, int]
    lines: tuple[Line, ...]
    transfers: tuple[Transfer, ...]
    sleeps: tuple[Sleep, ...]
    execs: tuple[tuple[int, str], ...]
    pins: tuple[tuple[int, str], ...]
    disagreements: tuple[Disagreement, ...]
    loader_offset: int
    clock_syncs: int
    clock_worst_ns: int
    kernel_image: int = 0
    cpu_sleeps: tuple[tuple[Sleep, ...], ...] = ()
    """When each of several concurrent CPUs slept or waited for others; empty for one CPU. `sleeps` and the
    phases' `idle_ns` are of all CPUs together: a phase's `cpu_ns` is the time in which at least one
    worked."""

    def phase(self, name: str | None) -> Phase | None:
        """The phase of that name, if the boot has it."""
        return next((phase for phase in self.phases if phase.name == name), None)
