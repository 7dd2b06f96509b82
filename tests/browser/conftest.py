# SPDX-License-Identifier: Apache-2.0
"""What the tests in a browser share: the browser, and a way to wait for a painting."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, FloatRect, Page, sync_playwright

from bootscope.analysis.views import view
from bootscope.audit.result import run_audit
from bootscope.audit.subject import subject
from bootscope.builder.cache import Cache
from bootscope.capture.store import Store
from bootscope.report import answer
from bootscope.report.html import render
from bootscope.report.shown import Shown
from tests.fixtures.stock_boot import unpack

from .quiet import quiet

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
         "--disable-background-networking", "--disable-component-update"]  # fmt: skip


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    # None is Playwright's own browser, which the set-up fetches where there is no package of one.
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield started
        started.close()


def shown(page: Page) -> tuple[int, int]:
    """The stretch of time that the timeline shows, once it has been painted."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    box = page.locator(".timeline").first
    return int(box.get_attribute("data-from") or -1), int(box.get_attribute("data-to") or -1)


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the recorded stock boot among the fixtures, made now."""
    folder = tmp_path_factory.mktemp("report")
    store = Store(folder / "store")
    unpack(store)
    path = folder / "report.html"
    boot = view(store, store.find("last"))
    found = run_audit(subject(store, Cache(folder / "cache"), ["last"]))
    first = answer.first(found, boot.run.info.run_id, recorded=True)
    path.write_text(render([Shown(boot, first=first)]))
    return path


@pytest.fixture
def page(browser: Browser, report: Path) -> Iterator[Page]:
    """The report, opened offline; any message on the browser's console or any request fails the test."""
    with quiet(browser, viewport={"width": 1280, "height": 900}, offline=True) as opened:
        opened.goto(report.as_uri())
        opened.wait_for_selector(".timeline[data-to]")
        yield opened


def timeline_box(page: Page) -> FloatRect:
    """Where the first timeline is on the screen, once it is in sight."""
    page.evaluate("document.querySelector('#timeline1').scrollIntoView()")
    shown(page)
    box = page.locator(".timeline").bounding_box()
    assert box
    return box
