# SPDX-License-Identifier: Apache-2.0
"""bootscope check: does a run keep its budgets, and is it as fast as its baseline?"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path

from bootscope.analysis.samples import SampleSet
from bootscope.capture.store import Store
from bootscope.check import formats
from bootscope.check.baseline import baseline_of
from bootscope.check.checked import Checked
from bootscope.check.markdown import as_markdown
from bootscope.check.model import DEFAULT, Check
from bootscope.check.products import checked as check_of
from bootscope.check.products import each_checked, newest_ended, newest_run, product_of
from bootscope.check.products import named as named_products
from bootscope.check.reading import read_checks
from bootscope.cli.arguments import flag, option, several
from bootscope.cli.check_posts import add_posts, check_posts, job_of, post
from bootscope.cli.common import refuse
from bootscope.cli.main import show_error
from bootscope.cli.output import write_file
from bootscope.cli.stores import open_store
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.core.errors import BootscopeError, ToolError, UserError, printable
from bootscope.report import check as text
from bootscope.report.boots import named
from bootscope.runs.run import run_and_boot, sample_set

MISSED = 3
"""The exit code of a missed budget: a result of the board, not a mistake of the user's and no bug of ours."""
_TOLD = (
    "junit", "gitlab", "markdown", "github", "lava", "kcidb", "kcidb_origin", "kcidb_build",
    "comment", "comment_on", "comment_name", "webhook",
)  # fmt: skip
"""Options for the output of a check's result."""
_MORE = "record or import more boots; 10 are a good start"
SUMMARY = "GITHUB_STEP_SUMMARY"


class CheckVerb(Verb):
    example = "bootscope check last -f bootscope-check.toml --junit boot.xml"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "run", nargs="?", help="run id or part of one (default: the newest run, or that of each product)"
        )
        option(parser, "-f --file", "F", f"the check file (default {DEFAULT})", type=Path)
        several(parser, "--product", "NAME", "only this product of the check file (repeatable)")
        several(parser, "--label", "KEY[=VALUE]", "the newest run with this label (repeatable)")
        option(parser, "--save-baseline", "FILE", "write the run as a baseline; check nothing", type=Path)
        option(parser, "--junit", "FILE", "write JUnit XML", type=Path)
        option(parser, "--gitlab", "FILE", "write metrics for GitLab (OpenMetrics)", type=Path)
        option(parser, "--markdown", "FILE", "write the result as Markdown, as for a comment", type=Path)
        flag(parser, "--github", "write a step summary and annotations (in GitHub Actions)")
        flag(parser, "--lava", "print the results as LAVA's signals")
        option(parser, "--kcidb", "FILE", "write tests for KernelCI's database", type=Path)
        option(parser, "--kcidb-origin", "NAME", "the CI system that submits (with --kcidb)")
        option(parser, "--kcidb-build", "ID", "the tested build's id there (with --kcidb)")
        add_posts(parser)

    def run(self, args: argparse.Namespace) -> int:
        _agree(args)
        args.file = args.file or DEFAULT
        checks = () if args.save_baseline else read_checks(args.file)
        store = open_store()
        if args.save_baseline:
            name, number = run_and_boot(args.run)
            return _save(args, sample_set(store, newest_ended(store) if name is None else name, number))
        checked, failed = _checked(args, store, checks)
        _write_files(args, checked)
        if args.json:
            print_json("checks" if checked[0].product else "check", text.document(checked))
        else:
            _print(args, checked)
        if not failed:
            refused = (each for each in checked if each.outcome.refused)
            failed += [UserError(_words(each), hint=_MORE) for each in refused]
        failed += post(args, checked)
        return _ended(failed, missed=any(each.outcome.missed for each in checked))


def _checked(
    args: argparse.Namespace, store: Store, checks: Sequence[Check]
) -> tuple[list[Checked], list[BootscopeError]]:
    """The checks of all requested products, and the errors of those that could not be checked."""
    name, number = run_and_boot(args.run)
    if not checks[0].product:
        refuse(args, ("product",), f"is for a check file with products; {args.file} names none")
        if name is None:
            # Never an older run in place of one that failed: only the name `last` passes over such runs.
            name = newest_run(store, checks[0], args.label) if args.label else newest_ended(store)
        return [check_of(store, checks[0], sample_set(store, name, number))], []
    chosen = named_products(checks, args.product)
    if name is None:
        return each_checked(store, chosen, lambda check: newest_run(store, check, args.label))
    run_id = store.find_id(name)
    check = chosen[0] if len(args.product) == 1 else product_of(store, chosen, run_id)
    return [check_of(store, check, sample_set(store, run_id, number))], []


def _words(each: Checked) -> str:
    words = named(each.outcome.refused, 400)
    return f"{named(each.product)}: {words}" if each.product else words


def _ended(failed: list[BootscopeError], *, missed: bool) -> int:
    """The exit code. Failures to send the result are reported, but do not hide a missed budget."""
    for error in failed[0 if missed else 1 :]:
        show_error(error)
    if failed and not missed:
        raise failed[0]
    return MISSED if missed else 0


def _agree(args: argparse.Namespace) -> None:
    """Raises UserError for options that exclude each other."""
    if args.save_baseline:
        refuse(args, ("file", "product", "label", *_TOLD), "is for a check; --save-baseline checks nothing")
    check_posts(args)
    if args.run:
        refuse(args, ("label",), f"chooses a run; {printable(args.run)} names one")
    if not args.kcidb:
        refuse(args, ("kcidb_origin", "kcidb_build"), "goes with --kcidb FILE", "bootscope help ci")
    if args.json and (args.github or args.lava):
        raise UserError("--json, --github and --lava all write to standard output", hint="use one of them")
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
    if args.junit:
        write_file(args.junit, formats.as_junit(checked))
    if args.gitlab:
        write_file(args.gitlab, formats.as_metrics(checked))
    if args.kcidb:
        write_file(args.kcidb, formats.as_kcidb(checked, args.kcidb_origin, args.kcidb_build))
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


def _print(args: argparse.Namespace, checked: Sequence[Checked]) -> None:
    """The tables, then the lines that the CI system reads from the output."""
    # Names from a boot could look like commands to GitHub: it ignores commands until this word comes again.
    word = secrets.token_hex(16)
    if args.github:
        print(f"::stop-commands::{word}")
    for each in checked:
        text.check(terminal(), each)
    if args.github:
        print(f"::{word}::")
        for line in formats.as_annotations(checked, str(args.file)):
            print(line)
    if args.lava:
        for line in formats.as_lava(checked):
            print(line)
    sys.stdout.flush()
