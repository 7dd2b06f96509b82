# SPDX-License-Identifier: Apache-2.0
"""Searches that have ended, for tests of what comes after."""

from __future__ import annotations

from bootscope.search.emulated import EmulatedSearch
from bootscope.search.journal import Journal
from bootscope.search.pareto import pareto
from bootscope.search.result import Result, result_of
from bootscope.search.session import Options, ablate, search_emulated
from bootscope.techniques.model import Technique

from .lab_scenes import stock
from .search_scenes import FakeBench, Make, made_up


class Overlapping(FakeBench):
    """A bench on which EARLY=on saves nothing beside LATE=on."""

    def saved(self, symbols: frozenset[str]) -> int:
        worth = super().saved(symbols)
        return worth - self.worth["EARLY=on"] if {"EARLY=on", "LATE=on"} <= symbols else worth


def overlapping_search(scene: Make) -> EmulatedSearch:
    """A search that has accepted `early`, which `late` makes superfluous, and `other`."""
    here = scene(made_up("early", "application", loses=("console",)), made_up("late"), made_up("other"))
    here.bench = Overlapping(here.store, {"EARLY=on": 10, "LATE=on": 30, "OTHER=on": 5})
    search = here.again()
    search.run()
    assert list(search.accepted) == ["early", "late", "other"]
    return search


def everything(search: EmulatedSearch) -> Result:
    worths = ablate(search, True)
    return result_of(search, worths, pareto(search, worths), 5.0)


def searched(scene: Make, options: Options, *found: Technique, worth: dict[str, int]) -> Result:
    here = scene(*found)
    bench = FakeBench(here.store, worth)
    journal = Journal(here.store.root, "stock")
    return search_emulated(bench, journal, stock(), options, 1, here.told.append)


def ran(search: EmulatedSearch) -> list[str]:
    """What a search has accepted in the end."""
    search.run()
    return list(search.accepted)


def refusals(search: EmulatedSearch) -> dict[str, str]:
    return {" ".join(e.techniques): e.refusal for e in search.experiments if not e.accepted}
