# SPDX-License-Identifier: Apache-2.0
"""bootscope bisect: the commit, symbol, package or file that makes the boot slower, or breaks it."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bootscope.boards.profile import load_board
from bootscope.cli import bisect_inputs
from bootscope.cli.arguments import flag, option
from bootscope.cli.cluster import add_cluster_option, executor_of
from bootscope.cli.common import add_build_options, check_positive, refuse
from bootscope.cli.observers import Quiet
from bootscope.cli.output import writable, write_file
from bootscope.cli.record import bench_of
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.core.errors import UserError, printable, to_stderr, unknown
from bootscope.core.paths import cache_dir
from bootscope.emulator.executor import Executor
from bootscope.emulator.plugin_config import default_until
from bootscope.regression.journal import FOLDER
from bootscope.regression.question import Question
from bootscope.regression.session import TREES, Found, Session, source_name
from bootscope.regression.tree import Checkout, sources_of
from bootscope.search.bench import Bench
from bootscope.system.load import load_system, milestones

if TYPE_CHECKING:
    from bootscope.report.bisected import Difference

_LATER = ("buildroot", "layer")
"""Trees that cannot be searched yet."""


class Bisect(Verb):
    example = "bootscope bisect stock --tree uboot ~/u-boot --good v2025.01 --bad HEAD --by 1"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("system", help="system that is built: a name or a system file")
        option(parser, "--good", "A", "with --tree: commit whose boot is good")
        option(parser, "--bad", "B", "with --tree: later commit whose boot is slower or fails")
        kinds = "|".join(TREES)
        what = "search commits: which source of the system the git tree in DIR is"
        option(parser, "--tree", (kinds, "DIR"), what, nargs=2)
        for kind, words in bisect_inputs.KINDS.items():
            option(parser, f"--{kind}", ("GOOD", "BAD"), f"search what differs between two {words}", nargs=2)
        option(
            parser,
            "--milestone",
            "M",
            "boot to this milestone and compare its time (default: as record does)",
        )
        option(parser, "--phase", "P", "compare the length of a phase instead")
        option(
            parser,
            "--by",
            "MS",
            "what counts as slower, in ms (default: half of the difference of two commits)",
            type=float,
        )
        flag(parser, "--all", "find every commit or difference that costs or saves at least --by")
        flag(parser, "--resume", "continue an interrupted bisect")
        option(
            parser,
            "-o --output",
            "FILE.md",
            "write the result as Markdown, to paste into a report",
            type=Path,
        )
        add_cluster_option(parser)
        add_build_options(parser)

    def run(self, args: argparse.Namespace) -> int:
        check_positive(args, "by")
        if args.all and args.by is None:
            raise UserError("--all needs --by: the smallest cost to report", hint="such as --by 0.1 (ms)")
        _check_kinds(args)
        if args.output:
            writable(args.output)
        says: Callable[[str], None] = (lambda text: None) if args.json else to_stderr
        with executor_of(args) as executor:
            if bisect_inputs.given(args):
                return bisect_inputs.run(args, _question(args), _bench(args, executor), says)
            session = _session(args, _bench(args, executor), says)
            found = session.run()
        # The comparison code is loaded only once there is something to compare.
        from bootscope.report import bisected as text

        told = [(one, _difference(session, one)) for one in found]
        if args.output:
            write_file(args.output, text.markdown(session, told, _command(args)).encode())
        if args.json:
            print_json("bisect", text.document(session, told))
        else:
            text.bisected(terminal(), session, told)
            if args.output:
                terminal().print(f"wrote {args.output}", markup=False, soft_wrap=True)
        return 0


def _check_kinds(args: argparse.Namespace) -> None:
    """Raises UserError unless exactly one thing to search is given, with all that it needs."""
    kinds = ["tree", *bisect_inputs.KINDS]
    named = [f"--{kind}" for kind in kinds if getattr(args, kind)]
    if len(named) != 1:
        told = f"{' and '.join(named)} cannot be searched at once" if named else "nothing to search is given"
        raise UserError(told, hint=f"one of {', '.join(f'--{kind}' for kind in kinds)}")
    if args.tree and not (args.good and args.bad):
        raise UserError("--tree needs two commits", hint="--good A --bad B")
    if not args.tree:
        refuse(args, ("good", "bad"), f"is for --tree; {named[0]} already names both")


def _bench(args: argparse.Namespace, executor: Executor) -> Bench:
    return bench_of(args, Quiet(), executor=executor)


def _question(args: argparse.Namespace) -> Question:
    """The question to answer. Raises UserError for a milestone that the system does not have."""
    loaded = load_system(args.system)
    until = args.milestone or default_until(loaded.system)
    if until not in (there := milestones(loaded.system, load_board(loaded.system.board).boot_loader)):
        raise unknown("milestone", until, there)
    by_ns = None if args.by is None else int(args.by * 1_000_000)
    return Question(loaded, until, args.phase or "", by_ns, args.all)


def _session(args: argparse.Namespace, bench: Bench, says: Callable[[str], None]) -> Session:
    """The requested bisection over commits. Raises UserError if it is not possible."""
    kind, folder = args.tree
    if kind in _LATER:
        raise UserError(f"--tree {kind} is not supported yet", hint=f"{', '.join(TREES)} are")
    if kind not in TREES:
        raise unknown("kind of tree", kind, list(TREES))
    question = _question(args)
    source_name(question.loaded.system, kind)
    sources = sources_of(Path(folder).expanduser())
    commits = sources.between(args.good, args.bad)
    journal = bisect_inputs.journal_of(bench.store.root, question, (kind, str(sources.tree)))
    tried = journal.read() if args.resume else {}
    if not args.resume:
        journal.begin()
    return Session(
        question, kind, commits, Checkout(sources, cache_dir() / FOLDER), bench, journal,
        lambda text: says(printable(text)), dict(tried),
    )  # fmt: skip


def _difference(session: Session, one: Found) -> Difference | None:
    """The differences between the boots before and after; None if one of them broke."""
    if one.ns is None:
        return None
    from bootscope.analysis.views import view
    from bootscope.report.bisected import difference

    store = session.bench.store
    runs = (store.load(tried.run_id) for tried in (one.tried_before, one.tried))
    before, after = (view(store, run, indexed=True) for run in runs)
    return difference(before, after)


def _command(args: argparse.Namespace) -> str:
    """The command that repeats this bisection."""
    words: Sequence[str] = ["bootscope", "bisect", args.system, "--tree", *args.tree, "--good", args.good]
    return printable(shlex.join([*words, "--bad", args.bad, *bisect_inputs.asked(args)]))
