# SPDX-License-Identifier: Apache-2.0
"""bootscope report: one HTML file that opens anywhere."""

from __future__ import annotations

import argparse
from pathlib import Path

from bootscope.capture.store import Store
from bootscope.cli.show import view_of
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.errors import UserError
from bootscope.paths import store_dir
from bootscope.report.html import render
from bootscope.report.text import size


class Report(Verb):
    name = "report"
    summary = "write recorded boots as one HTML file that opens without a network"
    example = "bootscope report last -o boot.html"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "run", nargs="*", help="run ids or parts of them, or RUN/BOOT (default: the last run)"
        )
        parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE.html")

    def run(self, args: argparse.Namespace) -> int:
        store = Store(store_dir())
        views = [view_of(store, name) for name in args.run or ["last"]]
        text = render(views)
        try:
            part = args.output.with_name(args.output.name + ".part")
            part.write_text(text)
            part.replace(args.output)
        except OSError as error:
            raise UserError(f"cannot write {args.output}: {error.strerror}") from error
        boots = [v.boot.info.boot_id for v in views]
        if args.json:
            print_json("report", {"path": str(args.output), "bytes": len(text.encode()), "boots": boots})
        else:
            terminal().print(f"wrote {args.output} ({size(len(text.encode()))})", markup=False)
        return 0
