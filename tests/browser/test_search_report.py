# SPDX-License-Identifier: Apache-2.0
"""The report of a search in headless Chromium: no requests, narrow windows, dark screens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from bootscope.report.search_html import render
from bootscope.search.pareto import pareto
from bootscope.search.result import result_of
from bootscope.search.session import ablate
from tests.unit.search_scenes import Scene, made_up, removals

from .quiet import quiet
from .test_report import faults

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The report of a search on a bench that only pretends, with all that a report may have."""
    folder = tmp_path_factory.mktemp("search")
    found = [
        made_up("first", "application", loses=("console",)), made_up("good", "init"), made_up("bad", "init"),
        made_up("broken", "filesystem"), *removals("part1", "part2", "part3", loses=("usb",)),
    ]  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        scene = Scene(folder, patch, found)
        worth = {"FIRST=on": 900, "GOOD=on": 700, "BAD=on": -3, "PART1=n": 20, "PART2=n": 30, "PART3=n": 5}
        search = scene.search(worth, wrong={"BROKEN=on": "build"})
        search.run()
        worths = ablate(search, True)
        path = folder / "report.html"
        path.write_text(render(result_of(search, worths, pareto(search, worths), 3.0)))
        scene.close()
        yield path


@pytest.fixture(params=[("light", 1280), ("dark", 1280), ("light", 390)], ids=str)
def page(browser: Browser, report: Path, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The report, opened offline; any message on the browser's console or any request fails the test."""
    scheme, width = request.param
    view = {"width": width, "height": 900}
    with quiet(browser, viewport=view, color_scheme=scheme, offline=True) as opened:
        opened.goto(report.as_uri())
        yield opened


def test_nothing_is_wider_than_the_window(page: Page) -> None:
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_no_rule_of_accessibility_is_broken(page: Page) -> None:
    assert faults(page) == []


def test_bars_are_as_long_as_the_boots_they_stand_for(page: Page) -> None:
    rows = page.locator(".fall .stack")
    assert rows.count() == 1 + 3
    lengths = [
        rows.nth(n).evaluate(
            "row => [...row.querySelectorAll('i:not(.saved)')].reduce((sum, i) => sum + i.offsetWidth, 0)"
        )
        for n in range(rows.count())
    ]
    whole = rows.first.evaluate("row => row.clientWidth")
    times = [float(text) for text in page.locator(".fall .time:not(.head)").all_inner_texts()]
    assert all(abs(length - whole * t / times[0]) < 10 for length, t in zip(lengths, times, strict=True))


def test_text_stands_out_from_its_ground(page: Page) -> None:
    def brightness(selector: str, name: str) -> float:
        colour = page.locator(selector).first.evaluate(f"e => getComputedStyle(e).{name}")
        red, green, blue = (int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(","))
        return 0.3 * red + 0.6 * green + 0.1 * blue

    ground = brightness("body", "backgroundColor")
    for selector in ("body", ".accepted", ".refused", ".fall .saves:not(.head)"):
        assert abs(brightness(selector, "color") - ground) > 70


def test_every_experiment_has_its_verdict(page: Page) -> None:
    verdicts = page.locator("table.all tbody b").all_inner_texts()
    assert sorted(set(verdicts)) == ["accepted", "refused"]
    assert page.get_by_text("/logs/x.txt").count() >= 1
