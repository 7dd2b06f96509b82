# SPDX-License-Identifier: Apache-2.0
"""bootscope optimize for an imported system, on its owner's board."""

from __future__ import annotations

import argparse

from bootscope.buildtrees import place
from bootscope.buildtrees.keep import load_tree
from bootscope.buildtrees.variants import NAME
from bootscope.cli.try_board import board_bench
from bootscope.cli.verb import print_json, terminal
from bootscope.errors import UserError
from bootscope.lab.board_search import BoardSearch
from bootscope.lab.optimize import Goal
from bootscope.report import searched


def optimize_on_board(args: argparse.Namespace, goal: Goal) -> int:
    """Searches on an imported system; returns the exit code."""
    for option in ("resume", "ablate", "pareto", "beside"):
        if getattr(args, option):
            raise UserError(f"--{option} is for systems of the emulated board")
    tree = load_tree(args.system)[0]
    with board_bench(args, tree) as bench:
        search = BoardSearch(bench, goal, bench.observer.says)
        search.run()
        variants = bench.shop.variants
        if args.o:
            output = variants.of(list(search.accepted)).output
            place.place(args.o, output, NAME, force=False)
    if args.json:
        print_json("optimize", searched.document(tree.name, search, goal))
    else:
        searched.show(terminal(), search, args.o)
    return 0
