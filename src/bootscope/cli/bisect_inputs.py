# SPDX-License-Identifier: Apache-2.0
"""bootscope bisect --config, --packages, --files: the differences between two inputs that the user gives."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from bootscope.builder.ids import id_of
from bootscope.capture.store import Store
from bootscope.cli.observers import Quiet
from bootscope.cli.output import write_file
from bootscope.cli.verb import print_json, terminal
from bootscope.core.errors import printable
from bootscope.regression.differences import Culprit, DifferenceSession
from bootscope.regression.inputs import Inputs
from bootscope.regression.journal import Journal
from bootscope.regression.question import Question
from bootscope.regression.trial import Trials
from bootscope.search.bench import Bench
from bootscope.system.load import LoadedSystem

if TYPE_CHECKING:
    from bootscope.report.bisected_differences import Shown

Says = Callable[[str], None]
KINDS = {
    "config": "kernel configurations: .config files, runs, or systems",
    "packages": "lists of Debian packages: files with names, folders or archives of .deb files, or systems",
    "files": "root file systems or overlays: folders, ext or SquashFS images, or tar archives",
}
"""Option -> the kinds of inputs it takes."""


def given(args: argparse.Namespace) -> str:
    """Which of KINDS was asked for; empty for none."""
    return next((kind for kind in KINDS if getattr(args, kind)), "")


def run(args: argparse.Namespace, question: Question, bench: Bench, says: Says) -> int:
    """Searches the differences of two inputs, and prints the result; returns the exit code."""
    kind = given(args)
    with bench.cache.workspace() as work:
        inputs = _inputs(kind, question.loaded, getattr(args, kind), bench, work)
        for note in inputs.notes:
            says(printable(note))
        says(inputs.words)
        session = _session(args, question, inputs, bench, says)
        found = session.run()
        _print(args, session, [_shown(session, bench.store, one) for one in found])
    return 0


def _inputs(kind: str, loaded: LoadedSystem, names: Sequence[str], bench: Bench, work: Path) -> Inputs:
    """The inputs. Raises UserError for what cannot be compared, and if nothing differs."""
    pair = (str(names[0]), str(names[1]))
    if kind == "files":
        from bootscope.regression.files import files

        return files(loaded, pair, bench.cache, work)
    if kind == "packages":
        from bootscope.regression.packages import packages

        return packages(loaded, pair, bench, work)
    from bootscope.regression.configs import configs

    return configs(loaded, pair, bench)


def _session(
    args: argparse.Namespace, question: Question, inputs: Inputs, bench: Bench, says: Says
) -> DifferenceSession:
    journal = journal_of(bench.store.root, question, (inputs.option, inputs.key))
    tried = journal.read() if args.resume else {}
    if not args.resume:
        journal.begin()
    trials = Trials(bench, question.until, question.quantity, "bisect", Quiet())
    return DifferenceSession(
        question, inputs, trials, journal, lambda text: says(printable(text)), dict(tried)
    )


def journal_of(store_root: Path, question: Question, searched: Sequence[str]) -> Journal:
    """The journal of a bisection; `searched` identifies what is searched.

    An edited system has another one: its results differ. The threshold and --all are not part of the name,
    as the results do not depend on them.
    """
    loaded = question.loaded
    system_id = id_of(msgspec.to_builtins(loaded.system))
    words = (str(loaded.path.resolve()), system_id, *searched, question.until, question.phase)
    return Journal(store_root, loaded.system.name, words)


def _shown(session: DifferenceSession, store: Store, one: Culprit) -> Shown:
    """A culprit with the differences between the boots without and with it."""
    from bootscope.analysis.views import view
    from bootscope.report.bisected import difference
    from bootscope.report.bisected_differences import Shown

    if not one.tried_before.run_id or not one.tried.run_id:
        return Shown(one, None)
    before, after = (store.load(tried.run_id) for tried in (one.tried_before, one.tried))
    moved = session.inputs.moved(one.units, before, after)
    if one.ns is None:
        return Shown(one, None, moved)
    first, second = (view(store, run, indexed=True) for run in (before, after))
    return Shown(one, difference(first, second, session.inputs.views), moved)


def _print(args: argparse.Namespace, session: DifferenceSession, found: Sequence[Shown]) -> None:
    # The comparison code is loaded only once there is something to compare.
    from bootscope.report import bisected_differences as text

    if args.output:
        write_file(args.output, text.markdown(session, found, _command(args, session)).encode())
    if args.json:
        print_json("bisect", text.document(session, found))
        return
    text.bisected(terminal(), session, found)
    if args.output:
        terminal().print(f"wrote {args.output}", markup=False, soft_wrap=True)


def _command(args: argparse.Namespace, session: DifferenceSession) -> str:
    """The command that repeats this bisection."""
    words = [
        "bootscope",
        "bisect",
        args.system,
        session.inputs.option,
        session.inputs.good,
        session.inputs.bad,
    ]
    return printable(shlex.join([*words, *asked(args)]))


def asked(args: argparse.Namespace) -> list[str]:
    """The options of the question, as given on the command line."""
    more = {"--milestone": args.milestone, "--phase": args.phase, "--by": args.by}
    words = [word for name, value in more.items() if value is not None for word in (name, str(value))]
    return [*words, *(["--all"] if args.all else [])]
