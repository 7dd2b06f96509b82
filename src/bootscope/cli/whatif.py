# SPDX-License-Identifier: Apache-2.0
"""bootscope what-if: what would a change be worth? A prediction from a recording, without a boot."""

from __future__ import annotations

import argparse

from rich.text import Text

from bootscope.analysis.whatif import KNOWN, predict
from bootscope.capture.store import Store
from bootscope.cli.arguments import option
from bootscope.cli.show import view_of
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.core.errors import UserError
from bootscope.core.paths import store_dir
from bootscope.core.text import seconds, span


class WhatIf(Verb):
    example = "bootscope what-if last quiet bootdelay=0"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.add_argument("run", help="run id or part of one, or RUN/BOOT")
        parser.add_argument("change", nargs="+", help="one or more of the changes listed below")
        option(parser, "--board", "B", "predict for another board profile (without booting again)")
        width = max(len(known) for known in KNOWN)
        listed = "\n".join(f"  {known:{width}}  {what}" for known, what in KNOWN.items())
        parser.epilog = f"changes:\n{listed}\n\n{parser.epilog or ''}"

    def run(self, args: argparse.Namespace) -> int:
        v = view_of(Store(store_dir()), args.run, board=args.board)
        if not v.boot.info.complete:
            raise UserError(f"boot {v.boot.info.boot_id} did not reach its milestone: {v.boot.info.message}")
        p = predict(v.evidence, v.stacks, args.change)
        if args.json:
            print_json(
                "what-if",
                {
                    "boot": v.boot.info.boot_id,
                    "changes": args.change,
                    "milestone": p.milestone,
                    "now_ns": p.now_ns,
                    "predicted_ns": p.predicted_ns,
                    "saving_ns": p.saving_ns,
                    "assumptions": p.assumptions,
                },
            )
            return 0
        out = terminal()
        predicted = Text(f"{seconds(p.predicted_ns)} s", "bold green")
        today = f"{p.milestone} after {seconds(p.now_ns)} s today, after "
        less = "less" if p.saving_ns >= 0 else "more"
        saved = f"{span(abs(p.saving_ns))} {less}" if p.saving_ns else "the same"
        out.print(Text.assemble(today, predicted, f" as predicted: {saved}"))
        for assumption in p.assumptions:
            out.print(Text(f"  assuming: {assumption}", "dim"))
        return 0
