# SPDX-License-Identifier: Apache-2.0
"""bootscope show for an imported run."""

from __future__ import annotations

import argparse

from bootscope.analysis.trace_rows import rows_of_trace
from bootscope.capture.store import Store
from bootscope.cli.verb import print_json, terminal
from bootscope.errors import UserError
from bootscope.imports import Understood, of_run
from bootscope.report import imported as text
from bootscope.report import imported_json, rows


def boot_of(run_id: str, found: Understood, number: int | None) -> int:
    """The number (from 1) of a boot of an imported run, the first one by default. Raises UserError."""
    if number is not None and not 1 <= number <= found.boots:
        raise UserError(f"run {run_id} has no boot {number}", hint=f"it has 1 to {found.boots}")
    return number or 1


def show_imported(
    store: Store, run_id: str, number: int | None, args: argparse.Namespace, all_rows: bool
) -> int:
    """Shows a boot of an imported run; with `all_rows` JSON is not cut to --top."""
    if args.board:
        raise UserError("--board counts costs anew, which an imported boot does not have")
    _, found = of_run(store, run_id)
    boot = boot_of(run_id, found, number)
    if args.view:
        return _view(run_id, found, boot, args, all_rows)
    if args.json:
        quiet = text.quiet(found, boot, found.trace(boot, lines=False), args.top)
        print_json("show-imported", imported_json.show(run_id, found, boot, quiet, args.top))
    else:
        text.show(terminal(), run_id, found, boot, args.top)
    return 0


def _view(run_id: str, found: Understood, boot: int, args: argparse.Namespace, all_rows: bool) -> int:
    tables = rows_of_trace(args.view, found.trace(boot, lines=False), args.phase)
    if args.json:
        shown = rows.document(tables, None if all_rows else args.top)
        print_json("view", {"boot": f"{run_id}/{boot:03}", "view": args.view, "tables": shown})
    else:
        for table in tables:
            rows.show(terminal(), table, args.top)
    return 0
