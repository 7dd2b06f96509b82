# SPDX-License-Identifier: Apache-2.0
"""bootscope record: boot it N times and keep everything."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from bootscope.boards.changed import core_of
from bootscope.boards.physical import is_real, real_board
from bootscope.boards.profile import Board, load_board
from bootscope.builder.cache import Cache
from bootscope.capture import labels
from bootscope.capture.store import Store
from bootscope.capture.stored import MeasuredRun, StoredBoot, StoredRun
from bootscope.cli import board_options, named_image, record_image, recorded
from bootscope.cli.arguments import flag, option, renamed
from bootscope.cli.cluster import add_cluster_option, executor_of, measure
from bootscope.cli.common import (
    BUILD_OPTIONS,
    add_board_timeout,
    add_build_options,
    board_limit_ns,
    check_positive,
    refuse,
    runner,
)
from bootscope.cli.label import add_label_option
from bootscope.cli.observers import Quiet, Shown, observer
from bootscope.cli.progress import progress
from bootscope.cli.stores import open_store, telling_what_is_kept
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.core.errors import UserError, printable, unknown
from bootscope.core.paths import cache_dir
from bootscope.core.text import visible
from bootscope.cores.choice import NO_CORE
from bootscope.cores.profile import Core, core_names, load_core
from bootscope.emulator.plugin_config import Limits, default_until
from bootscope.emulator.recording import Observer
from bootscope.hardware.measuring import measure_run
from bootscope.imageedit.record import ImageRecord
from bootscope.runs.headline import reached_in
from bootscope.search.bench import Bench
from bootscope.system.load import LoadedSystem, load_system, milestones

FAILED = 3
_HANG_S, _IMAGE_HANG_S = 30, 15
_EMULATED = ("no_explain", "board_timeout", "hang_timeout", "timing", "core", "probe", "syscalls", "counts")
"""Options for emulated boards only."""
_WHAT_TO_NAME = (
    "bootscope record debian (nothing to compile); others: bootscope system list; on your own board: --board"
)
_NO_CLUSTER = "is for systems that bootscope builds, and for boards of a labgrid farm"


def _add_emulated_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options for emulated boards only."""
    flag(parser, "--no-explain", "record phases and milestones only: smaller, without most of show --view")
    add_board_timeout(parser)
    option(
        parser,
        "--hang-timeout",
        "S",
        "limit of the board's own time without any event, in seconds (default 30; 15 for an image)",
        type=float,
    )
    flag(
        parser,
        "--timing",
        "boot it once more, and count what the core's caches and memory make of it, for show --core "
        "(bootscope help cores); takes up to 4 times as long as the boot. Also without this option if the "
        "board profile names a core; not with --board BOARD:core=none",
    )
    option(parser, "--core", "CORE", "the core of --timing (default: that of the board profile)")
    parser.add_argument(
        "--probe",
        action="append",
        default=[],
        metavar="[PROGRAM:]SYMBOL",
        help="record every call and return of a function of the boot loader or the kernel, for show --view "
        "probes: kfree, kernel:kfree; repeatable",
    )
    flag(parser, "--syscalls", "record all system calls of all processes, for show --view syscalls")
    flag(parser, "--counts", "count how often each instruction runs, for export --format lcov")
    renamed(parser, "--limit", "board_timeout", type=float)
    renamed(parser, "--hang", "hang_timeout", type=float)


class Record(Verb):
    example = "bootscope record stock -n 3 --until first-frame"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "system",
            nargs="*",
            metavar="SYSTEM|FILE",
            help="name of a system, or path of a system file (.toml); or the files of an image that is built "
            "already, as for `image`: a disk image, or kernel, initramfs and root file system, or the folder "
            "of a build. Not for a real board",
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
            "where to stop (default: first-frame, or app-ready for a system without a display; for an image "
            "found in it, and printed); process:NAME, unit:NAME, file:PATH of an image; "
            "pin:NAME on a real board: a named edge (bootscope help pins)",
        )
        option(
            parser,
            "--timeout",
            "S",
            "host time limit for one boot, in seconds (default 900; 120 on a real board)",
            type=float,
        )
        add_label_option(parser)
        _add_emulated_options(parser)
        add_cluster_option(parser)
        record_image.add_options(parser)
        board_options.add_options(parser)
        add_build_options(parser)

    def run(self, args: argparse.Namespace) -> int:
        check_positive(args, "n", "timeout", "board_timeout", "hang_timeout", "until_silence", "until_time")
        if args.board and is_real(args.board):
            if args.system:
                raise UserError("a real board boots what is on it: leave the system out")
            why = "is for systems on an emulated board; a real one boots what is on it"
            refuse(args, (*_EMULATED, *BUILD_OPTIONS), why)
            _refuse_image_options(args)
            return _record_board(args)
        if args.no_explain:
            why = "needs to know which task runs, which --no-explain does not record"
            refuse(args, ("probe", "syscalls", "counts"), why)
        image = record_image.is_image(args.system)
        of_image = image or named_image.image_of(args.system, None) is not None
        limits = Limits(
            limit_ns=board_limit_ns(args),
            quiet_ns=int((args.hang_timeout or (_IMAGE_HANG_S if of_image else _HANG_S)) * 1e9),
            explain=not args.no_explain,
            timing=_timing(args),
            probes=tuple(args.probe),
            syscalls=args.syscalls,
            usage_after_ns=0 if args.counts else None,
        )
        if image:
            return _record_image(args, limits)
        if named := named_image.image_of(args.system, None):
            return _record_named(args, limits, named)
        _refuse_image_options(args)
        if not args.system:
            emulated = " (the file of a real board has a [console])" if args.board else ""
            raise UserError(f"name a system to boot{emulated}", hint=_WHAT_TO_NAME)
        (name,) = args.system
        board_options.refuse_real_options(args, name)
        loaded = load_system(name)
        board = board_of(loaded, args.board)
        until = args.until or default_until(loaded.system)
        if until not in (known := milestones(loaded.system, board.boot_loader)):
            raise unknown("milestone", until, known)
        how = {"timeout_s": args.timeout or 900, "limits": limits}
        store = _store(args)
        with telling_what_is_kept(store), executor_of(args) as executor:
            bench = bench_of(args, observer(args.json), store, executor=executor, **how)
            run = bench.record(loaded, board, until, args.n or 1)
        return _tell(args.json, run, partial(recorded.figures, run), partial(recorded.summary, run))


def board_of(loaded: LoadedSystem, wanted: str) -> Board:
    """The requested board, otherwise the system's own. Raises UserError for one that it is not built for."""
    own = load_board(loaded.system.board)
    board = load_board(wanted) if wanted else own
    if _machine(board) != _machine(own):
        raise UserError(
            f"the system {loaded.system.name} is built for {_in_words(own)}, not for {_in_words(board)}",
            hint=f"leave --board out, or name a variant of {own.name}; bootscope help boards",
        )
    return board


def _machine(board: Board) -> tuple[str, str]:
    return board.architecture, board.qemu.machine.partition(",")[0]


def _in_words(board: Board) -> str:
    architecture, machine = _machine(board)
    return f"the board {board.name} (QEMU's machine {printable(machine)}, {architecture})"


def _timing(args: argparse.Namespace) -> tuple[Core, ...]:
    """The cores to count for. Raises UserError if none is named, or an option that this needs is missing."""
    if args.core == NO_CORE:
        raise UserError(
            "--core names a core to count for", hint=f"--board BOARD:core={NO_CORE} records without one"
        )
    if not args.timing:
        refuse(args, ("core",), "goes with --timing")
        return ()
    if args.no_explain:
        raise UserError("--timing shows what functions wait for, which --no-explain does not record")
    own = "" if args.board or record_image.is_image(args.system) else _board_named_by(args.system)
    board = args.board or own
    core = load_core(args.core) if args.core else core_of(load_board(board)) if board else None
    if core:
        return (core,)
    raise UserError(
        "--timing: no core is named",
        hint=f"--core CORE, or `core` in the board profile; bootscope has {', '.join(core_names())}",
    )


def _board_named_by(systems: list[str]) -> str:
    """The board of the system named, if exactly one is."""
    return load_system(systems[0]).system.board if len(systems) == 1 else ""


def _refuse_image_options(args: argparse.Namespace) -> None:
    refuse(
        args, record_image.IMAGE_OPTIONS, "is for an image that is built already", "bootscope help your-image"
    )


def _record_image(args: argparse.Namespace, limits: Limits) -> int:
    """Records a prebuilt image; returns the exit code."""
    board_options.refuse_real_options(args, "an image", but=("until_text",))
    refuse(args, ("cluster",), _NO_CLUSTER)
    store = _store(args)
    with telling_what_is_kept(store):
        made = record_image.record(args, store, limits, args.system)
    about = {
        "until": made.until,
        "taken": list(made.taken),
        "notes": list(made.notes),
        "advice": list(made.advice),
    }
    return _tell(
        args.json, made.run, partial(recorded.figures, made.run), partial(recorded.summary, made.run), about
    )


def _record_named(args: argparse.Namespace, limits: Limits, record: ImageRecord) -> int:
    """Records a named image; returns the exit code."""
    board_options.refuse_real_options(args, "an image", but=("until_text",))
    refuse(args, ("cluster",), _NO_CLUSTER)
    why = f"is in the record of {record.name}: bootscope system import sets it"
    refuse(args, ("board", *record_image.IMAGE_OPTIONS), why)
    told = named_image.ending(record, args.until, args.until_text)
    store = _store(args)
    with telling_what_is_kept(store):
        bench = named_image.bench(args, told, observer(args.json), store, limits, args.timeout)
        run = bench.boot(bench.order(bench.loaded), args.n or 1)
    return _tell(args.json, run, partial(recorded.figures, run), partial(recorded.summary, run))


def _store(args: argparse.Namespace) -> Store:
    """The store, which labels the run as requested. Raises UserError for an invalid label."""
    return open_store(marks=labels.parse(args.label))


def _record_board(args: argparse.Namespace) -> int:
    """Measures boots of the board that --board names; returns the exit code."""
    board, store = real_board(args.board, args.rate, args.tap_host), _store(args)
    watcher = Quiet() if args.json else Shown()
    with telling_what_is_kept(store):
        if args.cluster:
            run_id = measure(args, store, board)
        else:
            with board_options.ordered(board, args, watcher) as (order, _):
                run_id = measure_run(store, order, watcher)
    run = store.load_measured(run_id)
    good, text = sum(boot.info.complete for boot in run.boots), run.info.end_text
    end = f"'{visible(text.encode())}'" if text else run.info.until
    summary = f"{good} of {run.info.asked} boots reached {end}" if run.info.asked > 1 else ""
    return _tell(args.json, run, partial(_measured_figures, run), lambda: summary)


def _measured_figures(run: MeasuredRun, boot: StoredBoot) -> dict[str, object]:
    """When the boot reached its milestone; nulls if it ends by something else, or did not reach it."""
    found = reached_in(run, boot.info.number) if boot.info.complete else None
    return {"reached_ns": found.ns if found else None, "error_ns": found.error_ns if found else None}


def _tell(
    as_json: bool,
    run: StoredRun | MeasuredRun,
    figures: Callable[[StoredBoot], dict[str, object]],
    summary: Callable[[], str],
    about: Mapping[str, object] | None = None,
) -> int:
    """Prints the result of recording; returns the exit code. `figures` of a boot and `about` are for JSON;
    users read the `summary`, a line on all boots."""
    run_id, complete = run.info.run_id, [boot.info.complete for boot in run.boots]
    if as_json:
        boots = []
        for boot in run.boots:
            told = {"number": boot.info.number, "ended": boot.info.ended, "message": boot.info.message}
            boots.append({**told, **figures(boot), "path": str(boot.path)})
        print_json("record", {"run_id": run_id, "complete": all(complete), "boots": boots, **(about or {})})
    else:
        out = terminal()
        if words := summary():
            out.print(words, markup=False)
        out.print(f"recorded as {run_id}", markup=False)
        # Without a name, `show` takes the newest run with a completed boot.
        name = "" if any(complete) else f" {run_id}"
        out.print(f"next: bootscope show{name}", style="dim", markup=False)
    return 0 if all(complete) else FAILED


def bench_of(
    args: argparse.Namespace, observer: Observer | None = None, store: Store | None = None, **how: Any
) -> Bench:
    """The bench on which a verb builds and boots systems, according to the build options; it keeps the runs
    in a `store` (default: the usual one); `how` is passed to the bench."""
    watcher = progress(quiet=args.json)
    make = runner(args, Cache(cache_dir()), watcher)
    return Bench(store or open_store(), make, watcher, observer or Quiet(), **how)
