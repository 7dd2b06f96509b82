# SPDX-License-Identifier: Apache-2.0
"""Runs published stories again on the emulated board, keeps the results, and writes docs/stories.

    python tools/stories.py [STORY ...] [--page]

Without a name all stories are run. Results are kept in src/bootscope/published/story_results, one file per
story, written after each; earlier builds and boots are taken from the cache and the store. --page runs
nothing and only writes the pages.

A unit test compares the pages with the kept results, so they cannot become outdated.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from bootscope.published.stories import START, Story, story, story_ids
from bootscope.published.story_results import RESULTS, StepResult, StoryResult, story_result
from bootscope.report import stories as words
from bootscope.report.reproduced import one_line, run_on
from bootscope.techniques.model import DOCUMENTS, figures

PAGES = ROOT / "docs" / "stories"


def page(s: Story, found: StoryResult) -> str:
    """The page of a story."""
    return "\n".join(_lines(s, found)) + "\n"


def _lines(s: Story, found: StoryResult) -> Iterator[str]:
    yield from (f"# {s.title}", "", "<!-- made by tools/stories.py; change the story's file -->", "")
    first = figures()[s.figure_ids()[0]]
    yield f"- Published: {DOCUMENTS[first.seed]} ({first.board}, Linux {first.kernel_version})"
    yield f"- Here, {found.date}, by `{found.command}`: {_cell(run_on(found.here))}"
    yield f"- What differs: {_cell(s.differs)}"
    yield f"- Why the times may differ: {_cell(s.why)}"
    yield from ("", f"**{words.summary(s, found)}.**", "")
    yield "Each step is applied to the result of the previous one. Steps that are left out here do not count"
    yield "in the ratio."
    yield from (
        "",
        *_table([words.HEADINGS, words.first_cells(s, found), *map(words.cells, words.steps(s, found))]),
    )
    whys = [one.step for one in words.steps(s, found) if one.step.why]
    yield from ("", *(f"- {_cell(step.title)}: {_cell(step.why)}" for step in whys)) if whys else ()
    yield from ("", "## Where the time goes after each step", "", *_table(list(words.phases(s, found))))
    runs = ", ".join(f"{name} {result.run_id}" for name, result in found.steps.items() if result.run_id)
    yield from ("", f"Recordings: {runs}.")


def _table(rows: list[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(rows[0])} |"
    yield f"|{'---|' * len(rows[0])}"
    yield from (f"| {' | '.join(map(_cell, row))} |" for row in rows[1:])


def _cell(text: str) -> str:
    return one_line(text).replace("<", "&lt;").replace("|", "\\|")


def run(name: str) -> None:
    """Runs a story and keeps the result."""
    done = subprocess.run(
        [sys.executable, "-m", "bootscope", "reproduce", name, "--json"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        check=False,
    )
    if not done.stdout:
        raise SystemExit(f"{name}: no result (status {done.returncode})")
    found = result_of(msgspec.json.decode(done.stdout))
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_bytes(encoded(found))
    print(f"{name}: {words.summary(story(name), found)}", flush=True)


def result_of(document: dict[str, Any]) -> StoryResult:
    """The kept part of a story, from the output of `reproduce --json`; the rest is derived from it."""
    made = {START: document["first"], **{one["id"]: one["own"] for one in document["steps"] if one["own"]}}
    steps = {key: msgspec.convert(one, StepResult) for key, one in made.items()}
    return StoryResult(document["story"], document["date"], document["command"], document["here"], steps)


def encoded(found: StoryResult) -> bytes:
    """The file that it is kept in."""
    return msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n"


def write_pages() -> None:
    """Writes the pages of all stories that were run."""
    PAGES.mkdir(exist_ok=True)
    for s in map(story, story_ids()):
        if found := story_result(s.id):
            (PAGES / f"{s.id}.md").write_text(page(s, found))


def main() -> int:
    parser = argparse.ArgumentParser(description="Run published stories again and write docs/stories.")
    parser.add_argument("story", nargs="*", help="stories to run (default: all)")
    parser.add_argument("--page", action="store_true", help="only write the pages, run nothing")
    args = parser.parse_args()
    for name in [] if args.page else args.story or story_ids():
        run(story(name).id)
        write_pages()
    write_pages()
    return 0


if __name__ == "__main__":
    sys.exit(main())
