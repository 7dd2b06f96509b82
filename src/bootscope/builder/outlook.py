# SPDX-License-Identifier: Apache-2.0
"""What a list of steps comes to before any of it runs: ids, what the cache has, what is to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bootscope.builder.cache import Cache
from bootscope.builder.estimate import fetching, works_of
from bootscope.builder.history import cores_for
from bootscope.builder.sources import Resolved
from bootscope.builder.step import Step
from bootscope.builder.workload import Workload

UNKNOWN = ""
"""The id of a step whose source has not been fetched yet."""


@dataclass(frozen=True)
class Planned:
    """A step of a plan: its id (UNKNOWN when a source is missing), whether the cache has it, and whether a
    build would do it (sources need not be unpacked where all that is built from them is cached)."""

    name: str
    title: str
    step_id: str
    cached: bool
    needs: tuple[str, ...]
    to_do: bool


@dataclass(frozen=True)
class Outlook:
    """Sources by name (None: not fetched yet), steps in order, their ids, the names of those that the cache
    has, and of those to run or to look up."""

    cache: Cache
    found: Mapping[str, Resolved | None]
    steps: list[Step]
    ids: dict[str, str]
    cached: set[str]
    needed: set[str]

    @classmethod
    def of(cls, steps: list[Step], found: Mapping[str, Resolved | None], cache: Cache) -> Outlook:
        """The outlook on `steps`, each of which comes after what it needs."""
        missing = {f"unpack-{name}" for name, source in found.items() if not source}
        ids: dict[str, str] = {}
        for step in steps:
            unknown = step.name in missing or any(ids[need] == UNKNOWN for need in step.needs)
            ids[step.name] = UNKNOWN if unknown else step.step_id(ids)
        cached = {step.name for step in steps if ids[step.name] != UNKNOWN and cache.find(ids[step.name])}
        return cls(cache, found, steps, ids, cached, _needed(steps, cached))

    def planned(self) -> list[Planned]:
        """The fetching of sources and all steps, in order."""
        fetches = [
            Planned(f"fetch-{n}", f"source of {n}", s.sha256 if s else UNKNOWN, bool(s), (), not s)
            for n, s in self.found.items()
        ]
        return [*fetches, *map(self._planned, self.steps)]

    def workload(self, jobs: int) -> Workload:
        """How much is to do, with so many jobs."""
        cores = cores_for(jobs)
        fetches = tuple(fetching(name) for name, source in self.found.items() if not source)
        to_do = [step for step in self.steps if self._to_do(step.name)]
        return Workload((*fetches, *works_of(to_do, self.ids, self.cache, cores)), cores)

    def _planned(self, step: Step) -> Planned:
        name = step.name
        return Planned(name, step.title, self.ids[name], name in self.cached, step.needs, self._to_do(name))

    def _to_do(self, name: str) -> bool:
        return name in self.needed and name not in self.cached


def _needed(steps: list[Step], cached: set[str]) -> set[str]:
    """Steps to run or look up: everything but the unpacking of sources whose build is there already."""
    needed = {step.name for step in steps if not step.name.startswith("unpack-")}
    # From the end, so that what a needed step needs is seen too. A source may be a view of another one.
    for step in reversed(steps):
        view = step.name.startswith("unpack-") and bool(step.needs)
        if step.name in needed and (view or step.name not in cached):
            needed.update(step.needs)
    return needed
