# SPDX-License-Identifier: Apache-2.0
"""bootscope show for an imported run, or one of a real board."""

from __future__ import annotations

import argparse

from bootscope.analysis.trace_rows import rows_of_trace
from bootscope.cli.common import refuse
from bootscope.cli.verb import print_json, terminal
from bootscope.report import imported as text
from bootscope.report import imported_json, rows, run_boots
from bootscope.runs.heard import MEASURED, HeardRun, SeenBoot


def show_imported(run: HeardRun, number: int | None, args: argparse.Namespace, all_rows: bool) -> int:
    """Shows a boot; with `all_rows` JSON is not cut to --top."""
    refuse(args, ("board",), "recomputes costs, which only boots of an emulated board have")
    boot = run.boot(number)
    if args.view:
        return _view(boot, args, all_rows)
    if args.json:
        found = boot.understood
        quiet = text.quiet(found, boot.index, boot.trace(lines=False), args.top)
        print_json("show-imported", imported_json.show(boot, quiet, args.top))
    else:
        if boot.how == MEASURED and number is None:
            run_boots.show(terminal(), run.times())
        text.show(terminal(), boot, args.top)
    return 0


def _view(boot: SeenBoot, args: argparse.Namespace, all_rows: bool) -> int:
    tables = rows_of_trace(args.view, boot.trace(lines=False), args.phase)
    if args.json:
        shown = rows.document(tables, None if all_rows else args.top)
        print_json("view", {"boot": boot.boot_id, "view": args.view, "tables": shown})
    else:
        for table in tables:
            rows.show(terminal(), table, args.top)
    return 0
