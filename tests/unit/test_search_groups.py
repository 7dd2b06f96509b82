# SPDX-License-Identifier: Apache-2.0
"""Searches where a boot takes long: what goes together is tried at once, what is refused is asked nothing."""

from __future__ import annotations

import msgspec
import pytest

from bootscope.search.emulated import EmulatedBench, EmulatedSearch
from bootscope.search.experiment import Goal
from bootscope.search.pareto import measure_keepers, pareto
from bootscope.system.changes import Change
from bootscope.system.load import LoadedSystem
from bootscope.system.model import Milestone

from .finished_search import ran, refusals
from .lab_scenes import stock
from .search_scenes import FakeBench, Make, made_up

TOGETHER = Goal(together=True)
WORTH = {"A=on": 10, "B=on": 20, "C=on": 30}


def test_what_goes_together_is_one_boot(scene: Make) -> None:
    here = scene(*(made_up(name) for name in "abc"))
    made = here.search(WORTH, TOGETHER)
    made.run()
    assert sorted(made.accepted) == ["a", "b", "c"]
    assert [sorted(e.techniques) for e in made.experiments] == [["a", "b", "c"]]
    assert [len(symbols) for symbols in here.bench.booted] == [0, 3]


def test_one_that_breaks_the_group_is_found_and_the_others_stay(scene: Make) -> None:
    techniques = [made_up(name) for name in "abcd"]
    made = scene(*techniques).search(WORTH, TOGETHER, wrong={"D=on": "panic"})
    assert sorted(ran(made)) == ["a", "b", "c"]
    assert refusals(made)["d"] == "ended by panic"
    first = made.experiments[0]
    assert (len(first.techniques), first.halved) == (4, True)


def test_recipes_of_one_technique_are_tried_one_after_the_other(scene: Make) -> None:
    made = scene(made_up("a"), made_up("pack", "kernel", "lz4", "xz")).search(
        {"A=on": 10, "PACK=lz4": 20, "PACK=xz": 30}, TOGETHER
    )
    assert sorted(ran(made)) == ["a", "pack=xz"]
    assert [sorted(e.techniques) for e in made.experiments] == [["a", "pack=lz4"], ["pack=xz"]]


def test_stages_stay_apart(scene: Make) -> None:
    made = scene(made_up("a", "init"), made_up("b", "kernel"), made_up("c", "init")).search(WORTH, TOGETHER)
    assert sorted(ran(made)) == ["a", "b", "c"]
    assert [sorted(e.techniques) for e in made.experiments] == [["a", "c"], ["b"]]


def test_what_is_slower_is_not_asked_what_else_works(scene: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each question is a boot of its own."""
    asked: list[frozenset[str]] = []

    def unanswered(self: FakeBench, loaded: LoadedSystem) -> tuple[str, ...]:
        asked.append(self.symbols(loaded))
        return ()

    monkeypatch.setattr(FakeBench, "unanswered", unanswered)
    made = scene(made_up("good"), made_up("slow")).search({"GOOD=on": 10, "SLOW=on": -5})
    assert ran(made) == ["good"]
    assert not any("SLOW=on" in symbols for symbols in asked)
    assert frozenset({"GOOD=on"}) in asked


def test_after_a_search_slower_systems_are_asked_what_must_answer(
    scene: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[frozenset[str]] = []

    def unanswered(self: FakeBench, loaded: LoadedSystem) -> tuple[str, ...]:
        asked.append(self.symbols(loaded))
        return ("login does not answer",) if self.symbols(loaded) == {"B=on"} else ()

    monkeypatch.setattr(FakeBench, "unanswered", unanswered)
    here = scene(made_up("a", loses=("usb",)), made_up("b", loses=("console",)))
    scheduler = here.search(WORTH).bench.scheduler
    system = stock().system
    login = {**system.milestones, "login": Milestone(console="login:", required=True)}
    loaded = LoadedSystem(msgspec.structs.replace(system, milestones=login), stock().path)
    search = EmulatedSearch(EmulatedBench(scheduler, loaded), Goal(), here.told.append)
    # What an earlier search found is no measure for the start of the next one.
    scheduler.to_beat(1)
    search.accepted = {"a": Change(kernel={"A": "on"})}
    assert ran(search) == ["a", "b"]
    assert frozenset({"A=on"}) in asked
    asked.clear()
    measure_keepers(search)
    assert asked == [frozenset({"B=on"})]
    assert ("b",) not in [point.techniques for point in pareto(search, [])]
