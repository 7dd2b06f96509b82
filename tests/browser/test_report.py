# SPDX-License-Identifier: Apache-2.0
"""The HTML report of a real boot in headless Chromium: its answer and its tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from .conftest import shown

pytestmark = pytest.mark.browser
MAX_BYTES = 3_000_000


def test_it_is_small_and_whole(report: Path) -> None:
    text = report.read_text()
    assert len(text.encode()) < MAX_BYTES
    assert "http://" not in text
    assert "https://" not in text


def test_it_opens_with_the_whole_boot(page: Page) -> None:
    start, end = shown(page)
    assert start == 0
    assert end == pytest.approx(10.6e9, rel=0.2)
    assert page.locator("h2").inner_text() == "stock on cubieboard"


def test_the_answer_is_above_the_fold(browser: Browser, report: Path) -> None:
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto(report.as_uri())
    page.wait_for_selector(".timeline[data-to]")
    for selector in (".total", ".goes tbody tr:last-child", ".first li:last-child"):
        box = page.locator(selector).bounding_box()
        assert box and box["y"] + box["height"] <= 900, selector
    assert page.locator(".first li").count() == 5
    page.locator(".first .goto").nth(1).click()
    asked = page.locator(".first .goto").nth(1)
    wanted = (int(asked.get_attribute("data-start") or 0), int(asked.get_attribute("data-end") or 0))
    assert shown(page) == wanted
    page.close()


def test_no_rule_of_accessibility_is_broken(page: Page) -> None:
    """axe-core, on the page as it opens and with all that can be opened."""
    assert faults(page) == []
    page.locator("details").first.evaluate("e => e.open = true")
    page.fill(".seek", "read")
    page.press(".seek", "Enter")
    assert faults(page) == []


def faults(page: Page) -> list[str]:
    """What axe-core finds, each with the first element that it is about."""
    found = Axe().run(page).response["violations"]
    return [f"{fault['id']}: {fault['nodes'][0]['html'][:120]}" for fault in found]


def test_a_table_is_sorted_filtered_and_copied(page: Page) -> None:
    table = page.locator("table.figures").first
    column = table.locator("thead th button").last
    column.click()
    place = column.evaluate("e => e.closest('th').cellIndex + 1")
    cells = [
        float(t.replace(",", "") if t != "-" else 0)
        for t in table.locator(f"td:nth-child({place})").all_inner_texts()
        if t
    ]
    assert cells == sorted(cells, reverse=True)
    assert table.locator("thead th").last.get_attribute("aria-sort") == "descending"
    column.click()
    assert table.locator("thead th").last.get_attribute("aria-sort") == "ascending"
    rows = page.evaluate("new Sorted(document.querySelector('table.console')).text()").splitlines()
    assert rows[0].split("\t") == ["time s", "after", "phase", "line"]
    assert len(rows) == 1 + page.locator("table.console tbody tr").count()


def test_a_click_on_a_phase_shows_that_phase(page: Page) -> None:
    row = page.locator(".phases tbody tr", has_text="kernel").filter(has_text="kernel.start")
    row.click()
    wanted = (int(row.get_attribute("data-start") or 0), int(row.get_attribute("data-end") or 0))
    assert shown(page) == wanted


def test_the_table_has_all_phases_and_adds_up(page: Page) -> None:
    names = page.locator(".phases tbody th").all_inner_texts()
    assert names == ["rom", "spl", "bootloader", "load", "decompress", "kernel", "init", "application"]
    lengths = page.locator(".phases tbody td:nth-child(3)").all_inner_texts()
    total = page.locator(".phases tfoot td:nth-child(3)").inner_text()
    assert sum(map(float, lengths)) == pytest.approx(float(total), abs=0.004)


def test_the_console_can_be_searched(page: Page) -> None:
    page.locator("section", has=page.locator("table.console")).locator(".find").fill("mmcblk0")
    rows = page.locator(".console tbody tr:visible")
    assert 0 < rows.count() < 20
    assert all("mmcblk0" in text for text in rows.all_inner_texts())


def test_everything_can_be_reached_by_keys(page: Page) -> None:
    page.locator(".timeline").focus()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.className") == "seek"
    for selector in (".timeline", ".flame", ".seek", ".flame-phase", ".find"):
        assert page.locator(selector).first.evaluate("e => e.tabIndex") == 0
    unnamed = page.evaluate(
        "[...document.querySelectorAll('button, input, select, [tabindex]:not(tr)')].filter(e => "
        "!(e.ariaLabel || e.textContent.trim() || e.title || e.closest('label'))).map(e => e.outerHTML)"
    )
    assert unnamed == []


def test_a_narrow_screen_needs_no_sideways_scrolling(browser: Browser, report: Path) -> None:
    page = browser.new_page(viewport={"width": 360, "height": 740}, color_scheme="dark")
    page.goto(report.as_uri())
    page.wait_for_selector(".timeline[data-to]")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.locator(".timeline canvas.body").evaluate("c => c.clientWidth") > 300
    page.close()


def test_paper_is_light_whatever_the_screen_is(browser: Browser, report: Path) -> None:
    page = browser.new_page(color_scheme="dark")
    page.goto(report.as_uri())
    page.wait_for_selector(".timeline[data-to]")
    ink = "() => colours().ink"
    dark = page.evaluate(ink)
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(ink) == "#1d2430" != dark
    page.evaluate("() => dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(ink) == dark
    page.close()


def test_on_paper_nothing_is_cut_and_bars_keep_their_colours(browser: Browser, report: Path) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(report.as_uri())
    page.wait_for_selector(".timeline[data-to]")
    wide = page.locator(".timeline canvas.body").evaluate("c => c.clientWidth")
    page.emulate_media(media="print")
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    page.set_viewport_size({"width": 718, "height": 900})  # A4 between its margins
    assert page.evaluate("document.documentElement.scrollWidth") <= 718
    assert page.locator(".timeline canvas.body").evaluate("c => c.clientWidth") < 718 < wide
    bars = page.locator(".goes .bar i").evaluate_all(
        "all => all.map(e => getComputedStyle(e).printColorAdjust)"
    )
    assert set(bars) == {"exact"}
    rows = "() => Math.max(...[...document.querySelectorAll('.scroll tbody')].map(t => t.rows.length))"
    shown = rows.replace("t.rows.length", "[...t.rows].filter(r => r.offsetHeight).length")
    assert page.evaluate(rows) > 40 == page.evaluate(shown)
    page.close()


def test_the_screen_is_shown(page: Page) -> None:
    width = page.locator("figure img").evaluate("image => image.naturalWidth")
    assert width == 800
