# SPDX-License-Identifier: Apache-2.0
"""The search for a shorter boot, on a bench that only pretends to build and boot."""

from __future__ import annotations

import time

import msgspec
import pytest

from bootscope.audit import trials
from bootscope.core.errors import SymbolError
from bootscope.emulator.recording import Order
from bootscope.search.experiment import Goal
from bootscope.system.changes import Change
from bootscope.system.load import LoadedSystem
from bootscope.techniques.model import Applies, Measured, Recipe, Technique

from .finished_search import ran, refusals
from .search_scenes import FakeBench, Make, made_up, removals

MS = 1_000_000
GOOD, BETTER = "GOOD=on", "BETTER=on"


# ---- what is kept, and what is refused ----


def test_what_helps_stays_and_the_rest_is_refused_with_its_reason(scene: Make) -> None:
    names = ("good", "better", "bad", "idle", "broken", "panics", "hangs", "paints")
    worth = {GOOD: 10, BETTER: 20, "BAD=on": -5, "IDLE=on": 0}
    wrong = {"BROKEN=on": "build", "PANICS=on": "panic", "HANGS=on": "hang", "PAINTS=on": "picture"}
    made = scene(*(made_up(name) for name in names)).search(worth, wrong=wrong)
    assert sorted(ran(made)) == ["better", "good"]
    found = refusals(made)
    assert found["bad"] == "it costs 5.0 ms"
    assert found["idle"] == "it saves nothing"
    assert found["broken"] == "kernel: make failed (status 2)\n  x.c:1: error: no"
    assert found["panics"] == "ended by panic"
    assert found["hangs"] == "ended by hang"
    assert found["paints"] == "the picture on the screen differs"
    assert len(found) == 6
    assert made.ended == "nothing is left to try"
    (broken,) = (e for e in made.experiments if e.techniques == ("broken",))
    assert broken.log == "/logs/x.txt"
    assert broken.saving_ns is None
    last = made.bench.scheduler.bench.store.load(made.current.run_id)
    assert last.info.system.settings["kernel.config.GOOD"] == "on"
    assert "kernel.config.BAD" not in last.info.system.settings


def test_each_is_compared_with_the_same_system_without_it(scene: Make) -> None:
    made = scene(*(made_up(name) for name in ("good", "bad", "better"))).search(
        {GOOD: 10, BETTER: 20, "BAD=on": -5}
    )
    made.run()
    for e in made.experiments:
        assert e.verdict is not None
        assert set(e.verdict.variant.what) == {*e.on, *e.techniques}
        assert set(e.verdict.base.what) == set(e.on)


def test_groups_come_in_their_order_and_measuring_goes_last(scene: Make) -> None:
    found = (
        made_up("quiet", "application", loses=("measuring",)), made_up("good", "bootloader"),
        made_up("better", "kernel"), made_up("tree", "filesystem"), made_up("first", "init"),
        made_up("app", "application"),
    )  # fmt: skip
    worth = {f"{t.id.upper()}=on": 5 for t in found}
    assert ran(scene(*found).search(worth)) == ["app", "first", "tree", "better", "good", "quiet"]


def test_what_saved_most_elsewhere_comes_first(scene: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("unknown", "useless", "good", "broken", "better")
    rows = {"good": (True, 5), "better": (True, 9), "useless": (True, -3), "broken": (False, 99)}
    table = {n: Measured(technique=n, date="", works=works, saving_ns=ns) for n, (works, ns) in rows.items()}
    monkeypatch.setattr(trials, "measured", lambda: table)
    made = scene(*(made_up(name) for name in names)).search({f"{name.upper()}=on": 1 for name in names})
    assert ran(made) == ["better", "good", "unknown", "broken", "useless"]


def test_what_is_worth_much_of_the_boot_comes_before_the_rest(
    scene: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Much: a fiftieth, of phases that take as long. Each pass keeps the order, and measuring goes last."""
    found = (
        made_up("small", "application"), made_up("large", "kernel"), made_up("init", "init"),
        made_up("loader", "bootloader"),
        made_up("quiet", "application", loses=("measuring",)), made_up("waits", "init", after=("tiny",)),
        made_up("tiny", "init"),
    )  # fmt: skip
    saves = {"small": 20, "large": 1500, "init": 10, "quiet": 900, "waits": 1000, "tiny": 1, "loader": 1}
    elsewhere = {**saves, "loader": 2000}
    table = {n: Measured(technique=n, date="", works=True, saving_ns=ms * MS) for n, ms in elsewhere.items()}
    monkeypatch.setattr(trials, "measured", lambda: table)
    made = scene(*found).search({f"{name.upper()}=on": ms for name, ms in saves.items()})
    assert ran(made) == ["tiny", "waits", "large", "small", "init", "loader", "quiet"]


def test_when_little_time_is_left_what_is_worth_much_waits_no_longer(
    scene: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = (made_up("small", "application"), made_up("other"), made_up("quiet", loses=("measuring",)))
    saves = {"small": 2, "other": 1, "quiet": 900}
    table = {n: Measured(technique=n, date="", works=True, saving_ns=ms * MS) for n, ms in saves.items()}
    monkeypatch.setattr(trials, "measured", lambda: table)
    made = scene(*found).search({f"{n.upper()}=on": ms for n, ms in saves.items()}, Goal(budget_s=1000))

    def tell(_: str) -> None:
        made.deadline = time.monotonic() + 200

    made.tell = tell
    assert ran(made) == ["small", "quiet", "other"]


def test_when_little_time_is_left_the_stages_do_not_count(
    scene: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = (made_up("small", "application"), made_up("fair", "init"), made_up("most", loses=("measuring",)))
    saves = {"small": 2, "fair": 200, "most": 900}
    table = {n: Measured(technique=n, date="", works=True, saving_ns=ms * MS) for n, ms in saves.items()}
    monkeypatch.setattr(trials, "measured", lambda: table)
    worth = {f"{n.upper()}=on": ms for n, ms in saves.items()}
    assert ran(scene(*found).search(worth)) == ["fair", "small", "most"]
    assert ran(scene(*found).search(worth, Goal(hurry=1.0))) == ["most", "fair", "small"]


def test_a_kernel_from_nothing_comes_before_what_leaves_out_its_parts(
    scene: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(name: str) -> Technique:
        change = Change(kernel={name.upper(): "on"}, settings={"kernel.defconfig": "allnoconfig"})
        return msgspec.structs.replace(made_up(name), recipes={"on": Recipe(change=change)})

    found = (*removals("part1", "part2"), nothing("bare"))
    saves = {"part1": 900, "part2": 900, "bare": 500}
    table = {n: Measured(technique=n, date="", works=True, saving_ns=ms * MS) for n, ms in saves.items()}
    monkeypatch.setattr(trials, "measured", lambda: table)
    made = scene(*found).search({"PART1=n": 900, "PART2=n": 900, "BARE=on": 500})
    made.run()
    assert [e.techniques for e in made.experiments][:2] == [("bare",), ("part1", "part2")]


def test_what_should_come_after_another_does(scene: Make) -> None:
    found = (made_up("any", after=("good", "none")), made_up("good", after=("better",)), made_up("better"))
    assert ran(scene(*found).search({"ANY=on": 1, GOOD: 1, BETTER: 1})) == ["better", "good", "any"]


def test_two_that_wait_for_each_other_are_tried_all_the_same(scene: Make) -> None:
    found = (made_up("good", after=("better",)), made_up("better", after=("good",)))
    assert sorted(ran(scene(*found).search({GOOD: 1, BETTER: 1}))) == ["better", "good"]


def test_capabilities_to_keep_are_kept(scene: Make) -> None:
    found = (made_up("quiet", loses=("measuring", "console")), made_up("good"))
    made = scene(*found).search({"QUIET=on": 5, GOOD: 10}, Goal(keep=("console",)))
    assert ran(made) == ["good"]
    assert [e.techniques for e in made.experiments] == [("good",)]


def test_only_what_is_asked_for_is_tried(scene: Make) -> None:
    made = scene(made_up("good"), made_up("better")).search({GOOD: 10, BETTER: 20}, Goal(only=("good",)))
    assert ran(made) == ["good"]


def test_a_recipe_can_be_asked_for_alone(scene: Make) -> None:
    found = (made_up("many", "kernel", "fast", "small"), made_up("good"))
    made = scene(*found).search({"MANY=fast": 7, "MANY=small": 3, GOOD: 1}, Goal(only=("many=small",)))
    assert ran(made) == ["many=small"]
    assert len(made.experiments) == 1


# ---- one or the other ----


@pytest.mark.parametrize("names", [("small", "fast", "none"), ("fast", "small"), ("none", "small", "fast")])
def test_of_several_recipes_the_best_one_is_left(scene: Make, names: tuple[str, ...]) -> None:
    made = scene(made_up("many", "kernel", *names)).search({"MANY=fast": 7, "MANY=small": 3, "MANY=none": -1})
    assert ran(made) == ["many=fast"]
    assert len(made.experiments) == len(names)


@pytest.mark.parametrize(("good", "better"), [(10, 20), (20, 10)])
def test_of_two_that_exclude_each_other_the_better_one_is_left(scene: Make, good: int, better: int) -> None:
    made = scene(made_up("good"), made_up("better", conflicts=("good",))).search({GOOD: good, BETTER: better})
    assert ran(made) == ["good" if good > better else "better"]
    second = made.experiments[1]
    if second.accepted:
        assert second.replaced == second.on
    else:
        assert second.refusal == f"no better than {second.on[0]}, which it would replace: 10.0 ms more"


def test_two_that_want_different_things_of_a_setting_exclude_each_other(scene: Make) -> None:
    recipes = {"on": Recipe(change=Change(kernel={"GOOD": "more"}))}
    made = scene(made_up("good"), made_up("better", recipes=recipes)).search({GOOD: 10, "GOOD=more": 20})
    assert ran(made) == ["better"]


# ---- together ----


def test_what_only_leaves_parts_out_is_built_once(scene: Make) -> None:
    names = [f"part{n}" for n in range(20)]
    made = scene(*removals(*names), made_up("good")).search({f"{n.upper()}=n": 1 for n in names} | {GOOD: 3})
    assert sorted(ran(made)) == sorted([*names, "good"])
    assert len(made.experiments[0].techniques) == 20
    bench = made.bench.scheduler.bench
    assert isinstance(bench, FakeBench)
    assert len(bench.built) == 3


@pytest.mark.parametrize("wrong", ["build", "panic", "picture"])
@pytest.mark.parametrize("guilty", [0, 7, 15])
def test_a_group_that_breaks_is_halved_until_the_guilty_one_is_found(
    scene: Make, wrong: str, guilty: int
) -> None:
    names = [f"part{n:02}" for n in range(16)]
    symbols = [f"{n.upper()}=n" for n in names]
    made = scene(*removals(*names)).search(dict.fromkeys(symbols, 1), wrong={symbols[guilty]: wrong})
    assert sorted(ran(made)) == [n for n in names if n != names[guilty]]
    (last,) = (e for e in made.experiments if not e.accepted and not e.halved)
    assert last.techniques == (names[guilty],)
    bench = made.bench.scheduler.bench
    assert isinstance(bench, FakeBench)
    # The whole, four halvings of which one half is known from before, and the rest once more.
    assert len(made.experiments) <= 1 + 2 * 4 + 1
    assert len({frozenset(built) for built in bench.built}) <= 9


def test_a_group_that_costs_time_is_halved_too(scene: Make) -> None:
    names = ["part1", "part2", "part3", "part4"]
    worth = {"PART1=n": 5, "PART2=n": -50, "PART3=n": 5, "PART4=n": 5}
    made = scene(*removals(*names)).search(worth)
    assert sorted(ran(made)) == ["part1", "part3", "part4"]
    assert refusals(made)["part2"] == "it costs 50.0 ms"


def test_a_group_that_changes_nothing_is_refused_as_one(scene: Make) -> None:
    made = scene(*removals("part1", "part2", "part3")).search({f"PART{n}=n": 0 for n in (1, 2, 3)})
    assert ran(made) == []
    assert refusals(made) == {"part1 part2 part3": "it saves nothing"}


def test_symbols_that_do_not_land_name_the_guilty_one(scene: Make) -> None:
    names = [f"part{n}" for n in range(8)]
    worth = {f"{n.upper()}=n": 1 for n in names}
    made = scene(*removals(*names)).search(worth, wrong={"PART3=n": "symbol"})
    assert sorted(ran(made)) == [n for n in names if n != "part3"]
    assert [len(e.techniques) for e in made.experiments] == [8, 7, 1]
    assert refusals(made)["part3"] == "have other values: PART3=n"


class Clash(FakeBench):
    """A bench on which BETTER cannot be asked for beside GOOD, which Kconfig alone knows."""

    def order(self, loaded: LoadedSystem) -> Order:
        if {GOOD, BETTER} <= self.symbols(loaded):
            raise SymbolError("did not land: GOOD", ("GOOD",))
        return super().order(loaded)


@pytest.mark.parametrize("better", [20, 5])
def test_what_takes_the_symbols_of_another_is_tried_in_its_place(scene: Make, better: int) -> None:
    here = scene(made_up("good", "init"), made_up("better"))
    here.bench = Clash(here.store, {GOOD: 10, BETTER: better})
    made = here.again()
    assert ran(made) == ["better" if better > 10 else "good"]
    assert [(e.techniques, e.replaced) for e in made.experiments] == [
        (("good",), ()),
        (("better",), ()),
        (("better",), ("good",)),
    ]
    assert made.experiments[1].refusal == "did not land: GOOD"


def test_what_excludes_another_of_a_group_waits_for_its_turn(scene: Make) -> None:
    found = [*removals("part1", "part2"), *removals("part3", conflicts=("part1",))]
    made = scene(*found).search({"PART1=n": 1, "PART2=n": 1, "PART3=n": 5})
    assert sorted(ran(made)) == ["part2", "part3"]


# ---- what makes other things possible ----


def layout() -> tuple[Technique, Technique]:
    """A change of the layout, and what may be left out only after it."""
    change = Change(settings={"rootfs.label": "memory"}, kernel={"LAYOUT": "on"})
    recipes = {"off": Recipe(change=Change(kernel={"CARD": False}), applies=Applies(kernel={"LAYOUT": "on"}))}
    return made_up("layout", "filesystem", recipes={"on": Recipe(change=change)}), made_up(
        "card", recipes=recipes
    )


@pytest.mark.parametrize(("card", "accepted"), [(30, ["card", "layout"]), (5, [])])
def test_a_change_that_costs_time_is_tried_with_what_it_makes_possible(
    scene: Make, card: int, accepted: list[str]
) -> None:
    made = scene(*layout()).search({"LAYOUT=on": -10, "CARD=n": card})
    assert sorted(ran(made)) == accepted
    assert [e.techniques for e in made.experiments] == [("layout",), ("layout", "card")]
    if not accepted:
        assert made.experiments[1].refusal == "it costs 5.0 ms"
        assert not made.experiments[1].halved


class Late(FakeBench):
    """A bench on which the word `early` helps only beside GOOD=on; it counts as EARLY=on."""

    def symbols(self, loaded: LoadedSystem) -> frozenset[str]:
        early = {"EARLY=on"} if "early" in loaded.system.kernel.command_line.split() else set()
        return super().symbols(loaded) | early

    def saved(self, symbols: frozenset[str]) -> int:
        return super().saved(symbols) + (10 if {"EARLY=on", "GOOD=on"} <= symbols else 0)


@pytest.mark.parametrize("good", [20, -20])
def test_what_saved_nothing_at_first_is_tried_once_more_at_the_end(scene: Make, good: int) -> None:
    recipes = {"on": Recipe(change=Change(command_line=("early",)))}
    here = scene(made_up("early", "application", recipes=recipes), made_up("bad"), made_up("good"))
    here.bench = Late(here.store, {"EARLY=on": -1, "GOOD=on": good, "BAD=on": -1})
    made = here.again()
    assert sorted(ran(made)) == (["early", "good"] if good > 0 else [])
    names = [e.techniques[0] for e in made.experiments]
    # Another kernel is not built for it.
    assert names == ["early", "bad", "good", "early"]
    assert len(made.experiments[3].on) == (1 if good > 0 else 0)


def test_what_takes_far_too_long_is_given_up(scene: Make) -> None:
    here = scene(made_up("good", "application"), made_up("slow"), made_up("back", "bootloader"))
    made = here.search({"GOOD=on": 4900, "SLOW=on": -2000, "BACK=on": -100})
    assert ran(made) == ["good"]
    assert refusals(made) == {"slow": "ended by limit", "back": "it costs 100.0 ms"}
    # Beside a slower system it would have got to its end, so that it is booted again.
    made.bench.scheduler.give_up_after(10**13)
    slow = next(e.verdict for e in made.experiments if e.techniques == ("slow",))
    assert slow is not None
    again = made.bench.outcome({name: made_change(name) for name in slow.variant.what})
    assert again.reached


def made_change(name: str) -> Change:
    return Change(kernel={name.upper(): "on"})
