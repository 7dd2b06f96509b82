# SPDX-License-Identifier: Apache-2.0
"""Two inputs that define two variants of a system, and their differences."""

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
    `noun`: the name of a difference, with its plural; `views`: the views that show what it does to two
    boots."""

    loaded: LoadedSystem
    good: str
    bad: str
    option: ClassVar[str]
    noun: ClassVar[tuple[str, str]]
    views: ClassVar[tuple[str, ...]]

    @property
    @abstractmethod
    def key(self) -> str:
        """An id of both contents, and of all that a combination depends on."""

    @property
    @abstractmethod
    def differing(self) -> Mapping[str, str]:
        """Name -> its change, in words."""

    @abstractmethod
    def needs(self) -> Mapping[str, Iterable[str]]:
        """Name of a difference that can be applied -> those that must have been applied before."""

    @abstractmethod
    def system(self, chosen: Chosen) -> AbstractContextManager[LoadedSystem]:
        """The system with these units as in the bad input, and the others as in the good one; the files that
        it is built from exist until the context ends."""

    def moved(self, units: Sequence[Unit], before: StoredRun, after: StoredRun) -> tuple[str, ...]:
        """What else differs between two boots, of which the second has these units: what the tree's own tools
        changed along with them. Empty if a system always has exactly what was asked for."""
        return ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What of the inputs differs from what was given."""
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
        """The number of differences, in words."""
        one = self.count == 1
        units = f", in {len(self.units)} units" if len(self.units) != self.count else ""
        return f"{self.count} {self.noun[not one]} {'differs' if one else 'differ'}{units}"

    def names(self, chosen: Chosen) -> set[str]:
        """The names of the differences in some units."""
        return {name for place in chosen for name in self._united[1][place]}
