# SPDX-License-Identifier: Apache-2.0
"""bootscope bisect: the commit after which the boot is slower, or breaks."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bootscope.boards.profile import load_board
from bootscope.cli.arguments import flag, option
from bootscope.cli.cluster import add_cluster_option, executor_of
from bootscope.cli.common import add_build_options, check_positive
from bootscope.cli.observers import Quiet
from bootscope.cli.output import write_file
from bootscope.cli.record import bench_of
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.core.errors import UserError, printable, to_stderr, unknown
from bootscope.core.paths import cache_dir
from bootscope.emulator.executor import Executor
from bootscope.emulator.plugin_config import default_until
from bootscope.regression.journal import FOLDER, Journal
from bootscope.regression.session import TREES, Found, Question, Session, source_name
from bootscope.regression.tree import Checkout, sources_of
from bootscope.system.load import load_system, milestones

if TYPE_CHECKING:
    from bootscope.report.bisected import Difference

_LATER = ("buildroot", "layer")
"""Trees that are not searched yet."""


class Bisect(Verb):
    example = "bootscope bisect stock --tree uboot ~/u-boot --good v2025.01 --bad HEAD --by 1"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("system", help="system that is built from the tree: a name or a system file")
        option(parser, "--good", "A", "commit whose boot is good", required=True)
        option(parser, "--bad", "B", "later commit whose boot is slower or fails", required=True)
        kinds = "|".join(TREES)
        what = "which source of the system the git tree in DIR is"
        option(parser, "--tree", (kinds, "DIR"), what, required=True, nargs=2)
        option(
            parser,
            "--milestone",
            "M",
            "boot to this milestone and compare its time (default: as record does)",
        )
        option(parser, "--phase", "P", "compare show the length of a phase instead")
        option(
            parser, "--by", "MS", "what counts as slower, in ms (default: half of the difference)", type=float
        )
        flag(parser, "--all", "find every commit that costs or saves at least --by")
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
            raise UserError("--all needs --by: how much a commit has to cost", hint="such as --by 0.1 (ms)")
        with executor_of(args) as executor:
            session = _session(args, executor, (lambda text: None) if args.json else to_stderr)
            found = session.run()
        # What compares is loaded when there is something to compare.
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


def _session(args: argparse.Namespace, executor: Executor, says: Callable[[str], None]) -> Session:
    """The bisection as it is asked for. Raises UserError for what cannot be."""
    kind, folder = args.tree
    if kind in _LATER:
        raise UserError(f"--tree {kind} is not there yet", hint=f"{', '.join(TREES)} are")
    if kind not in TREES:
        raise unknown("kind of tree", kind, list(TREES))
    loaded = load_system(args.system)
    source_name(loaded.system, kind)
    until = args.milestone or default_until(loaded.system)
    if until not in (there := milestones(loaded.system, load_board(loaded.system.board).boot_loader)):
        raise unknown("milestone", until, there)
    sources = sources_of(Path(folder).expanduser())
    commits = sources.between(args.good, args.bad)
    by_ns = None if args.by is None else int(args.by * 1_000_000)
    question = Question(loaded, kind, until, args.phase or "", by_ns, args.all)
    bench = bench_of(args, Quiet(), executor=executor)
    # What is tried does not depend on what is looked for in it.
    words = (str(loaded.path.resolve()), kind, str(sources.tree), until, args.phase or "")
    journal = Journal(bench.store.root, loaded.system.name, words)
    tried = journal.read() if args.resume else {}
    if not args.resume:
        journal.begin()
    return Session(
        question, commits, Checkout(sources, cache_dir() / FOLDER), bench, journal,
        lambda text: says(printable(text)), dict(tried),
    )  # fmt: skip


def _difference(session: Session, one: Found) -> Difference | None:
    """What the boots before and after differ in; None where one broke."""
    if one.ns is None:
        return None
    from bootscope.analysis.views import view
    from bootscope.report.bisected import difference

    store = session.bench.store
    runs = (store.load(tried.run_id) for tried in (one.tried_before, one.tried))
    return difference(*(view(store, run, indexed=True) for run in runs))


def _command(args: argparse.Namespace) -> str:
    """The command that finds the same again."""
    words: Sequence[str] = ["bootscope", "bisect", args.system, "--tree", *args.tree, "--good", args.good]
    more = {"--milestone": args.milestone, "--phase": args.phase, "--by": args.by}
    given = [word for name, value in more.items() if value is not None for word in (name, str(value))]
    return printable(shlex.join([*words, "--bad", args.bad, *given, *(["--all"] if args.all else [])]))
