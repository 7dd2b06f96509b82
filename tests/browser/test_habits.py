# SPDX-License-Identifier: Apache-2.0
"""What people who know other viewers do first, and what a page owes to any screen."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from bootscope.report.html import render
from bootscope.timeline.trace import Table, Trace

from .conftest import shown
from .quiet import quiet
from .test_report import faults

pytestmark = pytest.mark.browser
NAMES = """() => { const t = timelines[0], v = t.view();
  return [milestoneNames(t.model.milestones, v), t.model.milestones.map(([, ns]) => v.x(ns))]; }"""


def test_the_next_key_selects_before_anything_was_clicked_and_shows_it_beside(page: Page) -> None:
    page.evaluate("document.querySelector('#timeline1').scrollIntoView()")
    page.locator(".timeline").focus()
    page.keyboard.press("n")
    panel = page.locator(".details")
    expect(panel).to_be_visible()
    box, timeline = panel.bounding_box(), page.locator(".timeline").bounding_box()
    assert box and timeline
    assert box["y"] + box["height"] <= 900
    assert box["x"] >= timeline["x"] + timeline["width"]


def test_the_contents_lead_to_what_they_name_and_colours_are_explained(page: Page) -> None:
    links = page.locator("nav a").evaluate_all("links => links.map(a => a.getAttribute('href'))")
    assert len(links) > 6
    assert all(page.locator(link).count() == 1 for link in links)
    legend = page.locator(".legend").first.inner_text()
    assert all(kind in legend for kind in ("cpu", "storage", "console", "idle", "fixed"))


def test_a_head_of_a_table_stays_while_its_rows_scroll(page: Page) -> None:
    box = page.locator(".scroll", has=page.locator("table.console"))
    box.evaluate("e => { e.scrollIntoView(); e.scrollTop = 2000; }")
    head, frame = box.locator("thead th").first.bounding_box(), box.bounding_box()
    assert head and frame
    assert abs(head["y"] - frame["y"]) <= 2


def test_a_large_screen_is_used_and_a_dark_one_is_readable(browser: Browser, report: Path) -> None:
    with quiet(browser, viewport={"width": 1920, "height": 1080}, color_scheme="dark") as page:
        page.goto(report.as_uri())
        page.wait_for_selector(".timeline[data-to]")
        box = page.locator(".timeline").bounding_box()
        assert box and box["width"] > 1800
        assert faults(page) == []


@pytest.mark.parametrize("width", [390, 1400])
def test_a_name_of_a_milestone_stands_beside_its_line_and_across_no_other(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    shown(page)
    names, lines = page.evaluate(NAMES)
    assert names[0]["name"] == "first-frame"
    for name in names:
        left, right, x = name["left"], name["left"] + name["width"], name["x"]
        assert abs(left - x) <= 5 or abs(right - x) <= 5, name
        assert not [line for line in lines if left < line < right and abs(line - x) > 14], name
    for a, b in pairwise(names):
        assert b["left"] + b["width"] <= a["left"] or a["left"] + a["width"] <= b["left"]


def test_a_table_with_a_total_has_it_as_its_foot(page: Page) -> None:
    floor = page.locator("section", has=page.get_by_role("heading", name="Lower bound")).locator("table")
    cells = floor.locator("tfoot th, tfoot td").all_inner_texts()
    assert cells[0] == "total"
    shares = [
        float(text.replace(",", "")) for text in floor.locator("tbody td:nth-child(3)").all_inner_texts()
    ]
    assert float(cells[2].replace(",", "")) == pytest.approx(sum(shares), abs=0.01)
    assert "<tfoot>" not in render([Trace("t", "c", 1, tables=(Table("a", ("b",), (("c",),)),))])
