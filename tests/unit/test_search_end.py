# SPDX-License-Identifier: Apache-2.0
"""What comes after a search: taking away, the list of times against capabilities, the account of it all."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from bootscope.capture.store import Store
from bootscope.changes.change_files import write
from bootscope.cli import optimize as verb
from bootscope.cli.parsers import parser
from bootscope.core.errors import UserError
from bootscope.report import search_html
from bootscope.report.search_html import render
from bootscope.report.search_json import document
from bootscope.report.search_text import show
from bootscope.search import pareto as pareto_module
from bootscope.search.ablation import ablate
from bootscope.search.emulated import EmulatedSearch
from bootscope.search.experiment import Goal
from bootscope.search.journal import Journal
from bootscope.search.pareto import Point, front, loses, measure_keepers, pareto
from bootscope.search.result import Result, result_of
from bootscope.search.session import Options, search_emulated
from bootscope.system.changes import Change
from bootscope.techniques.model import Measured, Recipe, Technique

from .lab_scenes import stock
from .search_scenes import FakeBench, Make, Scene, made_up, removals

MS = 1_000_000


class Overlapping(FakeBench):
    """A bench on which EARLY=on saves nothing beside LATE=on."""

    def saved(self, symbols: frozenset[str]) -> int:
        worth = super().saved(symbols)
        return worth - self.worth["EARLY=on"] if {"EARLY=on", "LATE=on"} <= symbols else worth


@pytest.fixture
def overlapping(scene: Make) -> EmulatedSearch:
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
    rows = {name: Measured(name, "", saving_ns=ns * MS, works=True) for name, ns in alone.items()}
    monkeypatch.setattr(pareto_module, "measured", lambda: rows)
    found = (*removals("part1", loses=("usb",)), *removals("part2", loses=("console",)))
    search = scene(*found).search({"PART1=n": 20, "PART2=n": 10})
    search.run()
    (point_,) = (p for p in pareto(search, []) if p.keeps == "console")
    assert (search.base.total_ns - point_.total_ns) // MS == kept


def test_abilities_are_counted_together(scene: Make) -> None:
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


def conducted(scene: Make, options: Options, *found: Technique, worth: dict[str, int]) -> Result:
    here = scene(*found)
    bench = FakeBench(here.store, worth)
    journal = Journal(here.store.root, "stock")
    return search_emulated(bench, journal, stock(), options, 1, here.told.append)


def test_beside_the_fastest_stands_the_fastest_that_keeps_something(scene: Make) -> None:
    found = (
        made_up("quiet", "kernel", "all", loses=("console",)),
        made_up("less", "kernel", conflicts=("quiet",)),
        made_up("good", "init"),
        made_up("bad", "init"),
    )
    worth = {"QUIET=all": 50, "LESS=on": 20, "GOOD=on": 10, "BAD=on": -10}
    made = conducted(scene, Options(beside=("console",)), *found, worth=worth)
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
    assert conducted(scene, Options(), made_up("good"), worth={"GOOD=on": 1}).beside is None


# ---- the account ----


def test_the_steps_lead_from_the_first_boot_to_the_last(overlapping: EmulatedSearch) -> None:
    made = everything(overlapping)
    steps = made.steps
    assert [(s.came, s.went) for s in steps] == [
        (("early",), ()), (("late",), ()), (("other",), ()), ((), ("early",)),
    ]  # fmt: skip
    assert steps[0].before_ns == made.base.total_ns
    assert steps[-1].after.total_ns == made.final.total_ns
    assert all(a.after.total_ns == b.before_ns for a, b in itertools.pairwise(steps))
    assert sum(s.saving_ns for s in steps) == made.base.total_ns - made.final.total_ns
    assert sum(b - a for _, b, a in made.phases) == sum(s.saving_ns for s in steps)


def test_what_was_accepted_in_the_end_is_not_among_the_refused(overlapping: EmulatedSearch) -> None:
    first = overlapping.experiments[0]
    refused = [replace(first, refusal=f"no {n}", techniques=("bad",)) for n in (1, 2)]
    overlapping.experiments = [replace(first, refusal="not yet"), *overlapping.experiments, *refused]
    assert [(e.techniques, e.refusal) for e in everything(overlapping).refused] == [(("bad",), "no 2")]


def test_the_account_as_json(overlapping: EmulatedSearch) -> None:
    made = everything(overlapping)
    found = json.loads(msgspec.json.encode(document(made)))
    assert found["accepted"] == ["late", "other"]
    assert found["base_ns"] - found["final_ns"] == 35 * MS
    assert [e["accepted"] for e in found["experiments"]] == [True, True, True]
    assert found["experiments"][0]["technique"] == "early"
    assert found["ablation"][0] == {
        "technique": "early", "worth_ns": 0, "dropped": True, "why": "", "run_id": made.final.run_id,
    }  # fmt: skip
    assert found["floor"]["floor_ns"] <= found["final_ns"]
    assert found["pareto"][0]["total_ns"] == found["final_ns"]
    assert found["pareto"][0]["measured"] is True
    assert found["beside"] is None


def printed(a: Result, width: int = 120) -> str:
    out = io.StringIO()
    show(Console(file=out, width=width, highlight=False), a)
    return out.getvalue()


def test_the_account_on_a_terminal(overlapping: EmulatedSearch) -> None:
    text = printed(everything(overlapping))
    assert "(without early)" in text
    assert "early: taken out" in text
    assert "nothing is left to try" in text
    assert max(map(len, printed(everything(overlapping), 60).splitlines())) <= 60


def hostile(scene: Make) -> Result:
    """Refusals as tools and targets would like to write them."""
    here = scene(made_up("good"), made_up("bad"))
    search = here.search({"GOOD=on": 5}, wrong={"BAD=on": "build"})
    search.run()
    (bad,) = (n for n, e in enumerate(search.experiments) if not e.accepted)
    text = "<script>alert(1)</script>\x1b[31m\x00</style>" + "x" * 5000
    search.experiments[bad] = replace(search.experiments[bad], refusal=text)
    return everything(search)


class Reader(HTMLParser):
    """Collects what an HTML page consists of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]


def test_the_report_asks_for_nothing_and_runs_nothing(overlapping: EmulatedSearch) -> None:
    text = render(everything(overlapping))
    page = Reader(text)
    assert "script" not in page.tags
    assert all(link.startswith(("#", "data:")) for link in page.links)
    assert "http://" not in text
    assert "https://" not in text
    assert "default-src 'none'" in text
    assert "prefers-color-scheme: dark" in text


def test_the_report_tells_it_all(overlapping: EmulatedSearch) -> None:
    made = everything(overlapping)
    text = render(made)
    for e in made.search.experiments:
        assert e.verdict
        assert e.verdict.base.run_id in text
    for words in (
        "early",
        "taken out",
        "nothing is left to try",
        "Every experiment",
        "floor",
        "capabilities",
    ):
        assert words in text
    assert "search2" not in text


def test_a_report_of_two_searches_shows_both(scene: Make) -> None:
    found = (made_up("quiet", loses=("console",)), made_up("good", "init"))
    made = conducted(scene, Options(beside=("console",)), *found, worth={"QUIET=on": 50, "GOOD=on": 10})
    text = render(made)
    assert 'id="search2"' in text
    assert "keeping console" in text
    assert "and keeping console:" in printed(made)


def test_no_text_is_markup_or_reaches_a_terminal(scene: Make) -> None:
    made = hostile(scene)
    text = render(made)
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert "\x1b" not in text + printed(made)
    assert "x" * (search_html.MAX_REASON + 1) not in text


# ---- as files, and as a verb ----


def test_the_report_lies_beside_the_files(overlapping: EmulatedSearch, tmp_path: Path) -> None:
    made = everything(overlapping)
    system = overlapping.bench.system(overlapping.accepted).system
    catalogue = {name: Change(command_line=("quiet",)) for name in ("kernel-quiet",)}
    names = write(tmp_path / "out", system, catalogue, {"report.html": render(made)})
    assert names == ["README.md", "command-line-words.txt", "command-line.txt", "report.html"]


@pytest.fixture
def asked(scene: Make, monkeypatch: pytest.MonkeyPatch, store: Store) -> Callable[..., Options]:
    """Runs the verb with some arguments; returns the options that it made of them."""
    here: Scene = scene(made_up("good"))
    caught: list[Options] = []

    def stand_in(_bench: object, journal: Journal, _loaded: object, options: Options, *_: Any) -> Result:
        caught.append(options)
        made = here.search({"GOOD=on": 5})
        made.run()
        return everything(made)

    monkeypatch.setattr(verb, "search_emulated", stand_in)
    monkeypatch.setattr(verb, "store_dir", lambda: store.root)
    monkeypatch.setattr(verb, "cache_dir", lambda: store.root.parent / "cache")

    def run(*arguments: str) -> Options:
        args = parser(["optimize"]).parse_args(["optimize", "stock", *arguments])
        assert args.do(args) == 0
        return caught[-1]

    return run


def test_what_is_asked_for_is_done(asked: Callable[..., Options]) -> None:
    assert asked() == Options()
    found = asked("--goal", "2000", "--keep", "usb,login", "--budget", "90m", "--beside", "console")
    assert found == Options(Goal(2_000 * MS, 5400, ("usb", "login")), beside=("console",))
    found = asked("--ablate", "--pareto", "--only", "kernel-quiet", "uboot-trim")
    assert found == Options(Goal(only=("kernel-quiet", "uboot-trim")), ablate=True, measure_pareto=True)


def test_a_search_goes_on_as_it_was_asked(asked: Callable[..., Options]) -> None:
    first = asked("--goal", "2000", "--keep", "usb", "--pareto", "--only", "kernel-quiet")
    assert asked("--resume") == first
    shorter = asked("--resume", "--budget", "5s")
    assert shorter == Options(Goal(2_000 * MS, 5, ("usb",), ("kernel-quiet",)), measure_pareto=True)
    assert asked("--resume") == shorter
    assert asked() == Options()


def test_there_must_be_a_search_to_go_on_with(asked: Callable[..., Options]) -> None:
    with pytest.raises(UserError, match="no search of stock"):
        asked("--resume")


@pytest.mark.parametrize(
    "arguments", ["--keep everything", "--beside usb,no", "--budget soon", "--only x", "--goal 0"]
)
def test_what_makes_no_sense_is_refused(asked: Callable[..., Options], arguments: str) -> None:
    with pytest.raises(UserError):
        asked(*arguments.split())
