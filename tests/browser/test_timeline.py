# SPDX-License-Identifier: Apache-2.0
"""The timeline of a real boot in headless Chromium, as a user handles it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page

from .conftest import shown, timeline_box

pytestmark = pytest.mark.browser


def test_buttons_wheel_and_keys_zoom(page: Page) -> None:
    _, whole = shown(page)
    page.click("[data-do=in]")
    start, end = shown(page)
    assert end - start == pytest.approx(whole / 2, rel=0.01)
    page.locator(".timeline").hover(position={"x": 700, "y": 60})
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    closer = shown(page)
    assert closer[1] - closer[0] < end - start
    page.locator(".timeline").press("ArrowLeft")
    assert shown(page)[0] < closer[0]
    page.locator(".timeline").press("0")
    assert shown(page) == (0, whole)


def test_a_plain_wheel_scrolls_the_page_wherever_it_is(page: Page) -> None:
    whole = shown(page)
    page.locator(".timeline").hover(position={"x": 700, "y": 60})
    heights = []
    for _ in range(40):
        page.mouse.wheel(0, 400)
        shown(page)
        heights.append(page.evaluate("scrollY"))
    assert heights[-1] >= page.evaluate("document.documentElement.scrollHeight - innerHeight - 2")
    assert shown(page) == whole


def test_the_keys_of_perfetto_zoom_and_move(page: Page) -> None:
    timeline = page.locator(".timeline")
    _, whole = shown(page)
    timeline.press("w")
    start, end = shown(page)
    assert end - start == pytest.approx(whole / 2, rel=0.01)
    timeline.press("a")
    assert shown(page)[0] < start
    timeline.press("d")
    assert shown(page)[0] == pytest.approx(start, abs=2)
    timeline.press("s")
    assert shown(page) == (0, whole)


def drag(page: Page, y: int, start_x: int, end_x: int) -> None:
    """Drags over the first timeline, from one place of it to another."""
    box = timeline_box(page)
    page.mouse.move(box["x"] + start_x, box["y"] + y)
    page.mouse.down()
    page.mouse.move(box["x"] + end_x, box["y"] + y, steps=4)
    page.mouse.up()


def test_dragging_with_shift_moves(page: Page) -> None:
    page.click("[data-do=in]")
    before = shown(page)
    page.keyboard.down("Shift")
    drag(page, 100, 700, 500)
    page.keyboard.up("Shift")
    after = shown(page)
    assert after[0] > before[0]
    assert after[1] - after[0] == pytest.approx(before[1] - before[0], rel=0.001)
    assert page.locator(".details").is_hidden()


def test_dragging_measures(page: Page) -> None:
    whole = shown(page)
    drag(page, 100, 500, 700)
    assert shown(page) == whole
    details = page.locator(".details")
    assert details.locator("h4").inner_text().endswith(" s measured")
    told = {
        r.locator("th").inner_text(): r.locator("td").inner_text()
        for r in details.locator("table:not(.inner) tr").all()
    }
    start, end = (float(told[name].removesuffix(" s")) for name in ("from", "to"))
    assert details.locator("h4").inner_text() == f"{end - start:.3f} s measured"
    parts = sum(
        length_of(told[kind]) for kind in ("cpu", "storage", "console", "idle", "fixed") if kind in told
    )
    assert parts == pytest.approx(end - start, rel=1e-3)
    assert details.locator(".inner tr").count() > 3
    details.get_by_text("zoom to it").click()
    seen = shown(page)
    assert (seen[1] - seen[0]) / 1e9 == pytest.approx(1.2 * (end - start), rel=0.01)
    page.locator(".timeline").press("Escape")
    assert details.is_hidden()


def length_of(text: str) -> float:
    """`1.234 s (12.3 %)` or `12.345 ms (...)` in seconds."""
    figure, unit = text.split()[:2]
    return float(figure) * {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}[unit]


def test_flags_pins_and_a_link_that_restores_them(page: Page, browser: Browser) -> None:
    box = timeline_box(page)
    page.mouse.click(box["x"] + 500, box["y"] + 8)
    page.locator(".timeline").press("w")
    page.locator(".name", has_text="storage").first.locator(".pin").focus()
    page.keyboard.press("Enter")
    assert page.locator(".pins .name").inner_text().startswith("storage")
    page.fill(".seek", "mmcblk0")
    page.press(".seek", "Enter")
    chosen, seen = page.locator(".details h4").inner_text(), shown(page)
    while "q=mmcblk0" not in page.url:
        shown(page)
    again = browser.new_page(viewport={"width": 1280, "height": 900})
    again.goto(page.url)
    again.wait_for_selector(".timeline[data-to]")
    assert shown(again) == seen
    assert again.locator(".details h4").inner_text() == chosen
    assert again.locator(".seek").input_value() == "mmcblk0"
    assert again.evaluate("timelines[0].flags") == page.evaluate("timelines[0].flags") != []
    assert again.locator(".pins .name").count() == 1
    again.close()


def test_a_link_that_fits_nothing_is_passed_over(page: Page, browser: Browser) -> None:
    whole = shown(page)
    again = browser.new_page(viewport={"width": 1280, "height": 900})
    troubles: list[str] = []
    again.on("pageerror", lambda error: troubles.append(str(error)))
    again.goto(page.url.split("#")[0] + "#view=1;t=9e99,1;s=99999,-5;m=NaN,2;f=1,x,-3;p=777;q=%E0%A4%A;=;<b>")
    again.wait_for_selector(".timeline[data-to]")
    assert shown(again) == whole
    assert again.locator(".details").is_hidden()
    assert troubles == []
    again.close()


def test_pointing_at_the_timeline_tells_what_is_there(page: Page) -> None:
    box = timeline_box(page)
    page.mouse.move(box["x"] + 300, box["y"] + 40)
    tip = page.locator(".tip")
    assert tip.is_visible()
    assert "bootloader" in tip.inner_text()


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
    box = timeline_box(page)
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


def test_found_spans_are_listed_by_duration(page: Page) -> None:
    page.fill(".seek", "read root file system")
    rows = page.locator(".found-list tr")
    rows.first.wait_for()
    lengths = [length_of(text) for text in page.locator(".found-list td:last-child").all_inner_texts()]
    assert len(lengths) > 3 and lengths == sorted(lengths, reverse=True)
    assert page.locator(".details h4").inner_text() == f"{len(lengths)} found"
    longest = page.locator(".found-list td:last-child").first.inner_text()
    rows.first.locator("button").click()
    assert longest in page.locator(".details tr", has_text="length").inner_text()
    page.click("[data-list]")
    assert page.locator(".found-list tr").count() == len(lengths)


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
    box = timeline_box(page)
    row = page.locator(".names .name", has_text="console").first.bounding_box()
    assert row
    top = int(row["y"] - box["y"] - 80) + 3
    seeding, printing = (coloured(page, "body", at_ns, top, 12) for at_ns in (8_500_000_000, 5_300_000_000))
    assert 0.02 < seeding["console"] < 0.5
    assert printing["console"] > 0.7
