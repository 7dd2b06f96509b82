# SPDX-License-Identifier: Apache-2.0
"""bootscope report: one HTML file that opens anywhere."""

from __future__ import annotations

import argparse
from pathlib import Path

from bootscope.capture.store import Store
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.core.errors import UserError
from bootscope.core.paths import store_dir
from bootscope.core.text import size
from bootscope.report.stored import page_of


def write_file(path: Path, data: bytes) -> None:
    """Writes a file whole or not at all; what is no ordinary file (a pipe, /dev/stdout) is written to.

    Raises UserError when it cannot be written.
    """
    if path.is_dir():
        raise UserError(f"cannot write {path}: it is a folder")
    part = path.with_name(path.name + ".part")
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
            return
        part.write_bytes(data)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise UserError(f"cannot write {path}: {error.strerror}") from error


class Report(Verb):
    example = "bootscope report last -o boot.html"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "run", nargs="*", help="run ids or parts of them, or RUN/BOOT (default: the last run)"
        )
        parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE.html")

    def run(self, args: argparse.Namespace) -> int:
        store = Store(store_dir())
        names = args.run or ["last"]
        text, boots = page_of(store, names)
        write_file(args.output, text.encode())
        if args.json:
            print_json("report", {"path": str(args.output), "bytes": len(text.encode()), "boots": boots})
        else:
            terminal().print(f"wrote {args.output} ({size(len(text.encode()))})", markup=False)
        return 0
