# SPDX-License-Identifier: Apache-2.0
"""Two inputs that make a system in two ways, and what they differ in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from bootscope.capture.stored import StoredRun
from bootscope.regression.units import Chosen, Unit, Units, united
from bootscope.system.load import LoadedSystem


@dataclass(frozen=True)
class Inputs(ABC):
    """Two inputs for the system `loaded`, called `good` and `bad` by the user. `option`: how they were given;
    `noun`: what a difference is, with its plural; `views`: what tells of two boots what it does."""

    loaded: LoadedSystem
    good: str
    bad: str
    option: ClassVar[str]
    noun: ClassVar[tuple[str, str]]
    views: ClassVar[tuple[str, ...]]

    @property
    @abstractmethod
    def key(self) -> str:
        """An id of both contents, and of all that gives a combination its meaning."""

    @property
    @abstractmethod
    def differing(self) -> Mapping[str, str]:
        """Name -> what becomes of it, in words."""

    @abstractmethod
    def needs(self) -> Mapping[str, Iterable[str]]:
        """Name of a difference that can be taken over -> those that must have been taken over before."""

    @abstractmethod
    def system(self, chosen: Chosen) -> AbstractContextManager[LoadedSystem]:
        """The system with these units as in the bad input, and the others as in the good one; what it is
        built from is there until the end of the context."""

    def moved(self, units: Sequence[Unit], before: StoredRun, after: StoredRun) -> tuple[str, ...]:
        """What else differs between two boots, of which the second has these units: what the tree's own tools
        changed with them. Nothing where a system has what was asked for, and nothing else."""
        return ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What of the inputs is not as it was given."""
        return ()

    @cached_property
    def _united(self) -> tuple[Units, list[list[str]]]:
        needs = self.needs()
        units, groups = united([name for name in self.differing if name in needs], needs, self.differing)
        return Units(units), groups

    @property
    def units(self) -> Units:
        """The differences, each after those that it needs."""
        return self._united[0]

    @property
    def count(self) -> int:
        """How many differences there are, in units or not."""
        return len(self.differing)

    @property
    def words(self) -> str:
        """How much differs."""
        one = self.count == 1
        units = f", in {len(self.units)} units" if len(self.units) != self.count else ""
        return f"{self.count} {self.noun[not one]} {'differs' if one else 'differ'}{units}"

    def names(self, chosen: Chosen) -> set[str]:
        """The differences in some units."""
        return {name for place in chosen for name in self._united[1][place]}
