# SPDX-License-Identifier: Apache-2.0
"""bootscope build: turn a system into images."""

from __future__ import annotations

import argparse
import shlex
import sys

from bootscope.builder.cache import Cache
from bootscope.builder.outlook import Planned
from bootscope.builder.plan import build, outlook
from bootscope.builder.workload import Basis, Workload
from bootscope.buildtrees import building, keep
from bootscope.buildtrees.owner import build_words
from bootscope.cli.arguments import flag
from bootscope.cli.common import add_build_options, jobs_of, refuse_build_options, runner
from bootscope.cli.progress import progress
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.core.errors import printable
from bootscope.core.paths import cache_dir
from bootscope.report.tables import make_table
from bootscope.report.workload import announced
from bootscope.system.load import load_system


class Build(Verb):
    example = "bootscope build stock --plan"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("system", help="name of a system (also an imported one), or path of its file")
        flag(parser, "--plan", "print steps, ids and the estimated time; build nothing")
        add_build_options(parser)

    def run(self, args: argparse.Namespace) -> int:
        if keep.is_tree(args.system):
            return _build_tree(args)
        loaded = load_system(args.system)
        cache = Cache(cache_dir())
        if args.plan:
            ahead = outlook(loaded, cache)
            show = _plan_json if args.json else _print_plan
            show(loaded.system.name, ahead.planned(), ahead.workload(jobs_of(args)))
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


def _plan_json(system: str, planned: list[Planned], workload: Workload) -> None:
    units = {work.step: work for work in workload.works}
    steps = [
        {
            "name": p.name,
            "id": p.step_id or None,
            "cached": p.cached,
            "to_do": p.to_do,
            "objects": (units[p.name].units or None) if p.name in units else None,
            "time_ns": (units[p.name].time_ns or None) if p.name in units else None,
            "needs": p.needs,
        }
        for p in planned
    ]
    print_json("plan", {"system": system, "steps": steps, "estimate": _estimate_json(workload)})


def _estimate_json(workload: Workload) -> dict[str, object]:
    """The estimate; `time_ns` excludes fetching and everything in `unknown`."""
    return {
        "objects": workload.units,
        "time_ns": workload.time_ns,
        "bound": workload.bound,
        "cores": workload.cores,
        "builds": workload.programs,
        "fetches": workload.fetched,
        "elsewhere": workload.with_basis(Basis.ELSEWHERE),
        "unknown": workload.with_basis(Basis.UNKNOWN),
        "continued": workload.continued,
    }


def _print_plan(_system: str, planned: list[Planned], workload: Workload) -> None:
    table = make_table("=step", "=id", "=state", "needs")
    for p in planned:
        state = "cached" if p.cached else "to do" if p.to_do else "not needed"
        table.add_row(p.name, p.step_id[:12] or "after fetching", state, " ".join(p.needs))
    terminal().print(table)
    terminal().print(announced(workload) or "nothing slow to build", markup=False, highlight=False)


def _build_tree(args: argparse.Namespace) -> int:
    """Builds an imported system by its owner's command."""
    tree, path = keep.load_tree(args.system)
    refuse_build_options(args, tree.name)
    words = build_words(tree)
    if args.plan:
        if args.json:
            print_json("plan", {"system": tree.name, "folder": tree.folder, "command": words})
        else:
            terminal().print(f"in {printable(tree.folder)}: {printable(shlex.join(words))}", markup=False)
        return 0
    if not args.json:
        print(f"running {printable(shlex.join(words))} (log: {path.with_suffix('.log')})", file=sys.stderr)
    done = building.build(tree, path)
    if args.json:
        changes = {"changed": done.changed, "new": done.new, "gone": done.gone, "log": str(done.log)}
        print_json("build", {"system": tree.name, "folder": tree.folder, **changes})
        return 0
    for said, names in (("changed", done.changed), ("new", done.new), ("gone", done.gone)):
        for name in names:
            terminal().print(f"{said}: {printable(name)}", markup=False)
    if not (done.changed or done.new or done.gone):
        terminal().print("nothing has changed")
    return 0
