# SPDX-License-Identifier: Apache-2.0
"""bootscope report: one HTML file that opens anywhere, or a picture or a page for other people's
documents."""

from __future__ import annotations

import argparse
from pathlib import Path

from bootscope.cli.arguments import chosen, option
from bootscope.cli.common import check_positive, refuse
from bootscope.cli.core_options import add_core_options, core_of
from bootscope.cli.output import HTML, form_of, write_file
from bootscope.cli.stores import open_store
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.core.text import size
from bootscope.report.stored import page_of

PICTURES = ("view", "width", "scale", "theme", "picture")
"""Options for pictures, by their names in the result of the parser."""
VIEWS = (
    "phases", "timeline", "flame", "initcalls", "processes", "units", "silences", "critical-path",
    "compare", "overlay", "waterfall", "boots",
)  # fmt: skip
"""The views of pictures; bootscope.pictures.draw draws them."""
_OUTPUT = (
    "by its ending: .html an interactive page; .svg or .png a picture; .pdf one page for the person who "
    "decides, or with --view that picture; .md a text with a picture"
)


class Report(Verb):
    example = "bootscope report last -o boot.html\nexample: bootscope report before after -o change.svg"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "run", nargs="*", help="run ids or parts of them, or RUN/BOOT (default: the last run)"
        )
        parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help=_OUTPUT)
        chosen(parser, "--view", "V", VIEWS, "what a picture shows (default: what suits the runs)")
        add_core_options(parser, "the flame graph shows waits for memory (a page has both)")
        option(parser, "--width", "N", "pixels across (default 1200)", type=int)
        option(parser, "--scale", "N", "PNG: N times as many pixels, for sharp slides (default 1)", type=int)
        parser.add_argument("--theme", choices=("light", "dark"), help="colours of a picture (default light)")
        option(
            parser,
            "--picture",
            "FILE.svg",
            "Markdown: where its picture goes (default: beside it)",
            type=Path,
        )

    def run(self, args: argparse.Namespace) -> int:
        form = form_of(args.output)
        check_positive(args, "width", "scale")
        store = open_store()
        names = args.run or ["last"]
        if form != HTML:
            # The HTML page need not load what draws pictures.
            from bootscope.cli.pictures import write

            return write(store, names, form, args)
        refuse(
            args, (*PICTURES, "stalls"), "is for pictures; HTML shows all", "-o FILE.svg, .png, .pdf or .md"
        )
        text, boots = page_of(store, names, core=core_of(args))
        write_file(args.output, text.encode())
        if args.json:
            print_json("report", {"path": str(args.output), "bytes": len(text.encode()), "boots": boots})
        else:
            terminal().print(f"wrote {args.output} ({size(len(text.encode()))})", markup=False)
        return 0
