# SPDX-License-Identifier: Apache-2.0
"""bootscope reproduce: runs published tables and stories on the emulated board, and shows both figures side
by side."""

from __future__ import annotations

import argparse

import msgspec
from rich.console import Console
from rich.text import Text

from bootscope.cli import stories
from bootscope.cli.arguments import flag
from bootscope.cli.cluster import add_cluster_option, executor_of
from bootscope.cli.common import BUILD_OPTIONS, add_build_options, refuse
from bootscope.cli.progress import teller
from bootscope.cli.record import bench_of
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.core.errors import UserError, printable, unknown
from bootscope.published.agreement import Pair, Verdict, orders, pairs
from bootscope.published.reproduce import reproduce
from bootscope.published.reproduced import Result, result
from bootscope.published.stories import Story, story, story_ids
from bootscope.published.story_run import run_story
from bootscope.published.tables import Table, table, table_ids
from bootscope.published.work import work_of
from bootscope.report import reproduced as words
from bootscope.report.tables import make_table

_COLOURS = {Verdict.AGREES: "green", Verdict.SIZE: "yellow", Verdict.SIGN: "red", Verdict.NONE: "dim"}
PATIENCE_S = 3600
"""Host time for a boot. On a busy computer one may take long, and that should leave no gap in a table."""
NOTHING = 3
"""The exit code when there is nothing to compare with."""


class Reproduce(Verb):
    example = "bootscope reproduce quiet"

    def options(self, parser: argparse.ArgumentParser) -> None:
        what = "the table, or the story of a whole system (default: list all)"
        parser.add_argument("table", nargs="?", metavar="TABLE", help=what)
        flag(parser, "--stored", "build and boot nothing: show the project's last results")
        add_cluster_option(parser)
        add_build_options(parser)

    def run(self, args: argparse.Namespace) -> int:
        if args.table is None:
            refuse(args, ("stored", *BUILD_OPTIONS), "needs a table", "bootscope reproduce TABLE")
            _list(args.json)
            return 0
        if args.stored:
            refuse(args, (*BUILD_OPTIONS, "cluster"), "is for a build; --stored builds nothing")
        if args.table in story_ids():
            return _story(args, story(args.table))
        wanted = _table(args.table)
        if args.stored:
            found = _stored(wanted)
        else:
            with executor_of(args) as executor:
                bench = bench_of(args, timeout_s=PATIENCE_S, executor=executor)
                found = reproduce(bench, wanted, teller(quiet=args.json))
        if args.json:
            print_json("reproduce", document(wanted, found))
        else:
            show(terminal(), wanted, found)
        return 0 if found.rows[wanted.reference].values else NOTHING


def _table(name: str) -> Table:
    if name not in table_ids():
        raise unknown("table or story", name, [*table_ids(), *story_ids()])
    return table(name)


def _story(args: argparse.Namespace, wanted: Story) -> int:
    if args.stored:
        found = stories.stored(wanted)
    else:
        with executor_of(args) as executor:
            bench = bench_of(args, timeout_s=PATIENCE_S, executor=executor)
            found = run_story(bench, wanted, teller(quiet=args.json))
    if args.json:
        print_json("story", stories.document(wanted, found))
    else:
        stories.show(terminal(), wanted, found)
    return 0


def _stored(wanted: Table) -> Result:
    found = result(wanted.id)
    if not found:
        raise UserError(f"{wanted.id} has not been run", hint=f"bootscope reproduce {wanted.id}")
    return found


def _list(as_json: bool) -> None:
    known = [table(name) for name in table_ids()]
    if as_json:
        print_json("tables", {"tables": [_short(t) for t in known], "stories": stories.short_stories()})
        return
    columns = ("=table", "what", ">times", ">agree", ">copies", ">agree", ">sizes", ">agree", "=run")
    grid = make_table(*columns, spare=("run",), header_style="bold")
    for t in known:
        found = result(t.id)
        cells = [
            text
            for tally in words.score(t, found).values()
            for text in (str(tally.compared or ""), str(tally.agree) if found and tally.compared else "")
        ]
        grid.add_row(t.id, t.title, *cells, Text(found.date if found else "", "dim"))
    terminal().print(grid)
    terminal().print()
    stories.list_stories(terminal())


def _short(t: Table) -> dict[str, object]:
    found = result(t.id)
    scores = words.score(t, found)
    return {
        "id": t.id,
        "title": t.title,
        "rows": list(t.rows),
        "published": words.published_on(t),
        "date": found.date if found else None,
        "compared": sum(tally.compared for tally in scores.values()),
        "agree": sum(tally.agree for tally in scores.values()) if found else None,
        "by_kind": {
            str(kind): {"compared": tally.compared, "agree": tally.agree if found else None}
            for kind, tally in scores.items()
        },
    }


def document(t: Table, found: Result) -> dict[str, object]:
    """A table and its result, for --json."""
    return {
        "table": t.id,
        "title": t.title,
        "date": found.date,
        "command": found.command,
        "published": words.published_on(t),
        "here": found.here,
        "differs": words.one_line(t.differs),
        "why": words.one_line(t.why),
        "left_out": [words.one_line(text) for text in t.left_out],
        "measures": {
            name: {"title": m.title, "unit": m.unit, "why": words.one_line(m.why)}
            for name, m in t.measures.items()
        },
        "rows": {name: msgspec.to_builtins(row) for name, row in found.rows.items()},
        "figures": [_figure(t, pair) for pair in pairs(t, found)],
        "orders": [msgspec.to_builtins(order) for order in orders(t, found)],
    }


def _figure(t: Table, pair: Pair) -> dict[str, object]:
    theirs = pair.published
    judged = work_of(t.id, pair.row, pair.measure)
    return {
        "figure": pair.figure.id,
        "row": pair.row,
        "against": pair.against,
        "measure": pair.measure,
        "counts_as": str(pair.compared),
        "board": pair.figure.board,
        "kernel": pair.figure.kernel_version,
        "unit": t.measures[pair.measure].unit,
        "published_base": theirs.base,
        "published": theirs.value,
        "published_change": theirs.change,
        "published_relative": theirs.relative,
        "own_base": pair.own_base.value if pair.own_base else None,
        "own": pair.own.value if pair.own else None,
        "own_change": pair.own_change,
        "own_relative": pair.own_relative,
        "times": pair.times,
        "verdict": str(pair.verdict),
        "work": str(judged.work) if judged else None,
        "work_reason": judged.reason if judged else None,
    }


def show(out: Console, t: Table, found: Result) -> None:
    """Prints a table: published and own figures, whether they agree, and why."""
    out.print(Text.assemble((t.title, "bold"), f"  ({t.id})"))
    for source in words.published_on(t):
        out.print(Text(f"published: {source}"))
    out.print(Text(f"here, {found.date}: {words.run_on(found.here)}"))
    out.print(Text(f"differences: {words.one_line(t.differs)}"))
    out.print()
    judged = pairs(t, found)
    columns = (f">{name}" if name == "change" else name for name in words.HEADINGS)
    grid = make_table(*columns, header_style="bold")
    for pair in judged:
        *first, last = words.cells(t, pair)
        grid.add_row(*first, Text(last, _COLOURS[pair.verdict]))
    out.print(grid)
    out.print()
    out.print(Text(words.summary(t, judged, orders(t, found)), "bold"))
    for name, row in found.rows.items():
        if row.error:
            out.print(Text.assemble((f"{name}: ", "bold red"), printable(row.error)))
    for pair in judged:
        told = words.split(pair)
        if told and pair.verdict is not Verdict.AGREES:
            what = f"{pair.row}, {t.measures[pair.measure].title}"
            out.print(Text(f"{what}: our change is {told}"))
    for text in (t.why, *(f"{m.title}: {m.why}" for m in t.measures.values() if m.why)):
        out.print(Text(f"why they may differ: {words.one_line(text)}"))
    for text in words.not_the_same(t, judged):
        out.print(Text(f"not comparable work: {text}"))
    for text in t.left_out:
        out.print(Text(f"left out: {words.one_line(text)}", "dim"))
    runs = ", ".join(f"{name} {row.run_id}" for name, row in found.rows.items() if row.run_id)
    out.print(Text(f"recordings: {runs}", "dim"))
