# SPDX-License-Identifier: Apache-2.0
"""bootscope record --board: boots of a real board."""

from __future__ import annotations

import argparse

from bootscope.boards.physical import real_board
from bootscope.capture.record import BootInfo
from bootscope.capture.store import Store
from bootscope.capture.stored import MeasuredRun
from bootscope.cli.board_options import ShownBoots, ordered
from bootscope.cli.verb import print_json, terminal
from bootscope.core.paths import store_dir
from bootscope.hardware.measuring import Observer, measure_run
from bootscope.runs.headline import reached_in

FAILED = 3


def _boot(info: BootInfo) -> dict[str, object]:
    return {"number": info.number, "ended": info.ended, "message": info.message}


def _reached(run: MeasuredRun, info: BootInfo) -> dict[str, object]:
    """When the boot reached what it was for; nulls where that is no milestone, or was not reached."""
    found = reached_in(run, info.number) if info.complete else None
    return {"reached_ns": found.ns if found else None, "error_ns": found.error_ns if found else None}


def record_board(args: argparse.Namespace) -> int:
    """Measures boots of the board that --board names; returns the exit code."""
    board, store = real_board(args.board, args.rate, args.tap_host), Store(store_dir())
    observer = Observer() if args.json else ShownBoots()
    with ordered(board, args, observer) as (order, _):
        run_id = measure_run(store, order, observer)
    run = store.load_measured(run_id)
    complete = all(boot.info.complete for boot in run.boots)
    if args.json:
        kept = [{**_boot(b.info), **_reached(run, b.info), "path": str(b.path)} for b in run.boots]
        print_json("record", {"run_id": run_id, "complete": complete, "boots": kept})
    else:
        out = terminal()
        good = sum(boot.info.complete for boot in run.boots)
        if order.boots > 1:
            out.print(f"{good} of {order.boots} boots reached {order.end.words}", markup=False)
        out.print(f"recorded as {run_id}", markup=False)
        # Without a name it is the newest run of which a boot came to its end.
        name = "" if any(boot.info.complete for boot in run.boots) else f" {run_id}"
        out.print(f"next: bootscope show{name}", style="dim", markup=False)
    return 0 if complete else FAILED
