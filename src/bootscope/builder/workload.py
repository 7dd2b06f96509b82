# SPDX-License-Identifier: Apache-2.0
"""What a build has to do, and about how long that takes: plain values, without any lookup."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Basis(StrEnum):
    """Where the figures for a step come from."""

    HERE = "here"
    """The last time on this computer."""
    ELSEWHERE = "elsewhere"
    """The reference system's build on another computer, which comes with bootscope."""
    SHORT = "short"
    """Nowhere: it is one of the steps that take a few seconds at most."""
    UNKNOWN = "unknown"
    """Nowhere, and it may take minutes."""


class Bound(StrEnum):
    """How an estimated time bounds the real one."""

    ABOUT = "about"
    AT_MOST = "at most"
    AT_LEAST = "at least"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Work:
    """One step to do. `program` is what it compiles, in words (empty: nothing); `units` how many objects
    that takes (0: unknown, or none); `time_ns` how long, with all cores that the build may use.

    One that is `continued` goes on from an earlier build, so that its figures are upper bounds.
    `program` of a source to be fetched is its name; how long that takes depends on the network.
    """

    step: str
    program: str = ""
    units: int = 0
    time_ns: int = 0
    basis: Basis = Basis.SHORT
    continued: bool = False
    fetched: bool = False


@dataclass(frozen=True)
class Workload:
    """All steps to do, in order, and the number of cores."""

    works: tuple[Work, ...]
    cores: int

    @property
    def units(self) -> int:
        """Objects to compile, in the steps where the number is known."""
        return sum(work.units for work in self.works)

    @property
    def time_ns(self) -> int:
        """How long everything takes, without unknown times and without fetching."""
        return sum(work.time_ns for work in self.works)

    @property
    def programs(self) -> tuple[str, ...]:
        """What is compiled, in words."""
        return tuple(work.program for work in self.works if work.program and not work.fetched)

    @property
    def fetched(self) -> tuple[str, ...]:
        """The sources that are fetched first."""
        return tuple(work.program for work in self.works if work.fetched)

    def with_basis(self, basis: Basis) -> tuple[str, ...]:
        """What is compiled whose figures have this basis, in words."""
        return tuple(w.program for w in self.works if w.basis == basis and w.program and not w.fetched)

    @property
    def continued(self) -> tuple[str, ...]:
        """What is compiled as the continuation of an earlier build, in words."""
        return tuple(work.program for work in self.works if work.continued)

    @property
    def bound(self) -> Bound:
        """How `time_ns` bounds the real time."""
        return bound_of(self.works)


def bound_of(works: tuple[Work, ...]) -> Bound:
    """How the sum of the times of `works` bounds the real time."""
    most, least = any(w.continued for w in works), any(w.basis == Basis.UNKNOWN for w in works)
    if most and least:
        return Bound.UNKNOWN
    return Bound.AT_MOST if most else Bound.AT_LEAST if least else Bound.ABOUT
