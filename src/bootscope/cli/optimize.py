# SPDX-License-Identifier: Apache-2.0
"""bootscope optimize: tries applicable techniques, and keeps what is proven to help."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bootscope.buildtrees import place
from bootscope.buildtrees.keep import is_tree, load_tree
from bootscope.buildtrees.variants import NAME
from bootscope.changes.change_files import check_new, write
from bootscope.changes.experiment import title
from bootscope.cli.arguments import flag, option, renamed
from bootscope.cli.board_options import BOARD_OPTIONS, add_trial_options, refuse_trial_options
from bootscope.cli.cluster import add_cluster_option, executor_of
from bootscope.cli.common import add_build_options, check_positive, jobs_of, refuse
from bootscope.cli.named_image import bench as image_bench
from bootscope.cli.named_image import image_of
from bootscope.cli.progress import teller
from bootscope.cli.record import bench_of
from bootscope.cli.try_board import board_bench
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.core.errors import UserError, printable, unknown
from bootscope.core.paths import store_dir
from bootscope.report import search_html, searched, searched_html
from bootscope.report.search_result import document, show
from bootscope.search.bench import Bench
from bootscope.search.board_memory import Memory
from bootscope.search.experiment import Goal
from bootscope.search.image_bench import ImageBench
from bootscope.search.journal import BOARD, Journal
from bootscope.search.result import Result
from bootscope.search.session import Options, search_emulated, search_on_board
from bootscope.system.load import LoadedSystem, load_system
from bootscope.techniques.model import ABILITIES, technique

_REPORT, _IMAGE = "report.html", "image"
_UNITS = {"s": 1, "m": 60, "h": 3600}
_DEFAULTS: dict[str, Any] = {
    "goal": 0.0, "keep": "", "budget": "2h", "only": [], "ablate": False, "pareto": False, "beside": "",
    "groups": False,
}  # fmt: skip
"""Options of a search that `--resume` takes from the last search unless they are given."""


class Optimize(Verb):
    example = "bootscope optimize stock --goal 2s --keep console,updating -o shorter"

    def options(self, parser: argparse.ArgumentParser) -> None:
        capabilities = ", ".join(ABILITIES)
        parser.set_defaults(**dict.fromkeys(_DEFAULTS))
        parser.add_argument("system", help="name of a system (also an imported one), or path of its file")
        option(parser, "--goal", "T", "stop when the boot takes no longer: 2s, 1500ms", type=goal_ms)
        option(parser, "--keep", "LIST", f"capabilities to keep: {capabilities}")
        option(parser, "--beside", "LIST", "also report the fastest variant that keeps these capabilities")
        option(parser, "--budget", "T", "limit of host time, such as 90m or 2h (default 2h)")
        option(parser, "--only", "ID", "only these techniques, or recipes of them (ID=RECIPE)", nargs="+")
        parser.add_argument(
            "--without-each",
            dest="ablate",
            action="store_true",
            help="at the end, measure without each accepted technique, also where that needs another kernel "
            "or a real board",
        )
        renamed(parser, "--ablate", "ablate", action="store_const", const=True)
        flag(
            parser,
            "--pareto",
            "also boot the variants that the table of time against capabilities would only estimate",
        )
        flag(
            parser,
            "--groups",
            "try techniques in groups, and bisect a group that fails: for slow boots",
        )
        flag(parser, "--resume", "continue the last search of this system, with its options")
        option(parser, "-o", "DIR", "write the accepted changes as files, and an HTML report", type=Path)
        add_cluster_option(parser)
        add_build_options(parser, "compile N files and boot N emulated boards at a time")
        add_trial_options(parser)

    def run(self, args: argparse.Namespace) -> int:
        if args.only:
            args.only = [name for words in args.only for name in words.split(",") if name]
        record = image_of([args.system], args.board)
        if args.o:
            check_new(args.o)
        if record or is_tree(args.system):
            refuse(args, ("cluster",), "is for systems that bootscope builds and boots on the emulated board")
        if is_tree(args.system) and record is None:
            asked = _asked_of_board(args)
            return _optimize_on_board(args, asked, _options(args, asked))
        refuse_trial_options(args, args.system, but=("board",) if record else ())
        image = image_bench(args, record) if record else None
        loaded = image.loaded if image else load_system(args.system)
        with executor_of(args) as executor:
            return _optimize(args, image or bench_of(args, executor=executor), loaded)


def _optimize(args: argparse.Namespace, bench: ImageBench | Bench, loaded: LoadedSystem) -> int:
    """Searches on the emulated board; returns the exit code."""
    journal = Journal(bench.store.root, loaded.system.name)
    asked = _asked(args, journal)
    options = _options(args, asked)
    journal.begin(asked)
    # A search may take hours, so it reports progress; standard error is free for that, also with --json.
    tell = teller()
    found = search_emulated(bench, journal, loaded, options, jobs_of(args), tell)
    if args.o:
        _hand_out(args.o, found, bench if isinstance(bench, ImageBench) else None)
        tell(f"written to {args.o}")
    if args.json:
        print_json("optimize", document(found))
    else:
        show(terminal(), found)
    return 0


def _hand_out(folder: Path, a: Result, image: ImageBench | None) -> None:
    pages = {_REPORT: search_html.render(a)}
    accepted = a.search.accepted
    loaded = a.search.bench.system(accepted)
    write(folder, loaded.system, a.search.bench.changes(accepted), pages)
    if image and accepted:
        (folder / _IMAGE).mkdir()
        image.hand_out(loaded, folder / _IMAGE)


def _optimize_on_board(args: argparse.Namespace, asked: Mapping[str, Any], options: Options) -> int:
    """Searches on an imported system; returns the exit code. `asked` are its options, which are stored."""
    tree = load_tree(args.system)[0]
    with board_bench(args, tree) as bench:
        journal = Journal(bench.store.root, tree.name + BOARD)
        how = (bench.rounds, bench.works, bench.check, bench.shop.brings is not None)
        bench.memory = Memory(journal, bench.store, tree, how, args.resume)
        journal.begin(dict(asked))
        found = search_on_board(bench, options)
        journal.end(found.search.ended)
        variants = bench.shop.variants
        if args.o:
            output = variants.of(list(found.search.accepted)).output
            files = {**output.files, _REPORT: searched_html.render(tree, found)}
            place.place(args.o, replace(output, files=files), NAME, force=False)
    if args.json:
        print_json("optimize", searched.document(tree.name, found))
    else:
        searched.show(terminal(), found, args.o)
    return 0


def _asked(args: argparse.Namespace, journal: Journal) -> dict[str, Any]:
    """The options of the search: as given, else (to resume) those of the last one, else the defaults."""
    before: Mapping[str, Any] = {}
    if args.resume:
        if journal.options is None:
            raise UserError(
                f"there is no search of {args.system} to continue", hint=f"bootscope optimize {args.system}"
            )
        before = journal.options
    given = {name: getattr(args, name) for name in _DEFAULTS}
    return {
        name: given[name] if given[name] not in (None, False) else before.get(name, usual)
        for name, usual in _DEFAULTS.items()
    }


def _asked_of_board(args: argparse.Namespace) -> dict[str, Any]:
    """The options of a search on an imported system: as given, otherwise (to resume) those of the last one,
    otherwise the defaults. Those of the board are put into `args`.

    Raises UserError if there is nothing to continue, or its images are unknown.
    """
    refuse(args, ("pareto", "beside", "groups"), "is for systems of the emulated board")
    before: Mapping[str, Any] = {}
    if args.resume:
        tree = load_tree(args.system)[0]
        before = Journal(store_dir(), tree.name + BOARD).options or {}
        again = f"bootscope optimize {tree.name}"
        if not before:
            raise UserError(f"there is no search of {tree.name} to continue", hint=again)
        if not tree.trial.products:
            raise UserError(
                "--resume needs to know which images were booted, and none are configured",
                hint=f"--product at the import (bootscope help real-boards); or measure again: {again}",
            )
        # The option was called --leave before.
        before = {"power_after": before.get("leave"), **before}
    for name in BOARD_OPTIONS:
        setattr(args, name, getattr(args, name) or before.get(name, getattr(args, name)))
    asked = {name: getattr(args, name) or before.get(name, value) for name, value in _DEFAULTS.items()}
    return {**asked, **{name: getattr(args, name) for name in BOARD_OPTIONS}}


def _options(args: argparse.Namespace, asked: Mapping[str, Any]) -> Options:
    if args.goal is not None:
        check_positive(args, "goal")
    for name in asked["only"]:
        _known(name)
    goal = Goal(
        round(asked["goal"] * 1_000_000),
        budget_s(asked["budget"]),
        _capabilities(asked["keep"]),
        tuple(asked["only"]),
        together=asked["groups"],
    )
    return Options(goal, asked["ablate"], asked["pareto"], _capabilities(asked["beside"]))


def _known(spec: str) -> None:
    """Raises UserError for what is neither a technique nor a recipe of one, by the name that `try` uses."""
    name, _, wanted = spec.partition("=")
    found = technique(name)
    recipes = [title(found, recipe) for recipe in found.recipes]
    if wanted and spec not in recipes:
        raise unknown(f"recipe of {name}", wanted, [one.partition("=")[2] or name for one in recipes])


def _capabilities(text: str) -> tuple[str, ...]:
    """The capabilities in a comma-separated list. Raises UserError for an unknown one."""
    found = tuple(filter(None, text.split(",")))
    for ability in found:
        if ability not in ABILITIES:
            raise unknown("capability", ability, list(ABILITIES))
    return found


def goal_ms(text: str) -> float:
    """Milliseconds of a duration such as 1500ms or 2s; a number alone is in ms, as in the first version.
    Raises UserError for anything else."""
    match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)(ms|s)?", text)
    if not match:
        raise UserError(f"--goal {printable(text)} is not a duration", hint="for example 1500ms or 2s")
    return float(match[1]) * (1000 if match[2] == "s" else 1)


def budget_s(text: str) -> int:
    """Seconds of a duration such as 90m or 2h. Raises UserError for anything else."""
    match = re.fullmatch(r"([0-9]{1,5})([smh])", text)
    if not match:
        raise UserError(f"'{printable(text)}' is not a duration", hint="for example 90m or 2h")
    return int(match[1]) * _UNITS[match[2]]
