# SPDX-License-Identifier: Apache-2.0
"""The result of a search: its steps, as JSON, on a terminal and as a page."""

from __future__ import annotations

import io
import itertools
import json
from dataclasses import replace
from html.parser import HTMLParser

import msgspec
from rich.console import Console

from bootscope.report import search_html
from bootscope.report.search_html import render
from bootscope.report.search_result import document, show
from bootscope.search.emulated import EmulatedSearch
from bootscope.search.result import Result
from bootscope.search.session import Options

from .finished_search import everything, searched
from .search_scenes import Make, made_up

MS = 1_000_000


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


def test_the_result_as_json(overlapping: EmulatedSearch) -> None:
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


def test_the_result_on_a_terminal(overlapping: EmulatedSearch) -> None:
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
    made = searched(scene, Options(beside=("console",)), *found, worth={"QUIET=on": 50, "GOOD=on": 10})
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
