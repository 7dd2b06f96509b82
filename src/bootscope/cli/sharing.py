# SPDX-License-Identifier: Apache-2.0
"""bootscope save and load: runs in one file, for another computer."""

from __future__ import annotations

import argparse
from pathlib import Path

from bootscope.capture import labels
from bootscope.capture.loading import Loaded, load
from bootscope.capture.saving import save
from bootscope.capture.store import Store
from bootscope.capture.stored import DAMAGED, RECORDING
from bootscope.cli.arguments import flag, several
from bootscope.cli.output import writable
from bootscope.cli.stores import open_store
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.core.errors import UserError, to_stderr
from bootscope.core.text import size

_MOST_NAMED = 5


class Save(Verb):
    example = "bootscope save last -o boot.bsz"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("run", nargs="*", help="run ids or parts of them, last, last~1, ...")
        flag(parser, "--all", "the whole store")
        several(parser, "--label", "KEY[=VALUE]", "with --all: only runs with this label (repeatable)")
        parser.add_argument(
            "-o",
            "--output",
            type=Path,
            required=True,
            metavar="FILE.bsz",
            help="the file, which must not exist",
        )

    def run(self, args: argparse.Namespace) -> int:
        if bool(args.run) == args.all:
            raise UserError("which runs?", hint="bootscope save RUN... -o FILE.bsz, or --all")
        if args.label and not args.all:
            raise UserError("--label chooses among all runs", hint="with --all, without names")
        store = open_store()
        ids = _all(store, args.label) if args.all else [store.find_id(name) for name in args.run]
        if not ids:
            raise UserError("no run to save", hint="bootscope list shows them")
        writable(args.output)
        done = save(store, ids, args.output)
        if args.json:
            told = {"path": str(args.output), "bytes": done.saved_bytes, "unpacked_bytes": done.size_bytes}
            print_json("save", {**told, "runs": list(done.run_ids)})
        else:
            what = done.run_ids[0] if len(done.run_ids) == 1 else f"{len(done.run_ids)} runs"
            words = f"saved {what} as {args.output} ({size(done.saved_bytes)})"
            terminal().print(words, markup=False, soft_wrap=True)
            terminal().print(
                f"on the other computer: bootscope load {args.output.name}", markup=False, style="dim"
            )
        return 0


def _all(store: Store, wanted: list[str]) -> list[str]:
    """The complete runs; the others are reported."""
    runs = store.summaries()
    for run in runs:
        if run.ended in (RECORDING, DAMAGED):
            to_stderr(f"left out {run.run_id}: {run.why}")
    whole = [run.run_id for run in runs if run.ended not in (RECORDING, DAMAGED)]
    return [i for i in whole if not wanted or labels.fits(store.labels_of(i), wanted)]


class Load(Verb):
    example = "bootscope load boot.bsz"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="what bootscope save wrote")
        parser.add_argument("run", nargs="*", help="only these runs, by their full ids")

    def run(self, args: argparse.Namespace) -> int:
        store = open_store()
        found = load(store, args.file, args.run)
        if args.json:
            kept = {"loaded": list(found.loaded), "same": list(found.same), "differ": list(found.differ)}
            print_json("load", {"path": str(args.file), **kept, "bytes": found.size_bytes})
        else:
            _print(found)
        if found.differ:
            raise UserError(
                f"already here with different content, and unchanged: {_named(found.differ)}",
                hint="BOOTSCOPE_STORE=FOLDER bootscope load ... loads them into another store",
            )
        return 0


def _print(found: Loaded) -> None:
    out = terminal()
    if found.loaded:
        words = f"loaded {_named(found.loaded)} ({size(found.size_bytes)})"
        out.print(words, markup=False, soft_wrap=True)
    if found.same:
        out.print(f"already here: {_named(found.same)}", markup=False, soft_wrap=True)
    if found.loaded:
        out.print(f"next: bootscope show {found.loaded[-1]}", style="dim", markup=False, soft_wrap=True)


def _named(ids: tuple[str, ...]) -> str:
    more = f" and {len(ids) - _MOST_NAMED} more" if len(ids) > _MOST_NAMED else ""
    return ", ".join(ids[:_MOST_NAMED]) + more
