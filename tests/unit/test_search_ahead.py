# SPDX-License-Identifier: Apache-2.0
"""Many hands: a search works ahead, decides as with one, and counts what was not needed."""

from __future__ import annotations

import json

import pytest

from bootscope.capture.store import Store

from .search_scenes import FOUND, WORTH, Make, Scene, bench_of, removals, story


def elsewhere(here: Scene, name: str) -> None:
    """What follows does not find what was recorded before."""
    here.store = Store(here.store.root.parent / name)


@pytest.mark.parametrize("hands", [2, 5, 20])
def test_any_number_of_hands_ends_with_the_same(scene: Make, hands: int) -> None:
    here = scene(*FOUND, *removals("part1", "part2", "part3"))
    worth = WORTH | {"PART1=n": 1, "PART2=n": -7, "PART3=n": 1}
    wrong = {"T2=on": "build", "T7=on": "panic"}
    alone = here.search(worth, wrong=wrong)
    expected = story(alone)
    elsewhere(here, "many")
    many = here.search(worth, wrong=wrong, hands=hands, build_s=0.02, boot_s=0.02)
    assert story(many) == expected
    assert many.accepted == alone.accepted


def test_more_than_one_builds_at_a_time(scene: Make) -> None:
    search = scene(*FOUND).search(dict.fromkeys(WORTH, 0), hands=4, build_s=0.05, boot_s=0.05)
    search.run()
    assert bench_of(search).most_at_once > 1


def test_nothing_comes_to_an_end_twice(scene: Make) -> None:
    """What made way is begun again later; what came to its end is known from then on."""
    search = scene(*FOUND).search(WORTH, hands=6, boot_s=0.02)
    search.run()
    search.bench.scheduler.close()
    lines = map(json.loads, search.bench.scheduler.journal.path.read_text().splitlines())
    keys = [line["outcome"]["key"] for line in lines if line["kind"] == "outcome"]
    assert len(keys) == len(set(keys))
    assert len(keys) > len(search.experiments)


def test_what_was_foreseen_in_vain_is_counted(scene: Make) -> None:
    search = scene(*FOUND).search(WORTH, hands=6, boot_s=0.02)
    search.run()
    search.bench.scheduler.close()
    ahead = search.bench.scheduler.ahead
    # All asked for: the system itself, and what each experiment was about.
    asked = 1 + len({frozenset({*e.on, *e.techniques}) for e in search.experiments})
    begun = len(set(bench_of(search).built))
    assert ahead.wasted == begun - asked
    assert ahead.wasted > 0
    assert f"{ahead.wasted} of them were started early and not needed" in ahead.line()
