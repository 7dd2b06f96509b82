# SPDX-License-Identifier: Apache-2.0
"""bootscope label: the user's labels of a run, stored beside its recording."""

from __future__ import annotations

import argparse

from bootscope.capture import labels
from bootscope.cli.arguments import several
from bootscope.cli.stores import open_store
from bootscope.cli.verb import Verb, print_json, terminal


def add_label_option(parser: argparse.ArgumentParser) -> None:
    """Adds `--label`, for the verbs that make runs."""
    several(parser, "--label", "KEY=VALUE", "label of the new run, such as branch=main (repeatable)")


class Label(Verb):
    example = "bootscope label last product=router branch=main note='new card'"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("run", help="run id or part of one, last, last~1, ...")
        parser.add_argument(
            "label", nargs="*", metavar="KEY=VALUE", help="sets a label; KEY= removes one; none: show them"
        )

    def run(self, args: argparse.Namespace) -> int:
        changed = labels.parse(args.label)
        store = open_store()
        run_id = store.find_id(args.run)
        found = store.label(run_id, changed) if changed else labels.read(store.runs / run_id)
        if args.json:
            print_json("label", {"run_id": run_id, "labels": found})
        else:
            terminal().print(f"{run_id}  {labels.words(found) or 'no labels'}", markup=False, soft_wrap=True)
        return 0
