# SPDX-License-Identifier: Apache-2.0
"""bootscope what-if: what would a change save? A prediction from a recording, without a boot."""

from __future__ import annotations

import argparse

from rich.text import Text

from bootscope.analysis.timing import core_counted
from bootscope.analysis.uncertainty import uncertainty, words
from bootscope.analysis.views import View
from bootscope.analysis.whatif import KNOWN
from bootscope.analysis.whatif_core import CorePrediction, predict_on_core
from bootscope.cli.arguments import columns, option, table
from bootscope.cli.common import add_build_options
from bootscope.cli.counting import on_core
from bootscope.cli.show import view_of
from bootscope.cli.stores import open_store
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.core.errors import UserError, printable
from bootscope.core.text import seconds, span
from bootscope.cores.changes import KNOWN as OF_CORES
from bootscope.cores.changes import clock_times, is_of_core
from bootscope.cores.choice import NO_CORE
from bootscope.cores.profile import load_core
from bootscope.report.modelled import cpu_words, split_document


class WhatIf(Verb):
    example = "bootscope what-if last quiet bootdelay=0\nexample: bootscope what-if last dram=2x"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.add_argument("run", help="run id or part of one, or RUN/BOOT")
        parser.add_argument("change", nargs="+", help="one or more of the changes listed below")
        option(parser, "--board", "B", "predict for another board profile (without booting again)")
        option(
            parser,
            "--core",
            "C",
            "predict for this core, with caches and memory; a change of these needs one (default: that of "
            "the board profile, or the one that the run was counted for); none: without a core",
        )
        add_build_options(parser, "if caches must be counted again: compile N files at a time")
        known = {**KNOWN, **OF_CORES}
        listed = table(known, max(map(len, known)), columns())
        parser.epilog = f"changes:\n{listed}\n\n{parser.epilog or ''}"

    def run(self, args: argparse.Namespace) -> int:
        before = _with_core(args, view_of(open_store(), args.run, board=args.board))
        if not before.boot.info.complete:
            info = before.boot.info
            raise UserError(f"boot {info.boot_id} did not reach its milestone: {info.message}")
        found = predict_on_core(before, args.change, lambda core: on_core(args, before, core))
        if args.json:
            print_json("what-if", _document(args, found))
        else:
            _print(found)
        return 0


def _with_core(args: argparse.Namespace, v: View) -> View:
    """The boot on the named core; otherwise, if a change needs a core, on the one that the boot was counted
    for. Raises UserError if there is none."""
    if args.core == NO_CORE and v.on_core:
        return v.on_core(NO_CORE)
    if args.core:
        return on_core(args, v, load_core(args.core))
    of_core = [change for change in args.change if is_of_core(change)]
    if v.core or not of_core:
        return v
    core, run = core_counted(v.run), v.run.info
    if core is None and clock_times(of_core):
        return v
    if core is None:
        raise UserError(
            f"'{printable(of_core[0])}' needs counts of one core's caches, which {run.run_id} lacks",
            hint=f"bootscope record {run.system.name} --timing --core CORE counts them; if there are "
            "several, --core names one",
        )
    return on_core(args, v, core)


def _document(args: argparse.Namespace, found: CorePrediction) -> dict[str, object]:
    p = found.prediction
    return {
        "boot": found.before.boot.info.boot_id,
        "changes": args.change,
        "milestone": p.milestone,
        "now_ns": p.now_ns,
        "predicted_ns": p.predicted_ns,
        "saving_ns": p.saving_ns,
        "assumptions": p.assumptions,
        "core": found.core.name if found.core else None,
        "uncertainty": uncertainty(found.before.timeline, found.core) if found.core else None,
        "phases": split_document(found.before.timeline, found.after.timeline) if found.changed else [],
    }


def _print(found: CorePrediction) -> None:
    out, p = terminal(), found.prediction
    if found.core:
        out.print(Text(f"on core {found.core.name}: {cpu_words(found.before.timeline)}", "dim"))
        for line in words(uncertainty(found.before.timeline, found.core)):
            out.print(Text(f"  {line}", "dim"))
    predicted = Text(f"{seconds(p.predicted_ns)} s", "bold green")
    today = f"{p.milestone} after {seconds(p.now_ns)} s today, after "
    less = "less" if p.saving_ns >= 0 else "more"
    saved = f"{span(abs(p.saving_ns))} {less}" if p.saving_ns else "the same"
    out.print(Text.assemble(today, predicted, f" as predicted: {saved}"))
    if found.changed:
        out.print(Text(f"  with these caches, memory and clock: {cpu_words(found.after.timeline)}", "dim"))
    for assumption in p.assumptions:
        out.print(Text(f"  assuming: {assumption}", "dim"))
