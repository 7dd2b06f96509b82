# SPDX-License-Identifier: Apache-2.0
"""bootscope check: does a run keep its budgets, and stand up to its baseline?"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bootscope.analysis.samples import SampleSet
from bootscope.capture.store import Store
from bootscope.check import formats
from bootscope.check.baseline import baseline_of, read_baseline
from bootscope.check.checked import Checked
from bootscope.check.decide import Outcome, decide
from bootscope.check.markdown import as_markdown
from bootscope.check.model import DEFAULT, Check, read_check
from bootscope.cli.arguments import flag, option
from bootscope.cli.check_posts import add_posts, check_posts, job_of, post
from bootscope.cli.common import refuse
from bootscope.cli.main import show_error
from bootscope.cli.output import write_file
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.core.errors import BootscopeError, ToolError, UserError
from bootscope.core.paths import store_dir
from bootscope.report import check as text
from bootscope.report.boots import named
from bootscope.runs.run import run_and_boot, sample_set

MISSED = 3
"""The exit code of a missed budget: what the board did, not a mistake of the user's and no bug of ours."""
_TOLD = (
    "junit", "gitlab", "markdown", "github", "lava", "kcidb", "kcidb_origin", "kcidb_build",
    "comment", "comment_on", "comment_name", "webhook",
)  # fmt: skip
"""Options that say how the result of a check is told."""
_MORE = "record or import more boots; 10 are a good start"
SUMMARY = "GITHUB_STEP_SUMMARY"


class CheckVerb(Verb):
    example = "bootscope check last -f bootscope-check.toml --junit boot.xml"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("run", nargs="?", help="run id or part of one (default: the last run)")
        option(parser, "-f --file", "F", f"the check file (default {DEFAULT})", type=Path)
        option(parser, "--save-baseline", "FILE", "write the run as a baseline; check nothing", type=Path)
        option(parser, "--junit", "FILE", "write JUnit XML", type=Path)
        option(parser, "--gitlab", "FILE", "write metrics for GitLab (OpenMetrics)", type=Path)
        option(parser, "--markdown", "FILE", "write the result as Markdown, as a comment has it", type=Path)
        flag(parser, "--github", "write a step summary and annotations (in GitHub Actions)")
        flag(parser, "--lava", "print the results as LAVA's signals")
        option(parser, "--kcidb", "FILE", "write tests for KernelCI's database", type=Path)
        option(parser, "--kcidb-origin", "NAME", "the CI system that submits (with --kcidb)")
        option(parser, "--kcidb-build", "ID", "the tested build's id there (with --kcidb)")
        add_posts(parser)

    def run(self, args: argparse.Namespace) -> int:
        _agree(args)
        name, number = run_and_boot(args.run)
        args.file = args.file or DEFAULT
        check = None if args.save_baseline else read_check(args.file)
        store = Store(store_dir())
        boots = sample_set(store, name, number)
        if check is None:
            return _save(args, boots)
        outcome = _decided(check, boots, store)
        checked = [Checked("", outcome)]
        _write_files(args, checked)
        if args.json:
            print_json("check", text.document(outcome))
        else:
            _print(args, outcome)
        failed = list(post(args, checked))
        if outcome.refused:
            failed.insert(0, UserError(named(outcome.refused, 400), hint=_MORE))
        return _ended(failed, missed=bool(outcome.missed))


def _ended(failed: list[BootscopeError], *, missed: bool) -> int:
    """The exit code. What could not be sent is told, and does not hide that a budget was missed."""
    for error in failed[0 if missed else 1 :]:
        show_error(error)
    if failed and not missed:
        raise failed[0]
    return MISSED if missed else 0


def _decided(check: Check, boots: SampleSet, store: Store) -> Outcome:
    """The outcome, with the baseline from its file or from the store."""
    if check.history is None:
        return decide(check, boots, read_baseline(check.baseline) if check.baseline else None)
    # What reads a history is not loaded for other checks.
    from bootscope.check.from_history import history_baseline

    found, words = history_baseline(store, boots.run_id, boots, check.history, check.milestone)
    outcome = decide(check, boots, found)
    return replace(outcome, notes=(words, *outcome.notes))


def _agree(args: argparse.Namespace) -> None:
    """Raises UserError for options that do not go together."""
    if args.save_baseline:
        refuse(args, ("file", *_TOLD), "is for a check; --save-baseline checks nothing")
    check_posts(args)
    if not args.kcidb:
        refuse(args, ("kcidb_origin", "kcidb_build"), "goes with --kcidb FILE", "bootscope help ci")
    if args.json and (args.github or args.lava):
        raise UserError("--json, --github and --lava all want standard output", hint="one of them")
    if args.kcidb and not (args.kcidb_origin and args.kcidb_build):
        raise UserError("--kcidb needs --kcidb-origin and --kcidb-build", hint="bootscope help ci")
    if args.github and not os.environ.get(SUMMARY):
        raise UserError(
            f"--github: {SUMMARY} is not set", hint="GitHub Actions sets it; leave out --github elsewhere"
        )


def _save(args: argparse.Namespace, boots: SampleSet) -> int:
    write_file(args.save_baseline, baseline_of(boots))
    done = {"path": str(args.save_baseline), "run_id": boots.run_id, "boots": len(boots.complete)}
    if args.json:
        print_json("baseline", done)
    else:
        words = f"wrote {args.save_baseline}: {len(boots.complete)} boots of {boots.run_id}"
        terminal().print(words, markup=False)
    return 0


def _write_files(args: argparse.Namespace, checked: Sequence[Checked]) -> None:
    outcome = checked[0].outcome
    if args.junit:
        write_file(args.junit, formats.as_junit(outcome))
    if args.gitlab:
        write_file(args.gitlab, formats.as_metrics(outcome))
    if args.kcidb:
        write_file(args.kcidb, formats.as_kcidb(outcome, args.kcidb_origin, args.kcidb_build))
    if args.markdown:
        write_file(args.markdown, as_markdown(checked, job_of(os.environ)))
    if args.github:
        _append(Path(os.environ[SUMMARY]), as_markdown(checked))


def _append(path: Path, data: bytes) -> None:
    try:
        with path.open("ab") as f:
            f.write(data)
    except OSError as error:
        raise ToolError(f"cannot write {path}, which {SUMMARY} names: {error.strerror}") from error


def _print(args: argparse.Namespace, outcome: Outcome) -> None:
    """The table, then what the CI system reads from the output."""
    if args.github:
        # Names from a boot could look like commands to GitHub: it reads none until this word comes again.
        word = secrets.token_hex(16)
        print(f"::stop-commands::{word}")
        text.check(terminal(), outcome)
        print(f"::{word}::")
        for line in formats.as_annotations(outcome, str(args.file)):
            print(line)
    else:
        text.check(terminal(), outcome)
    if args.lava:
        for line in formats.as_lava(outcome):
            print(line)
    sys.stdout.flush()
