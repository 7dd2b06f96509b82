# SPDX-License-Identifier: Apache-2.0
"""The page of a history of 500 runs in headless Chromium: soon there, no requests, narrow and dark."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from bootscope.history.segments import exact_segments
from bootscope.history.series import COMMIT, Line, Point, Series
from bootscope.report.history_html import render

from .quiet import quiet
from .test_report import faults

pytestmark = pytest.mark.browser
COUNT = 500
FIRST = datetime(2026, 1, 1, tzinfo=UTC)


def point(number: int) -> Point:
    ns = 10_000_000_000 + (5_000_000 if number >= 300 else 0) + (200_000 if number >= 400 else 0)
    name, at = f"{number:040x}", FIRST + timedelta(hours=8 * number)
    return Point(
        name, at, (f"run{number}",), ns, ns, ns, 1, True, {"kernel": ns}, f"a change <b>{number}</b>"
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page."""
    points = tuple(map(point, range(COUNT)))
    segments = exact_segments([p.ns for p in points])
    found = Series(Line("gw", "cubieboard", "main"), "first-frame", COMMIT, points, segments, True)
    path = tmp_path_factory.mktemp("history") / "history.html"
    path.write_text(render(found))
    return path


@pytest.fixture(params=[("light", 1280), ("dark", 1280), ("light", 390)], ids=str)
def page(browser: Browser, written: Path, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The page, opened offline; any message on the browser's console or any request fails the test."""
    scheme, width = request.param
    with quiet(
        browser, viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
    ) as opened:
        opened.goto(written.as_uri())
        yield opened


def test_nothing_is_wider_than_the_window_and_no_rule_is_broken(page: Page) -> None:
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert faults(page) == []


def test_all_points_levels_and_changes_are_drawn(page: Page) -> None:
    assert page.locator("circle").count() == COUNT
    assert page.locator("line.level").count() == 3
    assert page.locator("#changes tbody tr").count() == 2
    first = page.locator("#changes tbody tr").first
    assert "+200.0 µs" in first.inner_text()
    assert "a change <b>400</b>" in first.inner_text()


@pytest.mark.alone
def test_500_runs_are_shown_within_2_seconds(browser: Browser, written: Path) -> None:
    with quiet(browser, offline=True) as opened:
        opened.goto(written.as_uri())
        took_ms = opened.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
    assert 0 < took_ms < 2_000
