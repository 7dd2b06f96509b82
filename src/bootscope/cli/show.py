# SPDX-License-Identifier: Apache-2.0
"""bootscope show and compare: where does the time go, and what has changed?"""

from __future__ import annotations

import argparse
import re

from bootscope.boards.profile import load_board
from bootscope.capture.store import Store
from bootscope.cli.common import check_positive
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.errors import UserError, printable
from bootscope.paths import store_dir
from bootscope.report import jsondoc
from bootscope.report import terminal as text
from bootscope.views import View, comparison, view


def view_of(store: Store, name: str | None, number: int | None = None, board: str | None = None) -> View:
    """A boot as named on the command line: `RUN` or `RUN/BOOT`, else the last run."""
    if name and "/" in name:
        name, _, last = name.partition("/")
        if not re.fullmatch(r"[0-9]{1,6}", last):
            raise UserError(f"'{printable(last)}' is no number of a boot", hint="RUN/BOOT, such as last/2")
        number = int(last)
    return view(store, store.find(name), number, load_board(board) if board else None)


class Show(Verb):
    name = "show"
    summary = "show where the time of a recorded boot goes"
    example = "bootscope show last --top 20"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "run", nargs="?", help="run id or part of one, or RUN/BOOT (default: the last run)"
        )
        parser.add_argument("--boot", type=int, metavar="N", help="which boot of the run")
        parser.add_argument(
            "--board", metavar="B", help="count costs as on another board profile (nothing is booted again)"
        )
        parser.add_argument(
            "--top", type=int, default=12, metavar="N", help="length of the lists (default 12)"
        )

    def run(self, args: argparse.Namespace) -> int:
        check_positive(args, "top")
        v = view_of(Store(store_dir()), args.run, args.boot, args.board)
        if args.json:
            print_json("show", jsondoc.show(v, args.top))
        else:
            text.show(terminal(), v, args.top)
        return 0


class Compare(Verb):
    name = "compare"
    summary = "compare two recorded boots phase by phase, and what booted"
    example = "bootscope compare 20261121-081735 last"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("a", help="run id or part of one, or RUN/BOOT")
        parser.add_argument("b", help="the same, for the boot to compare with A")
        parser.add_argument("--top", type=int, default=20, metavar="N", help="differences shown (default 20)")

    def run(self, args: argparse.Namespace) -> int:
        check_positive(args, "top")
        store = Store(store_dir())
        a, b = view_of(store, args.a), view_of(store, args.b)
        found = comparison(store, a, b)
        if args.json:
            print_json("compare", jsondoc.compare(a, b, found))
        else:
            text.compare(terminal(), a, b, found, args.top)
        return 0
