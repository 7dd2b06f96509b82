# SPDX-License-Identifier: Apache-2.0
"""After a search: ablation, boot time against capabilities, and variants that keep some."""

from __future__ import annotations

from typing import Any

import pytest

from bootscope.search import pareto as pareto_module
from bootscope.search.emulated import EmulatedSearch
from bootscope.search.pareto import Point, front, loses, measure_keepers, pareto
from bootscope.search.session import Options, ablate
from bootscope.system.changes import Change
from bootscope.techniques.model import Measured, Recipe

from .finished_search import Overlapping, searched
from .search_scenes import Make, made_up, removals

MS = 1_000_000


# ---- taking away ----


def test_ablation_takes_one_away_at_a_time_and_says_what_it_was_worth(overlapping: EmulatedSearch) -> None:
    found = {w.technique: (w.ns, w.dropped) for w in ablate(overlapping, True)}
    assert found == {"early": (0, True), "late": (30 * MS, False), "other": (5 * MS, False)}
    assert list(overlapping.accepted) == ["late", "other"]
    assert overlapping.current.what == ("late", "other")


def test_of_two_that_stand_for_each_other_only_one_goes(scene: Make) -> None:
    here = scene(made_up("early", "application", loses=("console",)), made_up("late"))
    here.bench = Overlapping(here.store, {"EARLY=on": 10, "LATE=on": 10})
    search = here.again()
    search.accepted = {t: Change(kernel={t.upper(): "on"}) for t in ("early", "late")}
    search.run()
    ablate(search, True)
    # The one that takes something away.
    assert list(search.accepted) == ["late"]


def test_without_being_asked_no_kernel_is_built_for_it(scene: Make) -> None:
    words = made_up("word", "init", recipes={"on": Recipe(change=Change(command_line=("word",)))})
    search = scene(made_up("good"), words).search({"GOOD=on": 10})
    search.accepted = {"word": Change(command_line=("word",))}
    search.run()
    assert [w.technique for w in ablate(search, False)] == ["word"]
    assert list(search.accepted) == ["good"]


def test_what_the_boot_does_not_work_without_stays(scene: Make) -> None:
    here = scene(*removals("part1", "part2"))
    search = here.search({"PART1=n": 5, "PART2=n": 5})
    search.run()
    here.bench.wrong["PART1=n"] = "panic"
    here.bench.key = lambda loaded: "new " + str(sorted(here.bench.symbols(loaded)))  # type: ignore[method-assign]
    worths = {w.technique: w for w in ablate(search, True)}
    assert worths["part2"].why == "ended by panic"
    assert worths["part2"].ns is None
    assert sorted(search.accepted) == ["part1", "part2"]


def test_ablation_stops_when_the_time_is_over(overlapping: EmulatedSearch) -> None:
    overlapping.deadline = 0
    assert ablate(overlapping, True) == []


# ---- time against capabilities ----


def point(total: int, *lost: str, run_id: str = "run") -> Point:
    return Point(total, lost, ("t",), run_id)


def test_only_what_nothing_beats_is_on_the_list() -> None:
    fast, keeps = point(1, "console", "usb"), point(3, "usb")
    slow = point(5)
    beaten = [point(2, "console", "usb"), point(4, "usb"), point(3, "usb", "login"), point(9)]
    assert front([*beaten, slow, fast, keeps]) == [fast, keeps, slow]


def test_of_equals_the_one_that_was_booted_is_on_the_list() -> None:
    assert front([point(1, run_id=""), point(1)]) == [point(1)]


def test_an_estimate_does_not_beat_what_was_booted() -> None:
    guess, booted = point(1, run_id=""), point(2, "usb")
    assert front([booted, guess]) == [guess, booted]
    assert front([booted, point(3, "usb", run_id="")]) == [booted]


@pytest.mark.parametrize(("alone", "kept"), [({}, 15), ({"part1": 3, "part2": 1}, 22)])
def test_members_of_a_group_share_its_saving(
    scene: Make, monkeypatch: pytest.MonkeyPatch, alone: dict[str, int], kept: int
) -> None:
    """By what each was worth alone, where that is known."""
    rows = {
        name: Measured(technique=name, date="", saving_ns=ns * MS, works=True) for name, ns in alone.items()
    }
    monkeypatch.setattr(pareto_module, "measured", lambda: rows)
    found = (*removals("part1", loses=("usb",)), *removals("part2", loses=("console",)))
    search = scene(*found).search({"PART1=n": 20, "PART2=n": 10})
    search.run()
    (point_,) = (p for p in pareto(search, []) if p.keeps == "console")
    assert (search.base.total_ns - point_.total_ns) // MS == kept


def test_capabilities_are_counted_together(scene: Make) -> None:
    scene(made_up("a", loses=("usb", "console")), made_up("b", loses=("usb", "login")))
    assert loses(["a", "b"]) == ("console", "login", "usb")
    assert loses([]) == ()


def losers(scene: Make, **bench: Any) -> EmulatedSearch:
    here = scene(
        made_up("first", "application", loses=("usb",)),
        made_up("good", "init", loses=("console",)),
        made_up("free", "filesystem"),
        made_up("both", "bootloader", loses=("usb", "console")),
    )
    search = here.search({"FIRST=on": 10, "GOOD=on": 20, "FREE=on": 5, "BOTH=on": 40}, **bench)
    # What is only foreseen may or may not be booted in time.
    search.bench.scheduler.hint = lambda candidates: None  # type: ignore[method-assign]
    search.run()
    return search


def test_what_was_not_booted_is_estimated_until_it_is(scene: Make) -> None:
    search = losers(scene)
    whole = search.base.total_ns

    def listed() -> list[tuple[int, tuple[str, ...], str, bool]]:
        points = pareto(search, [])
        return [((whole - p.total_ns) // MS, p.loses, p.keeps, bool(p.run_id)) for p in points]

    guessed = listed()
    assert guessed == [
        (75, ("console", "usb"), "", True),
        (25, ("console",), "usb", False),
        (15, ("usb",), "console", False),
        # It was booted on the way, and no estimate beats that.
        (10, ("usb",), "", True),
        (0, (), "", True),
    ]
    measure_keepers(search)
    # Nothing overlaps here, so that the estimates were right.
    del guessed[3]
    assert listed() == [(ns, lost, keeps, True) for ns, lost, keeps, _ in guessed]


# ---- beside ----


def test_beside_the_fastest_stands_the_fastest_that_keeps_something(scene: Make) -> None:
    found = (
        made_up("quiet", "kernel", "all", loses=("console",)),
        made_up("less", "kernel", conflicts=("quiet",)),
        made_up("good", "init"),
        made_up("bad", "init"),
    )
    worth = {"QUIET=all": 50, "LESS=on": 20, "GOOD=on": 10, "BAD=on": -10}
    made = searched(scene, Options(beside=("console",)), *found, worth=worth)
    assert sorted(made.accepted) == ["good", "quiet"]
    assert made.lost == ("console",)
    assert made.beside is not None
    assert sorted(made.beside.accepted) == ["good", "less"]
    assert made.beside.lost == ()
    assert made.beside.final.total_ns - made.final.total_ns == 30 * MS
    # What was refused on the same ground is not tried again.
    assert [e.techniques for e in made.beside.search.experiments] == [("less",)]
    first = made.beside.steps[0]
    assert (first.came, first.before_ns) == (("good",), made.base.total_ns)
    assert made.points[0].total_ns == made.final.total_ns


def test_without_being_asked_there_is_nothing_beside(scene: Make) -> None:
    assert searched(scene, Options(), made_up("good"), worth={"GOOD=on": 1}).beside is None
