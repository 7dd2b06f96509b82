# SPDX-License-Identifier: Apache-2.0
"""bootscope list, rm and cache: what is kept, and how to get rid of it."""

from __future__ import annotations

import argparse
import re
from dataclasses import asdict

from bootscope.builder.cache import DEFAULT_LIMIT_BYTES, Cache, tree_bytes
from bootscope.builder.step import read_meta
from bootscope.capture.store import Store
from bootscope.cli.arguments import option
from bootscope.cli.common import refuse
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.core.errors import UserError, printable
from bootscope.core.paths import cache_dir, store_dir
from bootscope.core.text import size
from bootscope.report import terminal as text
from bootscope.runs.listing import Listed, listed


class List(Verb):
    example = "bootscope list --json"

    def run(self, args: argparse.Namespace) -> int:
        found = listed(Store(store_dir()))
        if args.json:
            print_json("list", {"runs": [_document(each) for each in found]})
        elif found:
            text.runs(terminal(), found)
        else:
            terminal().print("no runs; start with: bootscope record debian")
        return 0


def _document(each: Listed) -> dict[str, object]:
    run, figure = each
    told: dict[str, object] = {"about": None, "median_ns": None, "spread_ns": None, "exact": None}
    if figure:
        told |= {"about": figure.what, "median_ns": figure.median_ns, "spread_ns": figure.spread_ns}
        told |= {"exact": figure.exact}
    return {**asdict(run), **told}


class Remove(Verb):
    example = "bootscope rm 20261121-081735-stock"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("run", nargs="+", help="run id or part of one, last, last~1, ...")

    def run(self, args: argparse.Namespace) -> int:
        store = Store(store_dir())
        # All names first: a wrong one must not leave half of the work done.
        ids = [_meant(store, name) for name in args.run]
        for run_id in dict.fromkeys(ids):
            store.remove(run_id)
        if args.json:
            print_json("rm", {"removed": ids})
        else:
            terminal().print("\n".join(f"removed {run_id}" for run_id in dict.fromkeys(ids)), markup=False)
        return 0


def _meant(store: Store, name: str) -> str:
    """The run that is to go. Raises UserError where a newer, incomplete one could be meant as well."""
    found = store.named(name)
    if found.skipped:
        raise UserError(
            f"'{printable(name)}' is {found.run_id}, but {found.skipped[0]} is newer and not complete",
            hint="name the run to delete by its id",
        )
    return found.run_id


_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def parse_size(text: str) -> int:
    """`500M` -> bytes (powers of 1024). Raises UserError."""
    match = re.fullmatch(r"(\d+)([KMG]?)", text)
    if not match:
        raise UserError(f"not a size: {text!r}", hint="a number with K, M or G, such as 20G")
    return int(match[1]) * _UNITS[match[2]]


class CacheVerb(Verb):
    example = "bootscope cache prune --limit 5G"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("action", nargs="?", choices=("show", "prune"), default="show")
        option(parser, "--limit", "SIZE", "prune: keep at most SIZE, most recently used first (default 30G)")

    def run(self, args: argparse.Namespace) -> int:
        if args.action == "show":
            refuse(args, ("limit",), "is for prune", "bootscope cache prune --limit SIZE")
        limit = DEFAULT_LIMIT_BYTES if args.limit is None else parse_size(args.limit)
        cache = Cache(cache_dir())
        removed = cache.prune(limit) if args.action == "prune" else []
        entries = cache.entries()
        if args.json:
            kept = [{"id": e.step_id, "step": read_meta(e.path).step, "bytes": e.size_bytes} for e in entries]
            print_json(
                "cache", {"path": str(cache.root), "removed": [e.step_id for e in removed], "steps": kept}
            )
            return 0
        out = terminal()
        for entry in entries:
            out.print(f"{entry.step_id[:12]}  {size(entry.size_bytes):>9}  {read_meta(entry.path).step}")
        for name in ("sources", "ccache", "refused", "logs"):
            if (cache.root / name).exists():
                out.print(f"{'':12}  {size(tree_bytes(cache.root / name)):>9}  {name}")
        total = size(sum(e.size_bytes for e in entries))
        freed = f", {len(removed)} removed" if removed else ""
        out.print(f"{total} in {len(entries)} steps{freed}; {cache.root}", markup=False)
        return 0
