# SPDX-License-Identifier: Apache-2.0
"""bootscope build: turn a system into images."""

from __future__ import annotations

import argparse

from rich.table import Table

from bootscope.build.cache import Cache
from bootscope.build.plan import Planned, build, plan
from bootscope.cli.common import add_build_options, runner
from bootscope.cli.progress import progress
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.paths import cache_dir
from bootscope.system.load import load_system


class Build(Verb):
    name = "build"
    summary = "turn a system into images, taking from the cache what is there"
    example = "bootscope build stock --plan"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("system", help="name of a system, or path of a system file (.toml)")
        parser.add_argument("--plan", action="store_true", help="print steps and ids, build nothing")
        add_build_options(parser)

    def run(self, args: argparse.Namespace) -> int:
        loaded = load_system(args.system)
        cache = Cache(cache_dir())
        if args.plan:
            self._print_plan(loaded.system.name, plan(loaded, cache), args.json)
            return 0
        watcher = progress(quiet=args.json)
        built = build(loaded, runner(args, cache, watcher), watcher)
        if args.json:
            print_json(
                "build",
                {
                    "system": loaded.system.name,
                    "build_id": built.build_id,
                    "card": str(built.card),
                    "steps": {
                        name: {"id": built.ids[name], "path": str(p)} for name, p in built.results.items()
                    },
                },
            )
        else:
            terminal().print(f"{loaded.system.name}: build {built.build_id[:12]}\n{built.card}", markup=False)
        return 0

    def _print_plan(self, system: str, planned: list[Planned], as_json: bool) -> None:
        if as_json:
            steps = [
                {"name": p.name, "id": p.step_id or None, "cached": p.cached, "needs": p.needs}
                for p in planned
            ]
            print_json("plan", {"system": system, "steps": steps})
            return
        table = Table("step", "id", "state", "needs", box=None, pad_edge=False, header_style="dim")
        for p in planned:
            state = "cached" if p.cached else "to do"
            table.add_row(p.name, p.step_id[:12] or "after fetching", state, " ".join(p.needs))
        terminal().print(table)
