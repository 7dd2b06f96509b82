# SPDX-License-Identifier: Apache-2.0
"""The page of a run of many boots in a browser: all of it is in sight, on a desk and on a phone."""

from __future__ import annotations

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

from bootscope.analysis.samples import MILESTONE, PHASE, WHOLE, BootTimes, Quantity, SampleSet
from bootscope.report.consoles import MOST_LINES, consoles
from bootscope.report.html import render
from bootscope.report.shown import Shown
from bootscope.timeline.trace import Point, Span, Trace, Track

MS = 1_000_000


def run() -> SampleSet:
    """Ten boots; the last one is late."""
    boots = []
    for number in range(1, 11):
        ns = 5_000 * MS + number % 4 * MS + (180 * MS if number == 10 else 0)
        times = {Quantity(MILESTONE, "login"): ns, Quantity(PHASE, "init"): ns // 2, WHOLE: ns}
        boots.append(BootTimes(f"20261123-120000-desk/{number:03}", times))
    return SampleSet("20261123-120000-a-board-with-a-name-that-is-rather-long", tuple(boots), until="login")


@pytest.mark.parametrize("width", [400, 1280])
def test_every_boot_is_in_sight(browser: Browser, tmp_path: Path, width: int) -> None:
    path = tmp_path / "run.html"
    path.write_text(render([Shown(Trace("boot", "a clock", 5_000 * MS), run=run())]))
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(path.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    boxes = [dot.bounding_box() for dot in page.locator(".dots circle").all()]
    assert len(boxes) == 10
    assert all(box and box["x"] >= 0 and box["x"] + box["width"] <= width for box in boxes)
    lefts = [box["x"] for box in boxes if box]
    assert max(lefts) == lefts[9]
    assert page.locator(".dots circle.outlier").count() == 1
    band, line = (page.locator(name).bounding_box() for name in (".dots .known", ".dots .middle"))
    assert band
    assert line
    assert band["x"] - 1 <= line["x"] <= band["x"] + band["width"] + 1
    page.close()


@pytest.mark.parametrize("width", [400, 1400])
def test_two_boots_lie_over_each_other(browser: Browser, tmp_path: Path, width: int) -> None:
    path = tmp_path / "two.html"

    def boot(name: str, kernel_ms: int) -> Trace:
        phases = (Span(0, 2_000 * MS, "spl"), Span(2_000 * MS, (2_000 + kernel_ms) * MS, "kernel"))
        return Trace(name, "a clock", (2_000 + kernel_ms) * MS, (Track("p", "phase", "p", phases),))

    path.write_text(render([boot("before", 3_000), boot("after", 1_000)]))
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(path.as_uri())
    page.wait_for_selector("#boot2 .timeline[data-to]")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    bars = [bar.bounding_box() for bar in page.locator("#overlay .over").first.locator(".bars i").all()]
    before, after = (bars[n + 1] for n in (0, 2))
    assert before and after
    assert before["x"] == pytest.approx(after["x"], abs=1)
    assert before["width"] == pytest.approx(3 * after["width"], rel=0.02)
    fall = page.locator(".falls .bars i.saves").bounding_box()
    assert fall and fall["width"] == pytest.approx(before["width"] * 2 / 3, rel=0.2)
    assert [fault["id"] for fault in Axe().run(page).response["violations"]] == []
    page.close()


def test_the_console_of_any_boot_can_be_shown(browser: Browser, tmp_path: Path) -> None:
    """Lines of other boots are text, whatever they hold; the shown boot's own lines come back."""
    path = tmp_path / "run.html"
    lines = (Point(MS, "own line", "line"),)
    others = (Point(2 * MS, "<img src=x onerror=alert(1)>", "line"), Point(3 * MS, "late", "line"))
    found = consoles(
        [
            ("boot 1", Trace("a", "c", 9 * MS, points=lines)),
            ("boot 2", Trace("b", "c", 9 * MS, points=others)),
        ]
    )
    path.write_text(render([Shown(Trace("a", "c", 9 * MS, points=lines), consoles=found)]))
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto(path.as_uri())
    page.locator(".console-boot").select_option(label="boot 2")
    assert page.locator(".console tbody code").all_inner_texts() == ["<img src=x onerror=alert(1)>", "late"]
    assert page.locator(".console img").count() == 0
    page.locator("section", has=page.locator("table.console")).locator(".find").fill("late")
    assert page.locator(".console tbody tr:visible").count() == 1
    page.locator(".console-boot").select_option(label="this boot")
    assert page.locator(".console tbody code").all_text_contents() == ["own line"]
    assert [fault["id"] for fault in Axe().run(page).response["violations"]] == []
    page.close()


def test_of_very_many_lines_the_page_says_how_many_it_lacks() -> None:
    points = tuple(Point(n, "x", "line") for n in range(MOST_LINES - 5))
    first, second = consoles([(name, Trace(name, "c", 1, points=points)) for name in ("a", "b")])
    assert (first["cut"], second["cut"]) == (0, MOST_LINES - 10)
