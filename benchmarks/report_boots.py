# SPDX-License-Identifier: Apache-2.0
"""Measures the size of a report of ten boots, and how soon it can be used, in headless Chromium.

    .venv/bin/python benchmarks/report_boots.py [RUN] [--boots N]

RUN is a recording of the emulated board in the store (default: the newest). Such boots are identical to the
nanosecond, and the page would hold them only once; so every time of boot N is stretched by N per mille here,
and no two boots have a number in common. Prints the size of the page, the time until the first timeline has
moved as asked, and the time until the last boot is there.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from msgspec.structs import replace as changed
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from bootscope.analysis.views import View
from bootscope.capture.store import Store
from bootscope.core.paths import store_dir
from bootscope.report.html import render
from bootscope.report.stored import boot_of
from bootscope.timeline.trace import Trace

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
TIMES = 5
# When the first timeline was there, moved and drawn; when the last boot was there.
READY = """async (boots) => {
  const pixel = () => timelines[0].canvas.getContext("2d").getImageData(0, 0, 1, 1);
  timelines[0].act("in");
  await new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)));
  pixel();
  const first = performance.now();
  while (timelines.length < boots) await new Promise((next) => setTimeout(next, 5));
  return [first, performance.now()];
}"""


def stretched(trace: Trace, per_mille: int) -> Trace:
    """The same boot, with every time stretched by that factor."""

    def at(ns: int) -> int:
        return ns * (1000 + per_mille) // 1000

    return replace(
        trace,
        total_ns=at(trace.total_ns),
        tracks=tuple(
            replace(t, spans=tuple(changed(s, start_ns=at(s.start_ns), end_ns=at(s.end_ns)) for s in t.spans))
            for t in trace.tracks
        ),
        points=tuple(changed(p, at_ns=at(p.at_ns)) for p in trace.points),
        stacks=tuple(changed(s, ns=at(s.ns)) for s in trace.stacks),
        sampled=tuple(changed(s, at_ns=at(s.at_ns)) for s in trace.sampled),
    )


def copies(boot: View, count: int) -> list[View]:
    """A boot many times, each with its own times."""
    found = [View(boot.run, boot.boot, boot.understand, boot.index) for _ in range(count)]
    for number, each in enumerate(found):
        each.__dict__["trace"] = stretched(boot.trace, number)  # takes the place of the cached property
    return found


def main() -> None:
    """Makes the page, opens it, measures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("run", nargs="?")
    parser.add_argument("--boots", type=int, default=10)
    args = parser.parse_args()
    boot_id, boot = boot_of(Store(store_dir()), args.run)
    if not isinstance(boot, View):
        sys.exit(f"{boot_id} is not a recording of the emulated board")
    text = render(copies(boot, args.boots))
    print(f"{args.boots} boots of {boot_id}: page of {len(text.encode()) / 1e6:.2f} MB")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "report.html"
        path.write_text(text)
        program = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        found = []
        for _ in range(TIMES):
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            page.goto(path.as_uri(), wait_until="commit")
            page.wait_for_function("() => typeof timelines !== 'undefined' && timelines.length > 0")
            found.append(page.evaluate(READY, args.boots))
            page.close()
        browser.close()
    for name, at in (("first timeline moved", 0), ("all boots there", 1)):
        times = [each[at] for each in found]
        print(f"{name:22} median {statistics.median(times):5.0f} ms   worst {max(times):5.0f} ms")


if __name__ == "__main__":
    main()
