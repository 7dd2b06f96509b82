# SPDX-License-Identifier: Apache-2.0
"""bootscope try: boots a system with and without techniques, and reports what they save."""

from __future__ import annotations

import argparse
import contextlib
from dataclasses import replace

import msgspec
from rich.console import Console
from rich.text import Text

from bootscope.analysis.compare import Comparison
from bootscope.analysis.views import View, view
from bootscope.analysis.whatif_calls import NEED_CALLS
from bootscope.audit.findings import predicted_ns
from bootscope.audit.forecast import uncounted
from bootscope.boards.profile import load_board
from bootscope.buildtrees.keep import is_tree
from bootscope.capture.stored import StoredRun
from bootscope.changes.applies import with_values
from bootscope.changes.compose import speaks_of
from bootscope.changes.experiment import check, of_file, variant, with_bases
from bootscope.cli.arguments import flag, option
from bootscope.cli.board_options import add_trial_options, refuse_trial_options
from bootscope.cli.cluster import add_cluster_option, executor_of
from bootscope.cli.common import add_build_options, refuse
from bootscope.cli.named_image import bench as image_bench
from bootscope.cli.named_image import image_of
from bootscope.cli.record import bench_of
from bootscope.cli.try_board import REFUSED, try_on_board
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.core.errors import ToolError, UserError
from bootscope.core.text import seconds, size, span
from bootscope.emulator.plugin_config import Limits
from bootscope.imageedit.record import ImageRecord
from bootscope.inventory import application_profile, probe_order, unused_files
from bootscope.inventory.recorded import Recorded, facts
from bootscope.report.tables import make_table
from bootscope.search.bench import Bench
from bootscope.search.emulator import Measuring
from bootscope.search.services import refused, words_of
from bootscope.search.sooner import Sooner, sooner
from bootscope.search.training import profile
from bootscope.search.verdict import ExactVerdict, verdict
from bootscope.system.changes import refuse_configuring
from bootscope.system.load import LoadedSystem, load_system, system_names
from bootscope.techniques.model import Recipe, Technique


class Try(Verb):
    example = (
        "bootscope try kernel-quiet --system stock\n"
        "example: bootscope try kernel-quiet --system gateway -n 10"
    )

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "technique",
            nargs="+",
            help="ID, or ID=RECIPE where a technique has several; all together",
        )
        option(
            parser,
            "--system",
            "S",
            "the base system, also an imported one or an image (default: stock)",
            default="stock",
        )
        flag(parser, "--force", "even if a technique does not seem to apply to the system")
        flag(parser, "--own-base", "start from the techniques' own base system, which does not have them yet")
        option(
            parser,
            "--check",
            "CMD",
            "a command that must exit with status 0 for a working variant; BOOTSCOPE_RUN is "
            "the folder of the recording",
        )
        add_cluster_option(parser)
        add_build_options(parser)
        add_trial_options(parser)

    def run(self, args: argparse.Namespace) -> int:
        for name in args.technique:
            if name in system_names():
                raise UserError(f"{name} is a system", hint=f"bootscope try TECHNIQUE --system {name}")
        if args.check is not None:
            # An invalid command is reported before the first build.
            words_of(args.check)
        record = image_of([args.system], args.board)
        if record or is_tree(args.system):
            refuse(args, ("cluster",), "is for systems that bootscope builds and boots on the emulated board")
        if record:
            refuse_trial_options(args, args.system, but=("board",))
            return _try(args, *_of_image(args, record))
        if is_tree(args.system):
            return try_on_board(args)
        refuse_trial_options(args, args.system)
        with executor_of(args) as executor:
            bench = bench_of(args, executor=executor, limits=_limits(args))
            return _try(args, bench, load_system(args.system))


def _limits(args: argparse.Namespace) -> Limits:
    """The limits of recordings: what techniques must know of the boots costs no time on the board."""
    recipes = [recipe for _, _, recipe in check(args.technique)]
    by_calls = {*unused_files.FOUND, *probe_order.FOUND}
    told = any(not NEED_CALLS.isdisjoint(recipe.predict) for recipe in recipes)
    return Limits(syscalls=told or any(speaks_of(recipe.change, by_calls) for recipe in recipes))


def _try(args: argparse.Namespace, bench: Measuring, loaded: LoadedSystem) -> int:
    """Tries techniques on the emulated board; returns the exit code."""
    picked = check(args.technique)
    changes = [recipe.change for _, _, recipe in picked]
    refuse_configuring(loaded.system, dict(zip(args.technique, changes, strict=True)))
    if args.own_base:
        loaded = with_bases(loaded, args.technique)
    known = of_file(loaded)
    for change in changes:
        # An impossible board is reported before the first boot.
        if wanted := str(change.settings.get("board", "")):
            load_board(with_values(wanted, known))
    return _tried(args, bench, loaded, picked)


def _of_image(args: argparse.Namespace, record: ImageRecord) -> tuple[Measuring, LoadedSystem]:
    """The bench of an image, and the image as a system."""
    if args.own_base:
        raise UserError("--own-base is for systems that bootscope builds", hint="leave it out")
    bench = image_bench(args, record, limits=_limits(args))
    return bench, bench.loaded


def _tried(
    args: argparse.Namespace,
    bench: Measuring,
    loaded: LoadedSystem,
    picked: list[tuple[Technique, str, Recipe]],
) -> int:
    """Boots a system with and without techniques; returns the exit code."""
    store = bench.store
    base = view(store, bench.measured(loaded))
    if not base.boot.info.complete:
        raise UserError(f"{loaded.system.name} itself does not boot: {base.boot.info.message}")
    known = facts(store, base, bench.cache)
    if any(speaks_of(recipe.change, application_profile.FOUND) for _, _, recipe in picked):
        known = replace(known, profile=profile(bench, loaded))
    changed = variant(loaded, known, args.technique, args.force)
    recipes = [recipe for _, _, recipe in picked]
    _count(bench, loaded, base, known, recipes)
    predicted = predicted_ns(known, recipes)
    if faults := _checked(bench, loaded, base.run, args.check):
        raise UserError(f"{loaded.system.name} itself does not work: {faults[0]}")
    found = verdict(store, base, view(store, bench.measured(changed)))
    if found.works:
        refused = _checked(bench, changed, store.load(found.variant.run_id), args.check)
        found = replace(found, variant=msgspec.structs.replace(found.variant, unanswered=refused))
    early = sooner(recipes, found.comparison)
    if args.json:
        print_json("try", _json(args.technique, predicted, found, early))
    else:
        show(terminal(), args.technique, base, predicted, found, early)
    return 0 if found.works else REFUSED


def _count(
    bench: Measuring, loaded: LoadedSystem, base: View, known: Recorded, recipes: list[Recipe]
) -> None:
    """Boots once more for the counts of other caches that a prediction needs; else there is no prediction."""
    with contextlib.suppress(UserError, ToolError):
        if isinstance(bench, Bench) and (core := uncounted(known, recipes)):
            bench.count(base.run, base.boot, loaded, core)


def _checked(bench: Measuring, loaded: LoadedSystem, run: StoredRun, command: str | None) -> tuple[str, ...]:
    """What does not work, beside milestone and picture."""
    unanswered, names = bench.unanswered(loaded), {"BOOTSCOPE_SYSTEM": loaded.system.name}
    if command is None:
        return unanswered
    return (*unanswered, *refused(command, words_of(command), run.path, names))


def _json(
    names: list[str], predicted: int | None, found: ExactVerdict, early: Sooner | None
) -> dict[str, object]:
    c = found.comparison
    return {
        "techniques": names,
        "base": found.base.run_id,
        "variant": found.variant.run_id,
        "works": found.works,
        "faults": found.faults,
        "base_ns": c.total_a_ns if c else None,
        "variant_ns": c.total_b_ns if c else None,
        "saving_ns": found.saving_ns,
        "predicted_ns": predicted,
        "sooner": msgspec.to_builtins(early),
        "phases": [{"name": p.name, "a_ns": p.a_ns, "b_ns": p.b_ns} for p in c.phases] if c else [],
        "sizes": {name: {"a_bytes": a, "b_bytes": b} for name, (a, b) in found.sizes.items()},
    }


def show(
    out: Console,
    names: list[str],
    base: View,
    predicted: int | None,
    found: ExactVerdict,
    early: Sooner | None = None,
) -> None:
    """Prints what a try saves, beside its prediction in ns; with `early`, of one milestone."""
    until = base.run.info.until
    if found.comparison:
        _times(out, found.comparison, until)
    for fault in found.faults:
        out.print(Text.assemble(("does not work: ", "bold red"), fault))
    for name, (a, b) in found.sizes.items():
        out.print(f"  {name}: {size(a)} -> {size(b)}", style="dim", highlight=False)
    c, saving = found.comparison, found.saving_ns
    if c and saving is not None:
        verb = "saves" if saving >= 0 else "costs"
        told = Text.assemble(
            f"{' + '.join(names)} ",
            (f"{verb} {span(abs(saving))}", "bold green" if saving > 0 else "bold red"),
            f" of {seconds(c.total_a_ns)} s",
            f"; predicted: {span(predicted)}" if predicted is not None else "",
        )
        out.print(told if found.works else Text.assemble(told, ", but does not work"))
    if early:
        saves = ("saves " if early.saving_ns >= 0 else "costs ") + span(abs(early.saving_ns))
        times = f"{early.milestone}: {seconds(early.base_ns)} s -> {seconds(early.variant_ns)} s, "
        out.print(Text.assemble(times, (saves, "bold green" if early.saving_ns > 0 else "bold red")))
    out.print(f"recordings: {found.base.run_id}, {found.variant.run_id}", style="dim", markup=False)


def _times(out: Console, c: Comparison, until: str) -> None:
    table = make_table("=phase", ">without", ">with", ">change", header_style="bold")
    rows = [(p.name, p.a_ns, p.b_ns) for p in c.phases]
    for name, a, b in [*rows, (f"= {until}", c.total_a_ns, c.total_b_ns)]:
        style = "green" if b < a else "red" if b > a else "dim"
        change = f"{(b - a) / 1e6:+.1f} ms" if a != b else ""
        table.add_row(name, seconds(a), seconds(b), Text(change, style))
    out.print(table)
