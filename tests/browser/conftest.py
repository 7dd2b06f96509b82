# SPDX-License-Identifier: Apache-2.0
"""What the tests in a browser share: the browser, and a way to wait for a painting."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

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
