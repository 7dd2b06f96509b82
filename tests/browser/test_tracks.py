# SPDX-License-Identifier: Apache-2.0
"""Tracks of traces made by hand in headless Chromium: nesting, opening and shutting, size, hostility."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from bootscope.report.html import render
from bootscope.timeline.trace import Span, Trace, Track
from tests.unit.traces import HOSTILE_TRACE

from .conftest import shown
from .quiet import quiet

pytestmark = pytest.mark.browser
NAMES = ".names .name > :first-child"


@pytest.fixture
def made(browser: Browser, tmp_path: Path) -> Iterator[Callable[[Trace], Page]]:
    """Opens the report of a trace; trouble on its console fails the test."""
    with quiet(browser, viewport={"width": 1280, "height": 900}, offline=True) as opened:

        def make(trace: Trace) -> Page:
            path = tmp_path / "made.html"
            path.write_text(render([trace]))
            opened.goto(path.as_uri())
            opened.wait_for_selector(".timeline[data-to]")
            shown(opened)
            return opened

        yield make


def forest(count: int) -> Trace:
    """Processes that fork each other, each with a call in it that has a call in it."""
    tracks = [
        Track(
            f"p{i}",
            "process",
            f"process {i}",
            (
                Span(10 * i, 5_000 + i, f"outer {i}", {"pid": i}),
                Span(10 * i + 10, 3_000, f"middle {i}"),
                Span(10 * i + 20, 2_000, f"inner {i}", {"file": f"/etc/file{i}", "bytes": 2_500}),
            ),
            parent=f"p{i - 1}" if i % 10 else "",
        )
        for i in range(count)
    ]
    return Trace("forest", "made", 10_000, tuple(tracks))


def test_self_time_and_the_way_up_and_down(made: Callable[[Trace], Page]) -> None:
    page = made(forest(20))
    page.fill(".seek", "/etc/file3")
    page.press(".seek", "Enter")
    details = page.locator(".details")
    assert details.locator("h4").inner_text() == "inner 3"
    rows = {r.locator("th").inner_text(): r.locator("td").inner_text() for r in details.locator("tr").all()}
    assert rows["file"] == "/etc/file3" and rows["bytes"] == "2.5 kB"
    assert rows["length"] == "1.95 µs" and rows["within"] == "middle 3"
    details.locator("tr", has_text="within").locator("button").click()
    assert details.locator("h4").inner_text() == "middle 3"
    assert "1.01 µs" in details.locator("tr", has_text="itself").inner_text()
    details.locator(".inner button").click()
    assert details.locator("h4").inner_text() == "inner 3"


def test_tracks_shut_and_open_and_a_search_opens_what_it_needs(made: Callable[[Trace], Page]) -> None:
    page = made(forest(20))
    names = page.locator(NAMES)
    assert names.first.inner_text() == "processes (2)"
    page.click("[data-do=shut]")
    shown(page)
    assert names.all_inner_texts() == ["processes (2)"]
    group = page.locator(".names .opens").first
    assert group.get_attribute("aria-expanded") == "false"
    group.press("Enter")
    shown(page)
    assert names.all_inner_texts() == ["processes (2)", "process 0", "process 10"]
    page.fill(".seek", "inner 15")
    page.press(".seek", "Enter")
    shown(page)
    assert "process 15" in names.all_inner_texts()
    assert "process 3" not in names.all_inner_texts()


def test_only_what_is_in_sight_has_elements(made: Callable[[Trace], Page]) -> None:
    page = made(forest(2_000))
    assert page.locator(NAMES).count() < 40
    page.fill(".seek", "inner 1999")
    page.press(".seek", "Enter")
    shown(page)
    assert "process 1999" in page.locator(NAMES).all_inner_texts()
    assert page.locator(NAMES).count() < 40


def test_a_hundred_thousand_spans_are_painted_in_little_time(made: Callable[[Trace], Page]) -> None:
    spans = tuple(Span(10 * i, 10 * i + 7, f"s{i % 50}") for i in range(100_000))
    page = made(Trace("t", "c", 1_000_000, (Track("a", "initcall", "a", spans),)))
    # A painting is counted in bars and not in milliseconds: machines differ.
    bars = page.evaluate(
        "() => { const t = timelines[0]; let n = 0; const g = t.canvas.getContext('2d'), real = g.fillRect;"
        " g.fillRect = function (...a) { n++; return real.apply(this, a); };"
        " t.paint(); delete g.fillRect; return n; }"
    )
    assert 0 < bars < 3_000
    page.evaluate("() => timelines[0].show(5000, 5100)")
    assert shown(page) == (5000, 5100)
    hits = page.evaluate(
        "() => [5001, 5008, 5009].map((t) => (nearest(timelines[0].model.tracks[0], 0, t, 0) || {}).index)"
    )
    assert hits == [500, None, None]


def test_nothing_in_a_hostile_trace_acts(made: Callable[[Trace], Page]) -> None:
    page = made(HOSTILE_TRACE)
    page.fill(".seek", "script")
    page.press(".seek", "Enter")
    assert "<script>" in page.locator(".details h4").inner_text()
    assert page.locator("script").count() == 2
    assert page.locator(".details img, .names img").count() == 0
    page.fill(".flame-seek", "onload")
    assert " found, " in page.locator(".frame-told").inner_text()


def test_an_empty_trace_has_a_page(made: Callable[[Trace], Page]) -> None:
    page = made(Trace("", "", 0))
    page.locator(".timeline").press("+")
    page.locator(".timeline").press("n")
    assert page.locator(".flame").count() == 0


def test_several_boots_each_have_a_timeline_of_their_own(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "two.html"
    path.write_text(render([forest(3), forest(12)]))
    page = browser.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("#boot2 .timeline[data-to]")
    page.locator("#boot2 [data-do=in]").click()
    shown(page)
    ends = [page.locator(f"#boot{n} .timeline").get_attribute("data-to") for n in (1, 2)]
    assert ends == ["10000", "7500"]
    page.close()


def test_the_length_of_a_phase_that_is_a_bound_says_so(made: Callable[[Trace], Page]) -> None:
    phases = (
        Span(0, 1_000, "kernel"),
        Span(1_000, 3_000, "init", {"length": "or more"}),
        Span(3_000, 3_500, "application", {"length": "not known"}),
    )
    page = made(Trace("t", "c", 3_500, (Track("p", "phase", "p", phases),)))
    told = page.evaluate("[0, 1, 2].map((i) => timelines[0].model.phases.length(i))")
    assert told == ["1.00 µs", "≥ 2.00 µs", "not known"]
    page.evaluate("timelines[0].reveal(timelines[0].model.phases, 1)")
    assert "≥ 2.00 µs" in page.locator(".details tr", has_text="length").first.inner_text()
