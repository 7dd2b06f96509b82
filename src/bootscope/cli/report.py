# SPDX-License-Identifier: Apache-2.0
"""bootscope report: one HTML file that opens anywhere."""

from __future__ import annotations

import argparse
from pathlib import Path

from bootscope.capture.store import RECORDED, Store
from bootscope.cli.show import run_and_boot
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.errors import UserError
from bootscope.paths import store_dir
from bootscope.report.html import render
from bootscope.report.text import size
from bootscope.seen import seen_boot
from bootscope.timeline.trace import Trace
from bootscope.views import View, view


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


def boot_of(store: Store, name: str | None) -> tuple[str, View | Trace]:
    """The boot id of a boot named on the command line, and the boot: of an emulated board, or as a trace."""
    wanted, number = run_and_boot(name)
    run_id = store.find_id(wanted)
    if store.kind(run_id) == RECORDED:
        v = view(store, store.load(run_id), number)
        return v.boot.info.boot_id, v
    boot = seen_boot(store, run_id, number)
    return boot.boot_id, boot.trace()


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
        found = [boot_of(store, name) for name in args.run or ["last"]]
        text = render([boot for _, boot in found])
        write_file(args.output, text.encode())
        boots = [boot_id for boot_id, _ in found]
        if args.json:
            print_json("report", {"path": str(args.output), "bytes": len(text.encode()), "boots": boots})
        else:
            terminal().print(f"wrote {args.output} ({size(len(text.encode()))})", markup=False)
        return 0
