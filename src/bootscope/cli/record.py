# SPDX-License-Identifier: Apache-2.0
"""bootscope record: boot it N times and keep everything."""

from __future__ import annotations

import argparse
import sys

from bootscope.boards.physical import is_real
from bootscope.boards.profile import load_board
from bootscope.builder.cache import Cache
from bootscope.capture.record import BootInfo
from bootscope.capture.store import Store
from bootscope.capture.stored import StoredBoot, StoredRun
from bootscope.cli import board_options, record_board
from bootscope.cli.arguments import flag, option
from bootscope.cli.common import BUILD_OPTIONS, add_build_options, check_positive, refuse, runner
from bootscope.cli.progress import progress
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.core.errors import UserError, unknown
from bootscope.core.paths import cache_dir, store_dir
from bootscope.core.text import seconds, visible
from bootscope.emulator.plugin_config import Limits, default_until
from bootscope.search.bench import Bench
from bootscope.system.load import load_system, milestones
from bootscope.timeline.build import timeline

FAILED = 3
_LIMIT_S, _HANG_S = 120, 30
_EMULATED = ("no_explain", "limit", "hang")
"""Options that are for an emulated board alone."""


class Quiet:
    """Tells nothing."""

    def boot_begins(self, number: int, total: int) -> None: ...

    def line(self, time_ns: int, phase: str, data: bytes) -> None: ...

    def tick(self, time_ns: int, phase: str) -> None: ...

    def boot_ended(self, info: BootInfo) -> None: ...


class Plain(Quiet):
    """A line for each console line, with phase and board time."""

    def __init__(self) -> None:
        self._show_lines = True

    def boot_begins(self, number: int, total: int) -> None:
        # The console of every boot is the same; one is worth reading.
        self._show_lines = number == 1
        if total > 1:
            self._say(f"--- boot {number} of {total}")

    def line(self, time_ns: int, phase: str, data: bytes) -> None:
        if self._show_lines:
            self._say(f"{phase:>11} {seconds(time_ns):>8}  {visible(data)}")

    def boot_ended(self, info: BootInfo) -> None:
        took = seconds(info.host_ms * 1_000_000, 1)
        self._say(f"--- boot {info.number}: {info.message} ({took} s of host time)")

    def _say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


class LiveView(Plain):
    """The same on a terminal, with a status line below."""

    def tick(self, time_ns: int, phase: str) -> None:
        print(
            f"\r\x1b[K\x1b[7m {phase:>11} {seconds(time_ns)} s \x1b[0m",
            end="",
            file=sys.stderr,
            flush=True,
        )

    def _say(self, text: str) -> None:
        print(f"\r\x1b[K{text}", file=sys.stderr, flush=True)


class Record(Verb):
    example = "bootscope record stock -n 3 --until first-frame"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "system",
            nargs="?",
            help="name of a system, or path of a system file (.toml); not for a real board",
        )
        option(
            parser,
            "--board",
            "B",
            "board profile (default: the system's), or a real board: serial:/dev/ttyUSB0, "
            "tcp:HOST:PORT, telnet:HOST:PORT, rfc2217:HOST:PORT, pipe:PATH, command:WORDS, "
            "labgrid:PLACE, or a board file",
        )
        option(
            parser, "-n", "N", "number of boots (default 1; 10 on a real board with power control)", type=int
        )
        option(
            parser,
            "--until",
            "MILESTONE",
            "where to stop (default: first-frame, or app-ready for a system without a display); "
            "pin:NAME on a real board: a named edge (bootscope help pins)",
        )
        option(
            parser,
            "--timeout",
            "S",
            "host time limit for one boot, in seconds (default 900; 120 on a real board)",
            type=float,
        )
        flag(
            parser, "--no-explain", "record phases and milestones only: smaller, without most of show --view"
        )
        option(
            parser, "--limit", "S", "limit of virtual time for one boot, in seconds (default 120)", type=float
        )
        option(
            parser,
            "--hang",
            "S",
            "limit of virtual time without any event, in seconds (default 30)",
            type=float,
        )
        board_options.add_options(parser)
        add_build_options(parser)

    def run(self, args: argparse.Namespace) -> int:
        check_positive(args, "n", "timeout", "limit", "hang", "until_silence", "until_time")
        if args.board and is_real(args.board):
            if args.system:
                raise UserError("a real board boots what is on it: leave the system out")
            why = "is for systems on an emulated board; a real one boots what is on it"
            refuse(args, (*_EMULATED, *BUILD_OPTIONS), why)
            return record_board.record_board(args)
        if not args.system:
            emulated = " (the file of a real board has a [console])" if args.board else ""
            raise UserError(f"name a system to boot{emulated}", hint=self.example)
        board_options.refuse_real_options(args, args.system)
        loaded = load_system(args.system)
        board = load_board(args.board or loaded.system.board)
        until = args.until or default_until(loaded.system)
        if until not in milestones(loaded.system):
            raise unknown("milestone", until, milestones(loaded.system))
        limits = Limits(
            limit_ns=int((args.limit or _LIMIT_S) * 1e9),
            quiet_ns=int((args.hang or _HANG_S) * 1e9),
            explain=not args.no_explain,
        )
        watcher = progress(quiet=args.json)
        make = runner(args, Cache(cache_dir()), watcher)
        bench = Bench(Store(store_dir()), make, watcher, observer(args.json), args.timeout or 900, limits)
        return self._report(bench.record(loaded, board, until, args.n or 1), args.json)

    def _report(self, run: StoredRun, as_json: bool) -> int:
        complete = all(boot.info.complete for boot in run.boots)
        if as_json:
            boots = [
                {"number": b.info.number, "ended": b.info.ended, "message": b.info.message,
                 **_reached(run, b), "stream_sha256": b.info.stream_sha256, "path": str(b.path)}
                for b in run.boots
            ]  # fmt: skip
            print_json("record", {"run_id": run.info.run_id, "complete": complete, "boots": boots})
        else:
            out = terminal()
            distinct = {boot.info.stream_sha256 for boot in run.boots}
            if len(run.boots) > 1:
                same = (
                    "identical to the nanosecond"
                    if len(distinct) == 1
                    else f"{len(distinct)} different streams"
                )
                out.print(f"{len(run.boots)} boots: {same}")
            out.print(f"recorded as {run.info.run_id}", markup=False)
            # Without a name it is the newest run of which a boot came to its end.
            name = "" if any(boot.info.complete for boot in run.boots) else f" {run.info.run_id}"
            out.print(f"next: bootscope show{name}", style="dim", markup=False)
        return 0 if complete else FAILED


def _reached(run: StoredRun, boot: StoredBoot) -> dict[str, int | None]:
    """When a boot reached what it was for: exact on the emulated board; nulls where it did not."""
    if not boot.info.complete:
        return {"reached_ns": None, "error_ns": None}
    ns = timeline(boot.info.boot_id, boot.records(), run.info).milestones.get(run.info.until)
    return {"reached_ns": ns, "error_ns": None if ns is None else 0}


def observer(as_json: bool) -> Quiet:
    """Who shows a boot as it goes on: on a terminal, in a file, or nobody."""
    if as_json:
        return Quiet()
    return LiveView() if sys.stderr.isatty() else Plain()
