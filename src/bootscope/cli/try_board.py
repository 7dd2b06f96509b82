# SPDX-License-Identifier: Apache-2.0
"""bootscope try for an imported system: built by its owner's command, booted on its owner's board."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from bootscope.artefacts.identify import together
from bootscope.boards.physical import real_board
from bootscope.builder.cache import Cache
from bootscope.buildtrees import subject
from bootscope.buildtrees.keep import load_tree
from bootscope.buildtrees.model import Tree
from bootscope.buildtrees.owner import build_words, words
from bootscope.buildtrees.products import Keeper
from bootscope.buildtrees.variants import Variants
from bootscope.buildtrees.workshop import Workshop, opened
from bootscope.capture.record import BootInfo
from bootscope.changes.experiment import check, check_apply, title
from bootscope.cli.apply import values_of
from bootscope.cli.board_options import ordered
from bootscope.cli.common import check_positive, refuse, refuse_build_options
from bootscope.cli.stores import open_store
from bootscope.cli.verb import print_json, terminal
from bootscope.core.errors import UserError
from bootscope.core.paths import cache_dir
from bootscope.hardware.measuring import Observer
from bootscope.report import boots, tried
from bootscope.search.board_bench import BoardBench
from bootscope.search.board_verdict import board_verdict
from bootscope.search.interleave import ENOUGH, FEWEST
from bootscope.search.of_run import techniques_of_run
from bootscope.search.services import words_of

REFUSED = 3
NO_VERDICT = 2
DEFAULT_BOOTS = 10


def try_on_board(args: argparse.Namespace) -> int:
    """Tries techniques on an imported system; returns the exit code."""
    tree = load_tree(args.system)[0]
    refuse(args, ("own_base",), "is for systems of the emulated board")
    _refuse_hardware(args.technique)
    if not args.force:
        _check_apply(tree, args.technique)
    with board_bench(args, tree) as bench:
        variants = bench.shop.variants
        variant = variants.of(args.technique)
        pair = bench.pair(variants.base, variant)
        found = board_verdict(bench.store, pair, bench.shop.deploys)
    if args.json:
        print_json("try", tried.document(found))
    else:
        tried.show(terminal(), found)
    if not found.works:
        return REFUSED
    return NO_VERDICT if found.comparison is None or found.comparison.refused else 0


def _check_apply(tree: Tree, specs: list[str]) -> None:
    """Raises UserError for techniques that need not be tried, as far as the tree's files show."""
    recipes = {title(found, name): recipe for found, name, recipe in check(specs)}
    check_apply(recipes, together(subject.pieces(tree)[0]), tree.name)


def _refuse_hardware(specs: list[str]) -> None:
    """Raises UserError for changes that no build can make."""
    for found, _, recipe in check(specs):
        if "board" in recipe.change.settings:
            raise UserError(
                f"{found.id} is a hardware change, which no build can make",
                hint="change the board, and compare boots from before and after: bootscope compare",
            )


@dataclass
class Told(Observer):
    """Prints the progress, one line per step; nothing if `quiet`."""

    quiet: bool

    def says(self, text: str) -> None:
        """A message for the user."""
        if not self.quiet:
            print(f"--- {boots.named(text, 400)}", file=sys.stderr, flush=True)

    def boot_ended(self, info: BootInfo) -> None:
        """The boot is stored."""
        self.says(f"{info.boot_id}: {info.message}")


@contextlib.contextmanager
def board_bench(args: argparse.Namespace, tree: Tree) -> Iterator[BoardBench]:
    """The bench that the options of a command line describe; the tree is put back at the end.

    Raises UserError for missing settings and too few boots, BoardError for a place that somebody else has.
    """
    refuse_build_options(args, tree.name)
    check_positive(args, "n", "rounds", "timeout", "until_silence", "until_time")
    build_words(tree)
    name = args.board or tree.trial.board
    if not name:
        raise UserError(
            f"no board is configured for {tree.name}",
            hint="--board serial:/dev/ttyUSB0, for example; or set it at the import",
        )
    args.n = args.n or DEFAULT_BOOTS
    if args.n < FEWEST:
        raise UserError(f"-n {args.n}: too few boots of each variant to compare", hint=ENOUGH)
    store, observer = open_store(), Told(args.json)
    variants = Variants(tree, partial(techniques_of_run, store.root), values_of(args.value))
    command = getattr(args, "check", None)
    works = words_of(command) if command else words(tree, tree.trial.works) if tree.trial.works else []
    with ordered(real_board(name, args.rate, args.tap_host), args, observer, deploy=False) as (order, place):
        brings = place.deploy if place and place.wish.state else None
        keeper = Keeper(Cache(cache_dir()), tree)
        shop = Workshop(tree, variants, keeper, observer.says, brings)
        asked = command or " ".join(tree.trial.works)
        bench = BoardBench(store, shop, order, observer, args.rounds, tuple(works), asked)
        with opened(shop):
            yield bench
