# SPDX-License-Identifier: Apache-2.0
"""The HTML report of a real boot in headless Chromium, as a user handles it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from bootscope.capture.store import Store
from bootscope.report.html import render
from bootscope.views import view
from tests.fixtures.stock_boot import unpack

pytestmark = pytest.mark.browser
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
         "--disable-background-networking", "--disable-component-update"]  # fmt: skip
MAX_BYTES = 3_000_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    # None is Playwright's own browser, which the set-up fetches where there is no package of one.
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the recorded stock boot among the fixtures, made now."""
    folder = tmp_path_factory.mktemp("report")
    store = Store(folder / "store")
    unpack(store)
    path = folder / "report.html"
    path.write_text(render([view(store, store.find("last"))]))
    return path


@pytest.fixture
def page(browser: Browser, report: Path) -> Iterator[Page]:
    """The report, opened offline; any message on the browser's console or any request fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    opened = context.new_page()
    troubles: list[str] = []
    opened.on("console", lambda message: troubles.append(message.text))
    opened.on("pageerror", lambda error: troubles.append(str(error)))
    opened.on(
        "request",
        lambda request: None if request.url.startswith(("file:", "data:")) else troubles.append(request.url),
    )
    opened.goto(report.as_uri())
    opened.wait_for_selector(".timeline[data-to]")
    yield opened
    context.close()
    assert troubles == []


def shown(page: Page) -> tuple[int, int]:
    """The stretch of time that the timeline shows, once it has been painted."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    box = page.locator(".timeline").first
    return int(box.get_attribute("data-from") or -1), int(box.get_attribute("data-to") or -1)


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


def test_buttons_wheel_and_keys_zoom(page: Page) -> None:
    _, whole = shown(page)
    page.click("[data-do=in]")
    start, end = shown(page)
    assert end - start == pytest.approx(whole / 2, rel=0.01)
    page.locator(".timeline").hover()
    page.mouse.wheel(0, -300)
    closer = shown(page)
    assert closer[1] - closer[0] < end - start
    page.locator(".timeline").press("ArrowLeft")
    assert shown(page)[0] < closer[0]
    page.locator(".timeline").press("0")
    assert shown(page) == (0, whole)


def test_dragging_moves(page: Page) -> None:
    page.click("[data-do=in]")
    before = shown(page)
    box = page.locator(".timeline").bounding_box()
    assert box
    page.mouse.move(box["x"] + 700, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 500, box["y"] + 100)
    page.mouse.up()
    after = shown(page)
    assert after[0] > before[0]
    assert after[1] - after[0] == pytest.approx(before[1] - before[0], rel=0.001)


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


def test_pointing_at_the_timeline_tells_what_is_there(page: Page) -> None:
    box = page.locator(".timeline").bounding_box()
    assert box
    page.mouse.move(box["x"] + 300, box["y"] + 40)
    tip = page.locator(".tip")
    assert tip.is_visible()
    assert "bootloader" in tip.inner_text()


def test_the_console_can_be_searched(page: Page) -> None:
    page.fill(".find", "mmcblk0")
    rows = page.locator(".console tbody tr:visible")
    assert 0 < rows.count() < 20
    assert all("mmcblk0" in text for text in rows.all_inner_texts())


def test_the_screen_is_shown(page: Page) -> None:
    width = page.locator("figure img").evaluate("image => image.naturalWidth")
    assert width == 800
