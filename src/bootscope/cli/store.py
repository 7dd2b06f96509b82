# SPDX-License-Identifier: Apache-2.0
"""bootscope cache: stored sources and builds, and how to free space."""

from __future__ import annotations

import argparse
import re

from bootscope.builder.cache import DEFAULT_LIMIT_BYTES, Cache, tree_bytes
from bootscope.builder.step import read_meta
from bootscope.cli.arguments import option
from bootscope.cli.common import refuse
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.core.errors import UserError
from bootscope.core.paths import cache_dir
from bootscope.core.text import size

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
