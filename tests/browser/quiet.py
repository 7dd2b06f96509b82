# SPDX-License-Identifier: Apache-2.0
"""A page on which nothing may go wrong, and which asks nobody but those it may for anything."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Page

HERE = ("file:", "data:")


@contextmanager
def quiet(browser: Browser, may_ask: tuple[str, ...] = HERE, **context: Any) -> Iterator[Page]:
    """An empty page; when it is left, any message on the browser's console, any error and any request for
    an address that does not begin with one of `may_ask` fails the test."""
    opened = browser.new_context(**context)
    page = opened.new_page()
    troubles: list[str] = []
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("request", lambda asked: None if asked.url.startswith(may_ask) else troubles.append(asked.url))
    yield page
    opened.close()
    assert troubles == []
