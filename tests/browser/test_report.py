# SPDX-License-Identifier: Apache-2.0
"""The HTML report of a real boot in headless Chromium, as a user handles it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from bootscope.analysis.views import view
from bootscope.capture.store import Store
from bootscope.report.html import render
from tests.fixtures.stock_boot import unpack

from .conftest import shown

pytestmark = pytest.mark.browser
MAX_BYTES = 3_000_000


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


def test_a_search_finds_spans_and_goes_from_one_to_the_next(page: Page) -> None:
    page.fill(".seek", "read root file system")
    page.press(".seek", "Enter")
    told = page.locator(".sought")
    first = told.inner_text()
    assert first.startswith("1 of ")
    assert int(first.removeprefix("1 of ")) > 3
    before = page.locator(".details tr", has_text="start").inner_text()
    page.click("[data-seek='1']")
    assert told.inner_text() == first.replace("1 of", "2 of", 1)
    assert page.locator(".details tr", has_text="start").inner_text() != before
    page.press(".seek", "Shift+Enter")
    assert told.inner_text() == first
    page.fill(".seek", "no such span anywhere")
    page.press(".seek", "Enter")
    assert told.inner_text() == "0 found"


def test_a_found_span_is_in_sight(page: Page) -> None:
    page.fill(".seek", "first thing that is not there")
    page.press(".seek", "Enter")
    page.fill(".seek", "mmcblk0")
    page.press(".seek", "Enter")
    start, end = shown(page)
    at = float(page.locator(".details tr", has_text="start").locator("td").inner_text().split()[0]) * 1e9
    assert start <= at <= end


def test_a_click_shows_the_details_and_keys_go_on(page: Page) -> None:
    box = page.locator(".timeline").bounding_box()
    assert box
    page.mouse.click(box["x"] + 400, box["y"] + 50)
    details = page.locator(".details")
    assert details.locator("h4").inner_text() == "bootloader"
    assert "3.16" in details.locator("tr", has_text="cpu").inner_text()
    page.locator(".timeline").press("n")
    assert details.locator("h4").inner_text() == "load"
    page.locator(".timeline").press("p")
    assert details.locator("h4").inner_text() == "bootloader"
    page.locator(".timeline").press("Enter")
    start, end = shown(page)
    length = float(details.locator("tr", has_text="length").locator("td").inner_text().split()[0]) * 1e9
    assert end - start == pytest.approx(1.2 * length, rel=0.01)
    page.locator(".timeline").press("Escape")
    assert details.is_hidden()


def test_a_drag_is_no_click(page: Page) -> None:
    page.click("[data-do=in]")
    box = page.locator(".timeline").bounding_box()
    assert box
    page.mouse.move(box["x"] + 700, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + 600, box["y"] + 50)
    page.mouse.up()
    assert page.locator(".details").is_hidden()


def test_the_flame_graph_zooms_by_phase_by_click_and_by_key(page: Page) -> None:
    told, select = page.locator(".frame-told"), page.locator(".flame-phase")
    assert told.inner_text().startswith("all: 10.")
    select.select_option(index=1)
    phase = told.inner_text().split(":")[0]
    assert select.locator("option:checked").inner_text().startswith(f"{phase} (")
    flame = page.locator(".flame")
    flame.press("ArrowDown")
    child = told.inner_text()
    assert child.startswith(f"{phase} › ")
    flame.press("Enter")
    flame.press("ArrowUp")
    assert told.inner_text().startswith(f"{phase}: ")
    flame.press("Escape")
    assert told.inner_text().startswith("all: ")
    box = flame.bounding_box()
    assert box
    page.mouse.click(box["x"] + 20, box["y"] + 29)
    assert told.inner_text() != "all: " and " › " not in told.inner_text()
    assert select.input_value() != "0"


def test_the_flame_graph_can_be_searched(page: Page) -> None:
    page.fill(".flame-seek", "decompressor")
    assert page.locator(".frame-told").inner_text().endswith("1 found, 403.842 ms, 3.8 %")


def test_everything_can_be_reached_by_keys(page: Page) -> None:
    page.locator(".timeline").focus()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.className") == "seek"
    for selector in (".timeline", ".flame", ".seek", ".flame-phase", ".find"):
        assert page.locator(selector).evaluate("e => e.tabIndex") == 0
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


def test_the_screen_is_shown(page: Page) -> None:
    width = page.locator("figure img").evaluate("image => image.naturalWidth")
    assert width == 800


COLOURED = """([canvas, at_s, top, height]) => {
  const box = document.querySelector(".timeline"), c = box.querySelector(`canvas.${canvas}`);
  const scale = devicePixelRatio, left = 168, width = box.clientWidth - left - 8;
  const from = Number(box.dataset.from) / 1e9, to = Number(box.dataset.to) / 1e9;
  const x = Math.round((left + (at_s - from) / (to - from) * width) * scale);
  const copy = document.createElement("canvas"), found = {};
  copy.width = c.width; copy.height = c.height;
  const g = copy.getContext("2d", { willReadFrequently: true });
  g.drawImage(c, 0, 0);
  const data = g.getImageData(x - 6, top * scale, 12, height * scale).data;
  const style = getComputedStyle(document.documentElement);
  for (const kind of ["cpu", "storage", "console", "idle", "fixed"]) {
    const rgb = style.getPropertyValue("--" + kind).trim().slice(1).match(/../g).map((h) => parseInt(h, 16));
    let n = 0;
    for (let i = 0; i < data.length; i += 4) {
      n += data[i + 3] > 200 && rgb.every((v, k) => Math.abs(v - data[i + k]) < 12);
    }
    found[kind] = n / (data.length / 4);
  }
  return found;
}"""


def coloured(page: Page, canvas: str, at_ns: int, top: int, height: int) -> dict[str, float]:
    """Kind -> its share of the pixels around a moment."""
    found: dict[str, float] = page.evaluate(COLOURED, [canvas, at_ns / 1e9, top, height])
    return found


def test_the_strip_under_the_phases_shows_what_each_moment_went_into(page: Page) -> None:
    """The sums of a phase, stacked from its beginning, said that it began with the CPU and ended idle."""
    shown(page)
    at = {"fixed": 100_000_000, "cpu": 2_500_000_000, "storage": 3_800_000_000, "console": 5_300_000_000}
    for kind, at_ns in at.items():
        found = coloured(page, "head", at_ns, 66, 7)
        assert max(found, key=lambda k: found[k]) == kind, (kind, found)


def test_a_line_that_stays_open_is_not_drawn_as_waiting_for_the_console(page: Page) -> None:
    """`Seeding the random number generator: ` stands there for 2.57 s, of which 1.8 ms are the line's."""
    shown(page)
    box = page.locator(".timeline").bounding_box()
    row = page.locator(".names > *", has_text="console").first.bounding_box()
    assert box and row
    top = int(row["y"] - box["y"] - 80) + 3
    seeding, printing = (coloured(page, "body", at_ns, top, 12) for at_ns in (8_500_000_000, 5_300_000_000))
    assert 0.02 < seeding["console"] < 0.5
    assert printing["console"] > 0.7
