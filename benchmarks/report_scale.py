# SPDX-License-Identifier: Apache-2.0
"""Measures how smooth the report of a synthetic boot of 100,000 spans is, in headless Chromium.

    .venv/bin/python benchmarks/report_scale.py [--spans N]

Prints the size of the page, the time until it is ready, and the painting time while zooming and moving:
the script's own time up to the last drawn pixel (one pixel is read back, so that nothing is postponed), and
the time between frames as the browser counts them.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from bootscope.report.html import render
from bootscope.timeline.trace import Point, Span, Stack, Trace, Track

TOTAL_NS = 20_000_000_000
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]

# Zooms in and out around moving places, or moves at some zoom; one painting per step.
PAINT = """async ([kind, steps]) => {
  const t = timelines[0], drawn = [], frames = [];
  const pixel = (canvas) => canvas.getContext("2d").getImageData(0, 0, 1, 1);
  let last = 0;
  const frame = (now) => { if (last) frames.push(now - last); last = now; };
  if (kind === "move") t.show(t.whole * 0.3, t.whole * 0.6);
  for (let i = 0; i < steps; i++) {
    await new Promise((next) => requestAnimationFrame((now) => { frame(now); next(); }));
    const before = performance.now(), by = t.whole / 400 * (i % 100 < 50 ? 1 : -1);
    t.waiting = true;  // no second painting of the same
    if (kind === "zoom") t.zoom(i % 60 < 30 ? 0.8 : 1.25, t.whole * (0.2 + 0.6 * ((i / 60 | 0) % 7) / 7));
    else t.show(t.from + by, t.to + by);
    const far = Math.max(1, document.documentElement.scrollHeight - innerHeight);
    if (kind === "scroll") scrollTo(0, (i * 37) % far);
    t.paint();
    pixel(t.canvas);
    pixel(t.head);
    drawn.push(performance.now() - before);
    t.waiting = false;
  }
  return [drawn, frames];
}"""
SEARCH = """() => { const s = searches[0], t = performance.now(); s.field.value = "f1"; s.find();
  return performance.now() - t; }"""
FLAME = """() => { const f = flames[0], t = performance.now(); f.paint();
  f.canvas.getContext("2d").getImageData(0, 0, 1, 1); return performance.now() - t; }"""


def nested(rng: random.Random, count: int, start: int, end: int) -> tuple[Span, ...]:
    """`count` spans, nested up to four deep, within a range of time."""
    spans: list[Span] = []
    step = max(1, (end - start) // count)
    for i in range(0, count, 4):
        at, room = start + i * step, 4 * step
        spans.append(Span(at, at + room, f"call_{i % 997}", {"level": i % 7, "cost_ns": room}))
        spans.append(Span(at, at + room // 2, f"probe_{i % 499}"))
        spans.append(Span(at, at + room // 4 + rng.randrange(1, room // 8 + 2), f"read_{i % 89}"))
        spans.append(Span(at + room // 2, at + room - 1, f"other_{i % 53}", {"file": f"/lib/f{i % 200}"}))
    return tuple(spans[:count])


def switching(rng: random.Random, count: int, start: int) -> tuple[Span, ...]:
    """A process that runs and waits alternately, `count` spans in total."""
    spans: list[Span] = []
    at = start
    mean = max(2, (TOTAL_NS - start) // count)
    for i in range(count):
        end = min(TOTAL_NS, at + rng.randrange(1, 2 * mean))
        spans.append(Span(at, end, ("running", "waiting for disk", "waiting")[i % 3], {"pid": start % 999}))
        at = end
    return tuple(spans)


def synthetic(count: int) -> Trace:
    """A boot with that many spans: phases, nested initcalls, 200 processes, storage, console."""
    rng = random.Random(4)
    phases = tuple(Span(i * TOTAL_NS // 8, (i + 1) * TOTAL_NS // 8, f"phase{i}") for i in range(8))
    each = count // 2 // 200
    processes = [
        Track(
            f"p{i}",
            "process",
            f"process {i}",
            switching(rng, each, rng.randrange(TOTAL_NS // 2)),
            parent=f"p{i // 8}" if i else "",
        )
        for i in range(200)
    ]
    left = count - 200 * each
    tracks = (
        Track("phases", "phase", "phases", phases),
        Track("initcalls", "initcall", "initcalls", nested(rng, left // 2, 0, TOTAL_NS)),
        Track("storage", "storage", "storage", nested(rng, left // 4, 0, TOTAL_NS)),
        Track("console", "console", "console", nested(rng, left - left // 2 - left // 4, 0, TOTAL_NS)),
        *processes,
    )
    points = tuple(Point(i * TOTAL_NS // 5, f"milestone {i}", "milestone") for i in range(1, 6))
    stacks = tuple(
        Stack(tuple(f"f{rng.randrange(12)}" for _ in range(rng.randrange(2, 20))), rng.randrange(10**6))
        for _ in range(5_000)
    )
    return Trace(f"{count:,} made-up spans", "made up", TOTAL_NS, tracks, points, stacks)


def told(name: str, values: list[float]) -> None:
    """Prints median, 95th percentile and maximum of times in milliseconds."""
    ranked = sorted(values)
    print(
        f"{name:24} median {statistics.median(ranked):6.2f} ms   "
        f"95 % {ranked[len(ranked) * 95 // 100]:6.2f} ms   worst {ranked[-1]:6.2f} ms"
    )


def measure(page: Page, steps: int) -> None:
    """Zooms, moves, scrolls, searches."""
    for kind in ("zoom", "move", "scroll"):
        drawn, frames = page.evaluate(PAINT, [kind, steps])
        told(f"{kind}: painting", drawn)
        told(f"{kind}: between frames", frames)
    page.evaluate("() => { timelines[0].act('open'); timelines[0].act('all'); }")
    told("all open: painting", page.evaluate(PAINT, ["scroll", steps])[0])
    print(f"{'search of all spans':24} {page.evaluate(SEARCH):13.2f} ms")
    print(f"{'flame graph: painting':24} {page.evaluate(FLAME):13.2f} ms")


def main() -> None:
    """Makes the page, opens it, measures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--spans", type=int, default=100_000)
    parser.add_argument("--steps", type=int, default=240)
    parser.add_argument("--keep", type=Path, help="save the page to this file")
    args = parser.parse_args()
    before = time.monotonic()
    text = render([synthetic(args.spans)])
    made = time.monotonic() - before
    print(f"{args.spans:,} spans: page of {len(text.encode()) / 1e6:.1f} MB made in {made:.1f} s")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = args.keep or Path(folder) / "report.html"
        path.write_text(text)
        program = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(path.resolve().as_uri())
        page.wait_for_selector(".timeline[data-to]")
        ready = page.evaluate("() => performance.timing.domComplete - performance.timing.navigationStart")
        print(f"ready after {ready} ms")
        measure(page, args.steps)
        browser.close()


if __name__ == "__main__":
    main()
