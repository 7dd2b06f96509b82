# SPDX-License-Identifier: Apache-2.0
"""What a build tells of itself: all that is to do before it begins, again where fetching changed that."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from bootscope.builder import plan, sources
from bootscope.builder.cache import Cache
from bootscope.builder.progress import Progress
from bootscope.builder.sources import Resolved, Wanted
from bootscope.builder.step import Context, Runner, Step
from bootscope.builder.workload import Workload
from bootscope.system.load import LoadedSystem, load_system

FETCHES = ["fetch-uboot", "fetch-linux", "fetch-busybox"]


class Told(Progress):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.log: list[str | list[str]] = []

    def expect(self, workload: Workload) -> None:
        self.log.append([work.step for work in workload.works])

    def begin(self, step: str, what: str) -> None:
        self.log.append(step)


def work(_context: Context) -> None: ...


def steps_of(_loaded: LoadedSystem, found: Mapping[str, Resolved]) -> list[Step]:
    unpack = Step("unpack-linux", "unpacking", 1, work, {"sha256": found["linux"].sha256})
    kernel = Step(
        "kernel", "building", 1, work, {}, ("unpack-linux",), program="the kernel", figures="kernel"
    )
    return [unpack, kernel, Step("card", "card", 1, work, {}, ("kernel",))]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, cache: Cache) -> Told:
    """Builds a system of three steps whose sources must be fetched each time."""

    def fetch_all(wanted: list[Wanted], _cache: Cache, progress: Told) -> dict[str, Resolved]:
        for one in wanted:
            progress.begin(f"fetch-{one.name}", "")
        return {one.name: Resolved("/x.tar", one.name, "upstream", "1") for one in wanted}

    monkeypatch.setattr(plan, "steps_of", steps_of)
    monkeypatch.setattr(sources, "fetch_all", fetch_all)
    return build(cache)


def build(cache: Cache) -> Told:
    told = Told()
    plan.build(load_system("stock"), Runner(cache, told), told)
    return told


def test_all_is_told_before_anything_begins(told: Told) -> None:
    steps = ["unpack-linux", "kernel", "card"]
    assert told.log == [[*FETCHES, *steps], *FETCHES, *steps]


@pytest.mark.usefixtures("told")
def test_what_turns_out_to_be_there_is_told_after_fetching(cache: Cache) -> None:
    assert build(cache).log == [[*FETCHES, "unpack-linux", "kernel", "card"], *FETCHES, []]


def test_sources_that_are_fetched_say_so_by_the_name_in_the_plan(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "from_somewhere", lambda *_: Resolved("/x", "ab", "upstream", "1"))
    told, loaded = Told(), load_system("stock")
    sources.fetch(Wanted("linux", loaded.system.sources["linux"], loaded.path.parent), cache, told)
    assert told.log == ["fetch-linux"]
