# SPDX-License-Identifier: Apache-2.0
"""Runs published tables on the emulated board, keeps the results, and writes docs/reproduced.md.

    python tools/reproduce.py [TABLE ...] [--page]

Without a name all tables are run. Results, one file per table in src/bootscope/published/reproduced, are
written after each table, so the run can be stopped at any time; earlier builds and boots are taken from the
cache and the store. --page runs nothing and only writes the page. All tables together are some fifty kernels
and a hundred boots: hours if nothing was built before.

A unit test compares the page with the kept results, so it cannot become outdated.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from bootscope.core.settings import Sourced
from bootscope.published.agreement import FACTOR, TINY, Pair, Verdict, orders, pairs
from bootscope.published.reproduced import RESULTS, Result, result
from bootscope.published.stories import story, story_ids
from bootscope.published.story_results import story_result
from bootscope.published.tables import Table, table, table_ids
from bootscope.report import reproduced as words
from bootscope.report import stories

PAGE = ROOT / "docs" / "reproduced.md"

INTRODUCTION = f"""\
# Published tables, run again

<!-- made by tools/reproduce.py from src/bootscope/published; change it there -->

Published boot times were measured on boards that few people have. The experiments that the emulated board
can run were repeated: `bootscope reproduce` lists them, `bootscope reproduce TABLE` builds and boots all rows
of a table and shows both figures side by side, and `make reproduce` runs all tables and writes this page.

Each row is compared with another row of its table, and the changes between the two are compared: as a share
of the other row's figure where that was published, otherwise as absolute values. Two changes **agree** when
they have the same sign and one is at most {FACTOR} times the other, or when both are negligible: below
{TINY:.0%} of the other row's figure, or below 1 ms or 1 kB where that is not known. Where a document's own
times show how much they vary from boot to boot, changes are also negligible when both are below that (*within
the published noise*; the table says how much that is and where it is from). *Other size*: the same
sign, but further apart, or one of them is negligible. *Other direction*: one saves, the other costs. Where a
published column has three rows or more, the order of its rows is also compared pair by pair. A program
computes this for every figure; what differs, and why that may matter, is written by hand.

Only **times** show how accurate the times of the emulated board are. *Copies* are times that a card takes to
read a kernel: its size at a rate that was also taken from published figures. *Sizes* are file sizes. Both are
counted separately. No published figure is used twice.
"""

WORK = """\
A comparison shows how true the emulated board is only if both sides measure the same work. A reader of the
documents and of the tables' definitions judged this for every time, without seeing the results (what differs
in the two compression tables of 2024 told some of theirs).

- **The same**: the document says what was changed, how much of it there was, and between which events the
  time was taken. The table changes the same thing in the same software, of any version, on a core modelled on
  the published one.
- **Done by another program or device**: one that determines the difference was replaced, or the published
  core is not modelled.
- **Not described by the document**: it leaves out what determines the difference, such as the content of a
  script, which options were removed, or how many lines were printed.

If a document's own figures split a difference, a part determines it if it is at least a quarter of it. A
printed amount that ours does not match, such as the size of an image, is no reason by itself.
"""


def page() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    known = [table(name) for name in table_ids()]
    yield INTRODUCTION
    yield "| table | times | copies | sizes | date |"
    yield "|---|---:|---:|---:|---|"
    for t in known:
        found = result(t.id)
        cells = [tally.words if tally.compared else "" for tally in words.score(t, found).values()]
        yield f"| [{t.title}](#{t.id}) | {' | '.join(cells)} | {found.date if found else 'not run yet'} |"
    every = words.tallied(pair for t in known for pair in _pairs(t))
    yield f"| all | {' | '.join(tally.words for tally in every.values())} | |"
    noise = sum(pair.agrees_by_noise for t in known for pair in _pairs(t))
    yield from (
        "",
        f"Of the times that agree, {noise} do so only because both are within the published noise.",
    )
    yield from ("", WORK, "| the work is | times that agree |", "|---|---:|")
    for work, tally in words.tallied_by_work((t, pair) for t in known for pair in _pairs(t)).items():
        yield f"| {work.words} | {tally.words} |"
    fitted, other = words.fitted_apart((t, pair) for t in known for pair in _pairs(t))
    yield from (
        "",
        f"Of those whose work is the same, {fitted.compared} are in columns to which a figure of a core was "
        f"fitted (docs/accuracy.md); of the others, {other.words} agree.",
    )
    yield from ("", *_of_stories(known))
    for t in known:
        yield from _table(t, result(t.id))


def _of_stories(known: list[Table]) -> Iterator[str]:
    """The steps of stories that are in no table: they were measured after other steps."""
    told = [(story(name), found) for name in story_ids() if (found := story_result(name))]
    more = stories.in_no_table(told, {name for t in known for name in t.figure_ids()})
    yield (
        f"Stories ([stories](stories)) repeat {len(more)} more published savings, each after the steps "
        "before it. They are not counted above. "
        f"{sum(one.change_agrees is True for one in more)} agree by the same rule. Those that do not:"
    )
    yield ""
    yield from (_of_step(one) for one in more if not one.change_agrees)


def _of_step(one: stories.ComparedStep) -> str:
    there, here = one.changes
    how = ", predicted from counts" if one.step.core_changes else ""
    return f"- {one.step.published}, {one.step.title}: {there} there, {here} here{how}"


def _pairs(t: Table) -> list[Pair]:
    found = result(t.id)
    return pairs(t, found) if found else []


def _table(t: Table, found: Result | None) -> Iterator[str]:
    yield from ("", f"## {t.id}", "", f"**{t.title}.**", "")
    yield from (f"- Published: {_text(source)}" for source in words.published_on(t))
    if found:
        yield f"- Here, {found.date}, by `{found.command}`: {_text(words.run_on(found.here))}"
    yield f"- What differs: {_text(t.differs)}"
    yield f"- Why the figures may differ: {_text(t.why)}"
    yield from (f"- {m.title}: {_text(m.why)}" for m in t.measures.values() if m.why)
    yield from (f"- {m.title}: {_less(m.less_ns)}" for m in t.measures.values() if m.less_ns)
    yield from (f"- {m.title}: {_noise(m.noise_ns)}" for m in t.measures.values() if m.noise_ns)
    alone = ((name, key, figure) for name, row in t.rows.items() for key, figure in row.less_ns.items())
    yield from (f"- {name}, {key}: {_alone(figure)}" for name, key, figure in alone)
    if found:
        told = words.not_the_same(t, pairs(t, found))
        yield from (f"- Not comparable work: {_text(text)}" for text in told)
    yield from (f"- Left out: {_text(text)}" for text in t.left_out)
    if not found:
        yield from ("", "Not run yet.")
        return
    yield from ("", "| row | what | published | | here | | agrees | where our change comes from |")
    yield "|---|---|---|---:|---|---:|---|---|"
    judged = pairs(t, found)
    for pair in judged:
        cells = [*words.cells(t, pair), words.split(pair)]
        if pair.verdict is Verdict.AGREES:
            cells[6] = (
                f"**{cells[6].partition(':')[0]}**{cells[6].partition(':')[1]}{cells[6].partition(':')[2]}"
            )
        yield f"| {' | '.join(_text(cell) for cell in cells)} |"
    yield from ("", f"{words.summary(t, judged, orders(t, found))}.")
    for name, row in found.rows.items():
        if row.error:
            yield from ("", f"Row {name}: {_text(row.error)}.")
    runs = ", ".join(f"{name} {row.run_id}" for name, row in found.rows.items() if row.run_id)
    yield from ("", f"Recordings: {runs}." if runs else "No row could be run.")


def _less(figure: Sourced) -> str:
    """The reduction of published times, in words."""
    return f"{words.amount(figure.value, 'ns')} subtracted from each published time: {_text(figure.source)}"


def _noise(figure: Sourced) -> str:
    """How much published times vary, in words."""
    return f"published times vary by {words.amount(figure.value, 'ns')}: {_text(figure.source)}"


def _alone(figure: Sourced) -> str:
    """The reduction of one published time, in words."""
    return f"{words.amount(figure.value, 'ns')} subtracted: {_text(figure.source)}"


def _text(text: str) -> str:
    """Text on one line; escapes what Markdown would take for HTML or for the end of a cell."""
    return " ".join(text.split()).replace("<", "&lt;").replace("|", "\\|")


def run(name: str) -> None:
    """Runs a table and keeps the result."""
    done = subprocess.run(
        [sys.executable, "-m", "bootscope", "reproduce", name, "--json"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        check=False,
    )
    if not done.stdout:
        raise SystemExit(f"{name}: no result (status {done.returncode})")
    # The document contains more than is kept: the rest is derived from it.
    found = msgspec.json.decode(done.stdout, type=Result)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
    wanted = table(name)
    print(f"{name}: {words.summary(wanted, pairs(wanted, found), [])}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Run published tables again and write docs/reproduced.md.")
    parser.add_argument("table", nargs="*", help="tables to run (default: all)")
    parser.add_argument("--page", action="store_true", help="only write the page, run nothing")
    args = parser.parse_args()
    for name in [] if args.page else args.table or table_ids():
        run(table(name).id)
        PAGE.write_text(page())
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
