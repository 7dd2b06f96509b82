# SPDX-License-Identifier: Apache-2.0
"""`bootscope serve` in headless Chromium: a list of 500 runs, a recording followed, what is refused."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from bootscope.capture.store import Store
from tests.fixtures.measured_runs import LINES, ROOT, Recorder, keep_run

from .conftest import shown
from .quiet import quiet
from .test_report import faults

pytestmark = [pytest.mark.browser, pytest.mark.long]
RUNS = 500
HOSTILE = b"<img src=x onerror=document.title='owned'> \x1b[31m\xe2\x80\xae" + b"A" * 100_000


@dataclass
class Server:
    """The command, running; `address` is that of its pages."""

    store: Store
    process: subprocess.Popen[str]
    address: str


def start(root: Path, *options: str) -> Server:
    """Starts the command with a store."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bootscope", "serve", "--port", "0", "--json", *options],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "BOOTSCOPE_STORE": str(root)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    text = ""
    while not text.endswith("}\n"):
        text += process.stdout.readline()
    return Server(Store(root), process, json.loads(text)["address"])


def stop(server: Server) -> str:
    """Ends it as a user does; returns what it said besides."""
    server.process.terminate()
    return server.process.communicate(timeout=60)[1]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of many runs."""
    store = Store(tmp_path_factory.mktemp("served") / "store")
    for number in range(RUNS):
        keep_run(store, number // 3 - 160, ("desk", "gateway", "<b>bold</b>")[number % 3])
    store.summaries()
    started = start(store.root)
    yield started
    assert "Traceback" not in stop(started)


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Page]:
    """A page on which nothing may go wrong, and which asks nobody else for anything."""
    may_ask = (server.address, "data:")
    with quiet(browser, may_ask, viewport={"width": 1400, "height": 900}) as opened:
        yield opened


def test_500_runs_are_listed_within_a_second(server: Server, page: Page) -> None:
    page.goto(server.address)  # loads what the server needs once
    times = []
    for _ in range(5):
        begin = time.monotonic()
        with urllib.request.urlopen(server.address) as answer:
            text = answer.read().decode()
        times.append(time.monotonic() - begin)
    assert text.count('type="checkbox"') == RUNS
    assert min(times) < 1
    assert page.locator(".list tbody tr").count() == RUNS
    assert faults(page) == []


def test_the_list_is_searched_and_two_runs_compared(server: Server, page: Page) -> None:
    page.goto(server.address)
    page.fill("input[name=q]", "gateway")
    page.press("input[name=q]", "Enter")
    expect(page.locator(".told")).to_contain_text(re.compile(rf"^16[67] of {RUNS} runs"))
    boxes = page.locator("input[type=checkbox]")
    boxes.nth(0).check()
    boxes.nth(1).check()
    page.get_by_role("button", name="Compare").click()
    page.wait_for_selector(".timeline[data-to]")
    expect(page.locator("h2").first).to_have_text("B against A")
    page.get_by_role("link", name="All runs").click()
    expect(page.locator("h2")).to_have_text("Runs")


@pytest.mark.parametrize("width", [390, 1400])
def test_no_page_needs_sideways_scrolling(server: Server, page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    for path in ("/", "/plot", f"/live/{server.store.run_ids()[0]}"):
        page.goto(server.address + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert faults(page) == [], path


def test_a_milestone_over_time_leads_to_its_runs(server: Server, page: Page) -> None:
    page.goto(f"{server.address}/plot?board=desk")
    dots = page.locator("svg.plot a")
    while not dots.count():  # their times are worked out beside
        page.reload()
    assert page.locator("svg.plot circle").count() == dots.count()
    dots.first.click()
    page.wait_for_selector(".timeline[data-to]")


def test_a_recording_is_followed_as_it_grows(server: Server, page: Page) -> None:
    recorder = Recorder(server.store, "live-board")
    page.goto(server.address)
    page.get_by_role("link", name="recording now").click()
    rows = page.locator(".console tbody tr")
    expect(page.locator(".state .what")).to_have_text("recording")
    for number, line in enumerate(LINES, 1):
        recorder.says(line)
        expect(rows).to_have_count(number, timeout=30_000)
        expect(rows.last.locator("code")).to_have_text(line.decode().strip())
    expect(page.locator(".reached dt").last).to_have_text("login")
    assert page.locator(".phase-list dt").count() > 3
    # The report's timeline: what was found and measured stays as the boot goes on.
    page.fill(".seek", "init process")
    page.press(".seek", "Enter")
    expect(page.locator(".details h4")).to_contain_text("Run /sbin/init as init process")
    page.locator(".timeline").press("w")
    from_ns, to_ns = shown(page)
    assert 0 < from_ns < to_ns
    recorder.says(b"a later line")
    expect(rows).to_have_count(len(LINES) + 1, timeout=30_000)
    assert shown(page) == (from_ns, to_ns)
    expect(page.locator(".details h4")).to_contain_text("Run /sbin/init as init process")
    recorder.says(HOSTILE)
    expect(rows).to_have_count(len(LINES) + 2, timeout=30_000)
    text = rows.last.locator("code").inner_text()
    assert text.startswith("<img src=x onerror=")
    assert len(text) < 1000
    assert page.locator("img").count() == 0
    assert page.title() != "owned"
    assert faults(page) == []
    recorder.ends()
    expect(page.locator(".state .what")).to_have_text("recorded", timeout=30_000)
    page.get_by_role("link", name="Its report").click()
    page.wait_for_selector(".timeline[data-to]")
    assert page.title() != "owned"
    server.store.remove(recorder.run_id)


def test_a_run_that_is_deleted_while_it_is_followed_is_told(server: Server, page: Page) -> None:
    recorder = Recorder(server.store, "gone-board")
    page.goto(f"{server.address}/live/{recorder.run_id}")
    expect(page.locator(".state .what")).to_have_text("recording")
    path = server.store.runs / recorder.run_id
    path.rename(server.store.root / "elsewhere")
    expect(page.locator(".state .what")).to_have_text("this run was deleted", timeout=30_000)
    (server.store.root / "elsewhere").rename(path)
    recorder.ends()
    server.store.remove(recorder.run_id)


def test_a_page_of_another_origin_gets_nothing(server: Server, browser: Browser, tmp_path: Path) -> None:
    evil = tmp_path / "evil.html"
    evil.write_text("<!DOCTYPE html><title>evil</title>")
    page = browser.new_page()
    page.goto(evil.as_uri())
    asked = (
        "async (url) => { try { return await (await fetch(url)).text(); } catch (e) { return 'refused'; } }"
    )
    assert page.evaluate(asked, server.address) == "refused"
    framed = (
        "(url) => new Promise((done) => { const frame = document.createElement('iframe'); frame.src = url; "
        "frame.onload = () => done(true); document.body.append(frame); })"
    )
    assert page.evaluate(framed, server.address)
    assert all("Runs" not in frame.content() for frame in page.frames)
    page.close()


def test_a_token_is_asked_for_and_its_address_works_once(server: Server, browser: Browser) -> None:
    locked = start(server.store.root, "--token")
    assert locked.process.stderr
    enter = locked.process.stderr.readline().split()[-1]
    assert enter.startswith(f"{locked.address}/enter/")
    page, other = browser.new_context().new_page(), browser.new_context().new_page()
    assert (answer := page.goto(locked.address)) and answer.status == 401
    page.goto(enter)
    expect(page.locator("h2")).to_have_text("Runs")
    assert (answer := other.goto(enter)) and answer.status == 403
    assert (answer := other.goto(locked.address)) and answer.status == 401
    page.context.close()
    other.context.close()
    stop(locked)
