# SPDX-License-Identifier: Apache-2.0
"""What saved nothing when it was tried, and saves something in the end."""

from __future__ import annotations

import pytest

from bootscope.search.experiment import Goal
from bootscope.system.load import LoadedSystem

from .finished_search import ran
from .search_scenes import FakeBench, Make, made_up


class InTheEnd(FakeBench):
    """One technique costs time until the last one is there."""

    def symbols(self, loaded: LoadedSystem) -> frozenset[str]:
        found = super().symbols(loaded)
        return found - {"EARLY=on"} | {"EARLY=good"} if {"EARLY=on", "LAST=on"} <= found else found


@pytest.mark.parametrize(
    ("only", "accepted"), [((), ["last"]), (("early", "last"), ["last", "early"]), (("last",), ["last"])]
)
def test_a_kernel_is_built_again_if_the_techniques_are_named(
    scene: Make, only: tuple[str, ...], accepted: list[str]
) -> None:
    here = scene(made_up("early", "application"), made_up("last", "kernel"))
    here.bench = InTheEnd(here.store, {"EARLY=on": -5, "EARLY=good": 20, "LAST=on": 50}, {})
    assert ran(here.again(Goal(only=only))) == accepted
