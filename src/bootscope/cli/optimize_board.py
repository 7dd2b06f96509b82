# SPDX-License-Identifier: Apache-2.0
"""bootscope optimize for an imported system, on its owner's board."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bootscope.buildtrees import place
from bootscope.buildtrees.keep import load_tree
from bootscope.buildtrees.variants import NAME
from bootscope.cli.board_options import BOARD_OPTIONS
from bootscope.cli.common import refuse
from bootscope.cli.try_board import board_bench
from bootscope.cli.verb import print_json, terminal
from bootscope.core.errors import UserError
from bootscope.core.paths import store_dir
from bootscope.report import searched
from bootscope.report.searched_html import render
from bootscope.search.board_memory import Memory
from bootscope.search.journal import BOARD, Journal
from bootscope.search.session import Options, search_on_board

REPORT = "report.html"


def optimize_on_board(args: argparse.Namespace, asked: Mapping[str, Any], options: Options) -> int:
    """Searches on an imported system; returns the exit code. `asked` are its options, to be kept."""
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
            files = {**output.files, REPORT: render(tree, found)}
            place.place(args.o, replace(output, files=files), NAME, force=False)
    if args.json:
        print_json("optimize", searched.document(tree.name, found))
    else:
        searched.show(terminal(), found, args.o)
    return 0


def asked_of_board(args: argparse.Namespace, usual: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a search on an imported system: as given, else (to resume) those of the last one, else
    the `usual` ones. Those of the board are put into `args`.

    Raises UserError where there is nothing to continue, or its images are unknown.
    """
    refuse(args, ("pareto", "beside"), "is for systems of the emulated board")
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
    asked = {name: getattr(args, name) or before.get(name, value) for name, value in usual.items()}
    return {**asked, **{name: getattr(args, name) for name in BOARD_OPTIONS}}
