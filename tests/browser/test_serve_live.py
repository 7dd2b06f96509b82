# SPDX-License-Identifier: Apache-2.0
"""`bootscope serve` while others write to its store: the list stays as the store is, a search is followed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from bootscope.capture.store import Store
from bootscope.search.journal import Journal
from tests.fixtures.measured_runs import Recorder, keep_run
from tests.unit.test_serve_follow import outcome

from .quiet import quiet
from .test_report import faults
from .test_serve import Server, start, stop

pytestmark = pytest.mark.browser
LATER = 30_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of a store with a run."""
    store = Store(tmp_path_factory.mktemp("served") / "store")
    keep_run(store, 1, "first")
    started = start(store.root)
    yield started
    assert "Traceback" not in stop(started)


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Page]:
    with quiet(browser, (server.address, "data:"), viewport={"width": 1400, "height": 900}) as opened:
        yield opened


def test_the_list_is_kept_as_the_store_is(server: Server, page: Page) -> None:
    store = server.store
    page.goto(server.address)
    rows = page.locator(".list tbody tr")
    expect(rows.locator(".time")).to_have_text("2.999 s", timeout=LATER)  # worked out beside
    rows.locator("input").check()
    added = keep_run(store, 2, "second")
    expect(rows).to_have_count(2, timeout=LATER)
    expect(page.locator(".told")).to_contain_text("2 of 2 runs")
    first = rows.filter(has_text="first").locator("input")
    expect(first).to_be_checked()
    expect(first).to_be_focused()
    store.label(added, {"branch": "main", "note": "<img src=x>"})
    expect(rows.locator(".label")).to_have_text(["branch=main", "note=<img src=x>"], timeout=LATER)
    recorder = Recorder(store, "third")
    expect(page.get_by_role("link", name="recording now")).to_have_count(1, timeout=LATER)
    assert faults(page) == []
    recorder.ends()
    expect(page.get_by_role("link", name="recording now")).to_have_count(0, timeout=LATER)
    for run_id in (added, recorder.run_id):
        store.remove(run_id)
    expect(rows).to_have_count(1, timeout=LATER)
    expect(rows.locator("input")).to_be_checked()


def test_a_search_is_followed_as_it_goes_on(server: Server, page: Page) -> None:
    page.goto(server.address)
    journal = Journal(server.store.root, "stock")
    journal.begin({"keep": ["modules"]})
    page.get_by_role("link", name="stock").click(timeout=LATER)
    journal.add(outcome("a", 10_000_000_000))
    rows = page.locator(".search tbody tr")
    expect(rows).to_have_count(1, timeout=LATER)
    journal.add(outcome("b", 9_000_000_000, "<b>quiet</b>"))
    expect(rows).to_have_count(2, timeout=LATER)
    expect(rows.last).to_contain_text("<b>quiet</b>")
    expect(rows.last).to_contain_text("-1.000 s")
    page.locator("details").evaluate("e => e.open = true")
    assert faults(page) == []
    for width in (390, 1400):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    expect(page.locator(".state .what")).to_have_text("running")
    expect(page.locator(".best")).to_have_text("fastest so far: 9.000 s (-1.000 s, -10.0 %): <b>quiet</b>")
    page.goto(server.address)
    expect(page.locator(".searches .label")).to_have_text("running")
    page.go_back()
    journal.end("the budget is used up")
    expect(page.locator(".state .what")).to_have_text("ended: the budget is used up", timeout=LATER)
    journal.path.unlink()
    expect(page.locator(".state .what")).to_have_text("its journal was deleted", timeout=LATER)
