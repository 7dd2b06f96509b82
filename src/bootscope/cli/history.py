# SPDX-License-Identifier: Apache-2.0
"""bootscope history: a milestone or phase over commits or days, and where it changed."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from bootscope.cli.arguments import option, several
from bootscope.cli.common import check_positive
from bootscope.cli.output import write_file
from bootscope.cli.runs import chosen
from bootscope.cli.stores import open_store
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.core.errors import UserError
from bootscope.core.text import size
from bootscope.history.commits import commits
from bootscope.history.series import BY, COMMIT, Change, Series, series
from bootscope.runs.listing import listed

_TOP = 10


class History(Verb):
    example = "bootscope history --label branch=main --phase kernel"

    def options(self, parser: argparse.ArgumentParser) -> None:
        what = parser.add_mutually_exclusive_group()
        option(what, "--milestone", "M", "the milestone to show (default: that of the newest run)")
        option(what, "--phase", "P", "show the length of a phase instead")
        parser.add_argument(
            "--by", choices=BY, help="a point for each (default: commit where runs have that label)"
        )
        option(parser, "--tree", "DIR", "git tree to take the order and subjects of commits from", type=Path)
        option(parser, "--system", "S", "only runs of this system")
        option(parser, "--board", "B", "only runs of this board")
        several(parser, "--label", "KEY[=VALUE]", "only runs with this label (repeatable)")
        option(parser, "--since", "T", "only runs made since then: 2026-11-20, 'today', 3d, 12h")
        option(parser, "--least", "MS", "list only changes of at least so many ms", type=float)
        option(parser, "--top", "N", f"list the N largest changes (default {_TOP})", type=int)
        option(parser, "-o --output", "FILE.html", "write a page with the plot and all points", type=Path)

    def run(self, args: argparse.Namespace) -> int:
        check_positive(args, "top", "least")
        if args.tree and args.by not in (None, COMMIT):
            raise UserError(f"--tree orders commits; --by {args.by} does not", hint="leave out one of them")
        if args.output and args.output.suffix.lower() not in (".html", ".htm"):
            raise UserError(
                f"{args.output}: a history is written as HTML", hint="-o FILE.html; --json for programs"
            )
        store = open_store()
        order = commits(args.tree) if args.tree else None
        args.kind = None
        about = f"phase {args.phase}" if args.phase else args.milestone
        found = series(listed(store, chosen(store, args), own=True), about, args.by, order)
        if args.output:
            _write(args.output, found, quiet=args.json)
        if args.json:
            from bootscope.report.history import document

            print_json("history", document(found))
        elif not args.output:
            from bootscope.report.history import history

            some, smaller = _largest(found.changes, int((args.least or 0) * 1e6), args.top or _TOP)
            history(terminal(), found, some, smaller)
        return 0


def _write(path: Path, found: Series, *, quiet: bool) -> None:
    from bootscope.report.history_html import render

    data = render(found).encode()
    write_file(path, data)
    if not quiet:
        terminal().print(f"wrote {path} ({size(len(data))})", markup=False, soft_wrap=True)


def _largest(changes: Sequence[Change], least_ns: int, top: int) -> tuple[list[Change], int]:
    """The largest changes in order of time, and how many are left out."""
    ranked = sorted((c for c in changes if abs(c.ns) >= least_ns), key=lambda c: -abs(c.ns))[:top]
    kept = {change.point.name for change in ranked}
    return [change for change in changes if change.point.name in kept], len(changes) - len(ranked)
