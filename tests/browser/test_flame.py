# SPDX-License-Identifier: Apache-2.0
"""The flame graph of a real boot in headless Chromium: left heavy, in order of time, as a sandwich."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from bootscope.report.html import render
from bootscope.timeline.trace import Span, Stack, StackAt, Trace, Track

from .conftest import shown

pytestmark = pytest.mark.browser
BARS = "flames[0].bars.map((b) => ({ name: flames[0].tree.name(b.i), ...b }))"


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


MS = 1_000_000
PATHS = (
    ("spl", "SPL", "board_init_f", "memcpy"),
    ("kernel", "swapper", "start_kernel", "setup_arch", "memcpy"),
    ("kernel", "swapper", "start_kernel", "mem_init"),
    ("kernel", "init[1]", "initcall a", "probe", "memcpy", "memset"),
    ("kernel", "init[1]", "initcall a", "probe", "memcpy"),
)


def boot() -> Trace:
    """A boot of 200 samples, a ms apart, with a pause of 50 ms in the middle in which no code ran."""
    moments = [n * MS for n in range(100)] + [(150 + n) * MS for n in range(100)]
    sampled = tuple(StackAt(at, PATHS[n // 40]) for n, at in enumerate(moments))
    phases = (Span(0, 40 * MS, "spl"), Span(40 * MS, 250 * MS, "kernel"))
    stacks = tuple(Stack(path, 40 * MS) for path in PATHS)
    return Trace("b", "c", 250 * MS, (Track("p", "phase", "p", phases),), stacks=stacks, sampled=sampled)


@pytest.fixture
def flame(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    path = tmp_path / "flame.html"
    path.write_text(render([boot()]))
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    opened.goto(path.as_uri())
    opened.wait_for_selector(".timeline[data-to]")
    yield opened
    opened.close()


def bars(page: Page) -> list[dict[str, Any]]:
    """The bars that are painted: name, x and width in pixels, row, and times in ns."""
    shown(page)
    found: list[dict[str, Any]] = page.evaluate(BARS)
    return found


def test_in_order_of_time_bars_stand_where_they_ran(flame: Page) -> None:
    flame.click("[data-mode=time]")
    found = bars(flame)
    times = [(b["name"], b["start"] // MS, b["end"] // MS) for b in sorted(found, key=lambda b: b["start"])]
    assert [t for t in times if t[0] in ("spl", "kernel")] == [
        ("spl", 0, 40), ("kernel", 40, 101), ("kernel", 150, 250),
    ]  # fmt: skip
    # Neighbours in the same frame are one bar; it ends where no code ran.
    assert [t for t in times if t[0] == "start_kernel"] == [
        ("start_kernel", 40, 101),
        ("start_kernel", 150, 170),
    ]
    width = flame.locator(".flame").evaluate("e => e.clientWidth")
    assert max(b["x"] + b["width"] for b in found) == pytest.approx(width, abs=1)
    flame.locator(".flame-phase").select_option(index=1)
    assert {b["name"] for b in bars(flame) if b["row"] == 0} == {"spl"}


def test_each_bar_lies_within_the_one_above_it(flame: Page) -> None:
    flame.click("[data-mode=time]")
    found = bars(flame)
    for bar in found:
        outer = [b for b in found if b["row"] == bar["row"] - 1]
        assert not bar["row"] or any(o["start"] <= bar["start"] and bar["end"] <= o["end"] for o in outer), (
            bar
        )


def test_a_sandwich_shows_callers_above_and_callees_below(flame: Page) -> None:
    flame.click("[data-mode=sandwich]")
    flame.locator(".flame-functions tbody tr", has_text="memcpy").first.locator("button").click()
    found = bars(flame)
    width = flame.locator(".flame").evaluate("e => e.clientWidth")
    middle = next(b for b in found if b["name"] == "memcpy")
    assert (middle["width"], middle["ns"]) == (pytest.approx(width), 160 * MS)
    callers = {b["name"]: b["ns"] // MS for b in found if b["row"] == middle["row"] - 1}
    assert callers == {"board_init_f": 40, "setup_arch": 40, "probe": 80}
    assert {b["name"]: b["ns"] // MS for b in found if b["row"] == middle["row"] + 1} == {"memset": 40}
    assert flame.locator(".frame-told").inner_text().startswith("memcpy: who called it above")


def test_functions_have_their_own_time_and_that_of_what_they_call(flame: Page) -> None:
    flame.click("[data-mode=sandwich]")
    rows = flame.locator(".flame-functions tbody tr")
    told = {r.locator("th").inner_text(): r.locator("td").all_inner_texts() for r in rows.all()}
    assert told["memcpy"] == ["120.000 ms", "60.0 %", "160.000 ms", "80.0 %"]
    assert told["probe"] == ["0 ns", "0.0 %", "80.000 ms", "40.0 %"]


def test_without_samples_there_is_no_order_of_time(page: Page) -> None:
    assert page.locator("[data-mode=time]").is_hidden()


def test_stalls_have_a_flame_graph_of_their_own(browser: Browser, tmp_path: Path) -> None:
    waits = tuple(Stack(path, (n + 1) * MS) for n, path in enumerate(PATHS))
    path = tmp_path / "stalls.html"
    path.write_text(render([replace(boot(), stalls=waits)]))
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(path.as_uri())
    page.wait_for_selector(".timeline[data-to]")
    assert page.locator("section.flames h3").all_inner_texts() == [
        "Flame graph", "Flame graph of waiting for memory",
    ]  # fmt: skip
    shown(page)
    told = page.locator(".frame-told").all_inner_texts()
    assert told[0].startswith("all: 200.000 ms") and told[1].startswith("all: 15.000 ms")
    # It has no order of time, and phases are as wide as they wait.
    assert page.locator("section.flames").nth(1).locator("[data-mode=time]").is_hidden()
    tree = "flames[1].tree"
    waited = page.evaluate(f"{tree}.children[0].map((i) => [{tree}.name(i), {tree}.total[i]])")
    assert dict(waited) == {"spl": 1 * MS, "kernel": 14 * MS}
    page.close()
