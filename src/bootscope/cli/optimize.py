# SPDX-License-Identifier: Apache-2.0
"""bootscope optimize: tries techniques one after the other, and keeps those that are proven to help."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bootscope.build.cache import Cache
from bootscope.capture.store import Store
from bootscope.cli.common import add_build_options, check_positive, runner
from bootscope.cli.progress import progress
from bootscope.cli.record import Quiet
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.errors import UserError, printable, unknown
from bootscope.lab.bench import Bench
from bootscope.lab.handout import check_new, write
from bootscope.lab.optimize import Experiment, Goal, Search
from bootscope.lab.verdict import Verdict
from bootscope.paths import cache_dir, store_dir
from bootscope.report.text import seconds, span
from bootscope.system.load import load_system
from bootscope.techniques.model import ABILITIES, technique

_UNITS = {"s": 1, "m": 60, "h": 3600}


class Optimize(Verb):
    name = "optimize"
    summary = "try techniques one after the other, keep what is proven to make the boot shorter"
    example = "bootscope optimize stock --goal 2000 --keep console,updating"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("system", help="name of a system, or path of a system file (.toml)")
        parser.add_argument("--goal", type=float, metavar="MS", help="stop when the boot takes no longer")
        parser.add_argument(
            "--keep", default="", metavar="LIST", help=f"abilities not to lose: {', '.join(ABILITIES)}"
        )
        parser.add_argument(
            "--budget", default="2h", metavar="T", help="host time, such as 90m or 2h (default 2h)"
        )
        parser.add_argument("--only", nargs="+", default=(), metavar="ID", help="only these techniques")
        parser.add_argument(
            "--ablate", action="store_true", help="at the end, what each accepted technique is still worth"
        )
        parser.add_argument(
            "-o", type=Path, metavar="DIR", help="write what was accepted as files: fragments, scripts, ..."
        )
        add_build_options(parser)

    def run(self, args: argparse.Namespace) -> int:
        if args.goal is not None:
            check_positive(args, "goal")
        loaded, goal = load_system(args.system), _goal(args)
        if args.o:
            check_new(args.o)
        store, watcher = Store(store_dir()), progress(quiet=args.json)
        bench = Bench(store, runner(args, Cache(cache_dir()), watcher), watcher, Quiet())

        def tell(text: str) -> None:
            if not args.json:
                print(text, file=sys.stderr, flush=True)

        search = Search(bench, loaded, goal, tell)
        last = search.run()
        ablation = search.ablation() if args.ablate else []
        if args.o:
            write(args.o, search.system(search.accepted).system, dict(search.accepted.values()))
            tell(f"written to {args.o}")
        if args.json:
            print_json("optimize", _json(search, last.info.run_id, ablation))
        else:
            _print(terminal(), search, last.info.run_id, ablation)
        return 0


def _goal(args: argparse.Namespace) -> Goal:
    keep = tuple(filter(None, args.keep.split(",")))
    for ability in keep:
        if ability not in ABILITIES:
            raise unknown("ability", ability, list(ABILITIES))
    for name in args.only:
        technique(name)
    return Goal(round((args.goal or 0) * 1_000_000), budget_s(args.budget), keep, tuple(args.only))


def budget_s(text: str) -> int:
    """Seconds of a length of time such as 90m or 2h. Raises UserError when it is none."""
    match = re.fullmatch(r"([0-9]{1,5})([smh])", text)
    if not match:
        raise UserError(f"'{printable(text)}' is no length of time", hint="for example 90m or 2h")
    return int(match[1]) * _UNITS[match[2]]


def _json(search: Search, run_id: str, ablation: list[tuple[str, Verdict]]) -> dict[str, object]:
    return {
        "system": search.loaded.system.name,
        "run_id": run_id,
        "ended": search.ended,
        "accepted": [spec for spec, _ in search.accepted.values()],
        "experiments": [
            {
                "technique": e.technique,
                "predicted_ns": e.predicted_ns,
                "saving_ns": e.verdict.saving_ns if e.verdict else None,
                "accepted": e.accepted,
                "refusal": e.refusal,
                "base": e.verdict.run_a if e.verdict else None,
                "variant": e.verdict.run_b if e.verdict else None,
            }
            for e in search.experiments
        ],
        "ablation": [{"technique": spec, "worth_ns": found.saving_ns} for spec, found in ablation],
    }


def _print(out: Console, search: Search, run_id: str, ablation: list[tuple[str, Verdict]]) -> None:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("technique")
    for name in ("predicted", "saves", "boot after"):
        table.add_column(name, justify="right")
    table.add_column("")
    for e in search.experiments:
        table.add_row(e.technique, _span(e.predicted_ns), *_measured(e))
    out.print(table)
    for spec, found in ablation:
        out.print(f"without {spec} it would be {_span(found.saving_ns)} more")
    out.print(f"{search.ended}; {len(search.accepted)} techniques accepted; last recording: {run_id}")


def _measured(e: Experiment) -> tuple[str, str, Text]:
    c = e.verdict.comparison if e.verdict else None
    saving = e.verdict.saving_ns if e.verdict else None
    after = seconds(c.total_b_ns) if c and e.accepted else ""
    return _span(saving), after, Text("accepted", "green") if e.accepted else Text(e.refusal, "dim")


def _span(ns: int | None) -> str:
    return "" if ns is None else span(ns)
