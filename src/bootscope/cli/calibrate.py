# SPDX-License-Identifier: Apache-2.0
"""bootscope calibrate: a board profile for a real board, fitted to boots of it."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from bootscope.analysis.timing import timing_of
from bootscope.analysis.views import choose_boot
from bootscope.boards.changed import without_core
from bootscope.boards.profile import Board, load_board
from bootscope.calibration import profile_file
from bootscope.calibration.calibrate import calibrate
from bootscope.calibration.model import EmulatedBoot
from bootscope.calibration.observe import real_boots
from bootscope.calibration.on_core import core_amounts
from bootscope.calibration.result import Calibration
from bootscope.capture.store import Store
from bootscope.capture.stored import RECORDED, StoredBoot, StoredRun
from bootscope.cli.arguments import option
from bootscope.cli.common import check_positive
from bootscope.cli.output import write_file
from bootscope.cli.stores import open_store
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.core.errors import UserError
from bootscope.cores.profile import load_core
from bootscope.report import calibrated as text
from bootscope.runs.run import run_and_boot
from bootscope.timeline.build import timeline_of


class Calibrate(Verb):
    example = "bootscope calibrate 20261122-desk --board cubieboard -o desk-board.toml"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "run", nargs="+", help="boots of the real board: run id or part of one, or RUN/BOOT"
        )
        option(parser, "--board", "B", "the profile to start from (default: that of the emulated run)")
        option(parser, "--like", "RUN", "the same system on the emulated board (default: the last such run)")
        option(parser, "-o --output", "FILE.toml", "write the fitted profile", type=Path)
        option(
            parser,
            "--core",
            "C",
            "fit this core (instruction time and memory), not one CPU time; --like needs --timing",
        )
        option(
            parser, "--top", "N", "number of worst-fitting stretches to show (default 8)", type=int, default=8
        )

    def run(self, args: argparse.Namespace) -> int:
        check_positive(args, "top")
        if args.output and args.output.suffix != ".toml":
            raise UserError(f"{args.output}: a board profile must be named *.toml")
        store = open_store()
        wanted = [run_and_boot(name) for name in args.run]
        boots = {boot.boot_id: boot for name, n in wanted for boot in real_boots(store, name or "", n)}
        run, boot = emulated_boot(store, args.like)
        board = _board(args.board, run)
        recorded = boot.records()
        timing = timing_of(run, boot, load_core(args.core)) if args.core else None
        made = timeline_of(boot.info.boot_id, recorded, run.info, board, timing)
        amounts = core_amounts(recorded, made.run, timing) if timing else None
        emulated = EmulatedBoot(recorded, made, amounts)
        found = calibrate(boot.info.boot_id, emulated, board, list(boots.values()))
        if args.output:
            _write(found, args.output)
        path = str(args.output) if args.output else ""
        if args.json:
            print_json("calibrate", text.document(found, path))
        else:
            text.show(terminal(), found, path, args.top)
        return 0


def _write(found: Calibration, path: Path) -> None:
    """Writes the profile of the board, and beside it that of the core if one was fitted."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", path.stem).strip("-") or "board"
    fitted = profile_file.calibrated_board(found, name)
    write_file(path, profile_file.text(found, fitted).encode())
    load_board(str(path))
    if found.core:
        beside = text.core_path(path)
        core = profile_file.calibrated_core(found, found.core, f"{name}-core")
        write_file(beside, profile_file.core_text(found, core).encode())
        load_core(str(beside))


def emulated_boot(store: Store, name: str | None) -> tuple[StoredRun, StoredBoot]:
    """The boot named by --like, or the last one on the emulated board. Raises UserError for none."""
    wanted, number = run_and_boot(name)
    if wanted is None:
        wanted = store.newest(RECORDED)
        if wanted is None:
            raise UserError(
                "there is no emulated run to calibrate against",
                hint="bootscope record SYSTEM, the same system as on the real board",
            )
    run = store.find(wanted)
    boot = choose_boot(run, number)
    if not boot.info.complete:
        raise UserError(f"boot {boot.info.boot_id} did not reach its milestone: {boot.info.message}")
    return run, boot


def _board(name: str | None, run: StoredRun) -> Board:
    """The profile to start from. Raises UserError when the run was made at another speed of the emulator."""
    if name is None:
        return without_core(run.info.board)
    board = without_core(load_board(name))
    if board.tick_ns != run.info.board.tick_ns:
        raise UserError(
            f"{run.info.run_id} was recorded with {run.info.board.tick_ns} ns an instruction, "
            f"board {board.name} has {board.tick_ns}",
            hint=f"record the system on that board: bootscope record SYSTEM --board {name}",
        )
    return board
