# SPDX-License-Identifier: Apache-2.0
"""The answer - where the time goes, what to do first - is in sight at once, whatever the report is of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from playwright.sync_api import Browser

from bootscope.capture.store import Store
from bootscope.report.stored import page_of
from tests.fixtures.measured_runs import ROOT, keep_run
from tests.unit.conftest import main_here, store, surroundings  # noqa: F401

from .conftest import shown
from .quiet import quiet
from .test_report import faults

pytestmark = pytest.mark.browser
Command = Callable[..., CompletedProcess[str]]
FIXTURES = ROOT / "tests/fixtures"
FIRST = ".first li:last-child"
WHERE = ".goes tbody tr:last-child"
KINDS = {
    "a systemd import": (["systemd"], [".total", WHERE, FIRST]),
    "a serial board": (["desk"], [".total", WHERE, FIRST]),
    "ten boots": (["before"], [".total", "svg.dots", ".boxes tbody tr:last-child", FIRST]),
    "a comparison": (["before", "after"], [".verdict", "#overlay .ticks", FIRST]),
    "many recordings": ([f"before/{n}" for n in range(1, 11)], ["#overlay .ticks", FIRST]),
}


@pytest.fixture
def kept(main_here: Command, store: Store) -> Store:  # noqa: F811
    """A store with a run of each kind."""
    keep_run(store, 40, "desk")
    for name in ("before", "after"):
        done = main_here("import", FIXTURES / f"boots/{name}.log", "--milestone", "app-ready=app: ready")
        assert done.returncode == 0, done.stderr
    assert main_here("import", FIXTURES / "readers/systemd/plot.svg.gz", "--name", "systemd").returncode == 0
    return store


def test_the_answer_is_in_sight(browser: Browser, kept: Store, tmp_path: Path) -> None:
    for kind, (names, selectors) in KINDS.items():
        path = tmp_path / "report.html"
        path.write_text(page_of(kept, names).text)
        with quiet(browser, viewport={"width": 1400, "height": 900}) as page:
            page.goto(path.as_uri())
            page.wait_for_selector(f"#boot{len(names)} .timeline[data-to]")
            for selector in selectors:
                box = page.locator(selector).first.bounding_box()
                assert box and box["y"] + box["height"] <= 900, (kind, selector)
            asked = page.locator(".first .goto").first
            asked.click()
            timeline = page.locator(f"#boot{len(names)} .timeline")
            shown(page)
            wanted = asked.get_attribute("data-start"), asked.get_attribute("data-end")
            assert wanted == (timeline.get_attribute("data-from"), timeline.get_attribute("data-to")), kind
            assert faults(page) == [], kind
            page.set_viewport_size({"width": 390, "height": 844})
            shown(page)
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, kind


def test_a_systemd_import_is_told_by_its_end_and_has_a_bar_for_each_unit(
    browser: Browser, kept: Store, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    path.write_text(page_of(kept, ["systemd"]).text)
    with quiet(browser, viewport={"width": 1400, "height": 900}) as page:
        page.goto(path.as_uri())
        page.wait_for_selector(".timeline[data-to]")
        assert page.locator(".total").inner_text() == "129.213 s to systemd-finished"
        units = "timelines[0].layout.blocks.filter(({ item }) => item.kind === 'service' && item.rows).length"
        assert page.evaluate(units) > 60
