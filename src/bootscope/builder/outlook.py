# SPDX-License-Identifier: Apache-2.0
"""A list of steps before any of it runs: ids, what the cache has, what is to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bootscope.builder import history, trees
from bootscope.builder.cache import Cache
from bootscope.builder.sources import Resolved
from bootscope.builder.step import Runner, Step
from bootscope.builder.workload import Basis, Work, Workload

UNKNOWN = ""
"""The id of a step whose source has not been fetched yet."""


@dataclass(frozen=True)
class Planned:
    """A step of a plan: its id (UNKNOWN when a source is missing), whether the cache has it, and whether a
    build would run it (sources need not be unpacked if everything built from them is cached)."""

    name: str
    title: str
    step_id: str
    cached: bool
    needs: tuple[str, ...]
    to_do: bool


@dataclass(frozen=True)
class Outlook:
    """Sources by name (None: not fetched yet), steps in order, their ids, the names of cached steps, and of
    those to run or to look up."""

    cache: Cache
    found: Mapping[str, Resolved | None]
    steps: list[Step]
    ids: dict[str, str]
    cached: set[str]
    needed: set[str]

    @classmethod
    def of(cls, steps: list[Step], found: Mapping[str, Resolved | None], cache: Cache) -> Outlook:
        """The outlook for `steps`, which must be in order of need."""
        missing = {f"unpack-{name}" for name, source in found.items() if not source}
        ids: dict[str, str] = {}
        for step in steps:
            unfetched = step.name in missing or step.inputs.get("source") == UNKNOWN
            unknown = unfetched or any(ids[need] == UNKNOWN for need in step.needs)
            ids[step.name] = UNKNOWN if unknown else step.step_id(ids)
        cached = {step.name for step in steps if ids[step.name] != UNKNOWN and cache.find(ids[step.name])}
        return cls(cache, found, steps, ids, cached, _needed(steps, cached))

    def planned(self) -> list[Planned]:
        """All steps in order, with the fetching of sources first."""
        fetches = [
            Planned(f"fetch-{n}", f"source of {n}", s.sha256 if s else UNKNOWN, bool(s), (), not s)
            for n, s in self.found.items()
        ]
        return [*fetches, *map(self._planned, self.steps)]

    def workload(self, jobs: int) -> Workload:
        """How much is to do with that many jobs, from what it took before."""
        cores = history.cores_for(jobs)
        # How long fetching takes depends only on the network.
        fetches = (Work(f"fetch-{n}", n, fetched=True) for n, source in self.found.items() if not source)
        works = (self._work(step, cores) for step in self.steps if self._to_do(step.name))
        return Workload((*fetches, *works), cores)

    def run(self, runner: Runner) -> dict[str, Path]:
        """The results of all steps that are needed, by name. Raises ToolError when one fails."""
        results: dict[str, Path] = {}
        for step in self.steps:
            if step.name in self.needed:
                results[step.name] = runner.run(step, self.ids[step.name], results)
        return results

    def _work(self, step: Step, cores: int) -> Work:
        took, basis = history.last(self.cache.root, step.figures), Basis.HERE
        if not took:
            took, basis = history.shipped().steps.get(step.figures), Basis.ELSEWHERE
        if not took:
            return Work(step.name, step.program, basis=Basis.UNKNOWN if step.program else Basis.SHORT)
        continued = False
        if step.tree:
            source, *rest = step.tree
            continued = bool(trees.kept(self.cache.root, trees.key_of(self.ids[source], *rest)))
        return Work(step.name, step.program, took.units, took.on(cores), basis, continued)

    def _planned(self, step: Step) -> Planned:
        name = step.name
        return Planned(name, step.title, self.ids[name], name in self.cached, step.needs, self._to_do(name))

    def _to_do(self, name: str) -> bool:
        return name in self.needed and name not in self.cached


def _needed(steps: list[Step], cached: set[str]) -> set[str]:
    """Steps to run or look up: all except the unpacking of sources whose build is cached."""
    needed = {step.name for step in steps if not step.name.startswith("unpack-")}
    # Backwards, so that the needs of needed steps are included. A source may be a view of another one.
    for step in reversed(steps):
        view = step.name.startswith("unpack-") and bool(step.needs)
        if step.name in needed and (view or step.name not in cached):
            needed.update(step.needs)
    return needed
