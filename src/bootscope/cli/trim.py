# SPDX-License-Identifier: Apache-2.0
"""bootscope trim: kernel, boot loader and BusyBox without what a run of the application does not need."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from bootscope.analysis.views import View
from bootscope.changes.change_files import check_new, write_change
from bootscope.cli.arguments import flag, option, renamed
from bootscope.cli.cluster import add_cluster_option, executor_of
from bootscope.cli.common import add_build_options
from bootscope.cli.optimize import budget_s
from bootscope.cli.progress import teller
from bootscope.cli.record import bench_of
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.core.errors import printable, unknown
from bootscope.core.text import seconds, size
from bootscope.emulator.plugin_config import Limits
from bootscope.report.tables import make_table
from bootscope.system.load import load_system
from bootscope.trim.search import ORDER, Goal, Trim, trimming
from bootscope.trim.tree import IMAGE, PHASES, size_bytes
from bootscope.trim.trial import new_lines

_AFTER_NS = 5_000_000_000
"""How long the application is watched after it is ready, in virtual time."""
_TIMEOUT_S = 3600
"""Host time for a boot: a busy host must not decide what stays."""
MOST_STAYS = 25


class TrimVerb(Verb):
    example = "bootscope trim stock --only kernel --budget 3h -o trimmed"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("system", help="name of a system, or path of a system file (.toml)")
        option(parser, "--only", "PART", f"only these of: {', '.join(ORDER)}", nargs="+", default=ORDER)
        option(parser, "--budget", "T", "host time, such as 90m or 4h (default 4h)", default="4h")
        option(parser, "--keep-symbol", "SYMBOL", "symbols to keep", nargs="+", default=())
        renamed(parser, "--keep", "keep_symbol", nargs="+")
        flag(parser, "--services", "what init starts besides the application must behave as before, too")
        flag(parser, "--quiet", "also keep kernel messages off the console")
        flag(parser, "--sure", "only symbols whose code never ran beyond its own initialisation")
        flag(parser, "--bare", "also symbols for security, error messages and recovery")
        flag(parser, "--all", "list all kept symbols, with the reason")
        option(
            parser,
            "-o",
            "DIR",
            "write configuration fragments, the code that ran, and why symbols are kept",
            type=Path,
        )
        add_cluster_option(parser)
        add_build_options(parser)

    def run(self, args: argparse.Namespace) -> int:
        loaded = load_system(args.system)
        for name in args.only:
            if name not in ORDER:
                raise unknown("part", name, list(ORDER))
        if args.o:
            check_new(args.o)
        keep = tuple(name.removeprefix("CONFIG_") for name in args.keep_symbol)
        goal = Goal(args.only, budget_s(args.budget), keep, args.services, args.quiet, args.bare, args.sure)
        tell = teller(quiet=args.json)
        with executor_of(args) as executor:
            limits = Limits(usage_after_ns=_AFTER_NS)
            bench = bench_of(args, executor=executor, timeout_s=_TIMEOUT_S, limits=limits)
            trim = trimming(bench, loaded, goal, tell)
            trim.run()
        if args.o:
            texts = {"stays.txt": stays_text(trim), "evidence.csv": evidence_text(trim)}
            write_change(args.o, trim.state.system(), trim.state.change(), texts)
            tell(f"written to {args.o}")
        if args.json:
            print_json("trim", as_json(trim))
        else:
            show(terminal(), trim, args.all)
        return 0


def _phases(view: View) -> dict[str, int]:
    return {p.name: p.duration_ns for p in view.timeline.phases}


def _images(view: View) -> dict[str, int]:
    sizes = {p.name: p.size_bytes for p in view.run.info.parts}
    return {tree: sizes[name] for tree, name in IMAGE.items() if name in sizes}


def as_json(trim: Trim) -> dict[str, object]:
    """The result, as in docs/json.md."""
    return {
        "system": trim.state.loaded.system.name,
        "base": trim.base.run.info.run_id,
        "run_id": trim.state.current.run.info.run_id,
        "ended": trim.ended,
        "attempts": trim.state.attempts,
        "total_ns": {"before": trim.base.timeline.total_ns, "after": trim.state.current.timeline.total_ns},
        "images": {
            tree: {"before_bytes": before, "after_bytes": _images(trim.state.current).get(tree, 0)}
            for tree, before in _images(trim.base).items()
        },
        "phases": {
            name: {"before_ns": ns, "after_ns": _phases(trim.state.current).get(name, 0)}
            for name, ns in _phases(trim.base).items()
        },
        "groups": [asdict(group) for group in trim.groups],
        "trees": {
            name: {
                "off": sorted(n for n, v in tree.off.items() if v is False),
                "on": sorted(n for n, v in tree.off.items() if v is True),
                "unknown": tree.unknown,
                "stays": {n: {"reason": s.reason, "bytes": s.image_bytes} for n, s in tree.stays.items()},
            }
            for name, tree in trim.trees.items()
        },
        "programs_say": new_lines(trim.base, trim.state.current),
    }


def stays_text(trim: Trim) -> str:
    """A line for each symbol that stays, and why."""
    lines = (
        f"{name} {symbol}: {stay.reason}".replace("\n", " ")
        for name, tree in trim.trees.items()
        for symbol, stay in sorted(tree.stays.items())
    )
    return "\n".join(lines) + "\n"


def evidence_text(trim: Trim) -> str:
    """How long the code that would go with a symbol ran, and for what, as a table."""
    tick_ns = trim.base.run.info.board.tick_ns
    lines = ["part,symbol,folder,bytes,setup_ns,start_ns,programs_ns,application_ns,goes_with_it"]
    for name, found in trim.evidence.items():
        for c in found:
            ran = (c.ran.setup, c.ran.start, c.ran.programs, c.ran.application)
            times = ",".join(str(instructions * tick_ns) for instructions in ran)
            lines.append(f"{name},{c.symbol},{c.folder},{c.image_bytes},{times},{len(c.goes) - 1}")
    return "\n".join(lines) + "\n"


def show(out: Console, trim: Trim, everything: bool) -> None:
    """Prints the result; with `everything` all symbols that stay."""
    _print_groups(out, trim)
    _print_stays(out, trim, everything)
    for line in new_lines(trim.base, trim.state.current):
        out.print(f"init's programs now print: {printable(line)}", style="yellow", markup=False)
    now = trim.state.current
    for name in trim.trees:
        before, after = (size_bytes(of, name) for of in (trim.base, now))
        smaller = f"{before / after:.1f} times smaller" if after else ""
        out.print(f"{IMAGE[name]}: {size(before)} -> {size(after)}, {smaller}")
        for phase in PHASES[name]:
            a, b = (_phases(of).get(phase, 0) for of in (trim.base, now))
            shorter = f"{a / b:.1f} times shorter" if b else ""
            out.print(f"{phase}: {seconds(a)} s -> {seconds(b)} s, {shorter}")
    total = seconds(trim.base.timeline.total_ns), seconds(trim.state.current.timeline.total_ns)
    out.print(f"{trim.base.run.info.until}: {total[0]} s -> {total[1]} s")
    runs = f"{trim.base.run.info.run_id}, {trim.state.current.run.info.run_id}"
    out.print(f"{trim.ended}; recordings: {runs}", markup=False)


def _print_groups(out: Console, trim: Trim) -> None:
    counts = (">tried", ">changed", ">gone", ">boots")
    spare = ("changed", "boots", "gone", "tried")
    table = make_table(
        "part", "symbols with", *counts, ">image", ">phase s", spare=spare, header_style="bold"
    )
    for g in trim.groups:
        image = f"{size(g.bytes_before)} -> {size(g.bytes_after)}"
        phase = f"{seconds(g.before_ns)} -> {seconds(g.after_ns)}"
        table.add_row(
            g.tree, g.title, str(g.tried), str(g.changed), str(g.gone), str(g.attempts), image, phase
        )
    out.print(table)


def _print_stays(out: Console, trim: Trim, everything: bool) -> None:
    found = [(tree, name, s) for tree, t in trim.trees.items() for name, s in t.stays.items()]
    if not found:
        return
    found.sort(key=lambda f: (-f[2].image_bytes, f[1]))
    table = make_table("what stays", ">with it", "why", header_style="bold")
    for tree, name, stay in found if everything else found[:MOST_STAYS]:
        with_it = size(stay.image_bytes) if stay.image_bytes else ""
        table.add_row(f"{tree} {name}", with_it, printable(stay.reason.splitlines()[0]))
    out.print(table)
    if len(found) > MOST_STAYS and not everything:
        out.print(f"... and {len(found) - MOST_STAYS} more (--all)", style="dim")
