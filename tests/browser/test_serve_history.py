# SPDX-License-Identifier: Apache-2.0
"""A history of 500 stored runs, as `bootscope serve` shows it: from the request until the page is whole.

python -m pytest -s tests/browser/test_serve_history.py
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from bootscope.capture.store import Store
from bootscope.runs.listing import listed
from tests.fixtures.measured_runs import MS, keep_run

from .quiet import quiet
from .test_report import faults
from .test_serve import Server, start, stop

pytestmark = [pytest.mark.browser, pytest.mark.alone, pytest.mark.long]
RUNS, SLOWER_FROM, LIMIT_MS = 500, 300, 2_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of runs of one board, the later ones 30 ms slower; their times were worked out before, as they
    are by whoever lists runs."""
    store = Store(tmp_path_factory.mktemp("history") / "store")
    for number in range(RUNS):
        slower = 5 * MS if number >= SLOWER_FROM else 0
        keep_run(store, number - RUNS, "gateway", step_ns=500 * MS + slower + number % 7 * MS // 10)
    assert all(each.figure for each in listed(store, store.summaries()))
    started = start(store.root)
    yield started
    assert "Traceback" not in stop(started)


def test_500_runs_are_shown_within_2_seconds(browser: Browser, server: Server) -> None:
    took_ms = []
    with quiet(browser, (server.address, "data:"), viewport={"width": 1400, "height": 900}) as page:
        page.goto(server.address)  # takes the times of all runs in
        page.wait_for_function("!document.body.innerText.includes('being worked out')")
        for _ in range(3):
            page.goto(f"{server.address}/history?board=gateway")
            entry = "performance.getEntriesByType('navigation')[0]"
            took_ms.append(page.evaluate(f"{entry}.loadEventEnd - {entry}.startTime"))
            assert page.locator("circle").count() == RUNS
        assert page.locator("line.level").count() == 2
        assert page.locator("#changes tbody tr").count() == 1
        assert faults(page) == []
    print(f"\na history of {RUNS} runs in the browser: {', '.join(f'{ms:.0f}' for ms in took_ms)} ms")
    assert max(took_ms) < LIMIT_MS
