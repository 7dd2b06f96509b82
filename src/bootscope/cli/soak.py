# SPDX-License-Identifier: Apache-2.0
"""bootscope soak: cuts the power at random moments, checks the file systems, and boots again."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from bootscope.cli.arguments import option
from bootscope.cli.common import LARGEST, add_board_timeout, add_build_options, board_limit_ns, check_positive
from bootscope.cli.label import add_label_option
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.core.errors import UserError, printable

if TYPE_CHECKING:
    from bootscope.capture.store import Store
    from bootscope.emulator.plugin_config import Limits
    from bootscope.emulator.recording import Task
    from bootscope.soak.chip import Flash

FAILED = 3


class Soak(Verb):
    example = "bootscope soak stock -n 20"

    def options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "system",
            nargs="+",
            metavar="SYSTEM|FILE",
            help="name of a system, or path of a system file (.toml); or an image that is built already: its "
            "name, or its files with --board",
        )
        option(parser, "--board", "B", "board profile (default: the system's)")
        option(
            parser, "-n", "N", "how often the power is cut (default 10); each time takes two boots", type=int
        )
        what = "seed of the random moments: the same number gives the same cuts (default 1)"
        option(parser, "--seed", "N", what, type=int)
        what = "earliest cut: a milestone or a time of the first boot, such as init (default: power-on)"
        option(parser, "--from", "MILESTONE|TIME", what, dest="since")
        option(
            parser,
            "--after",
            "S",
            "cut up to S seconds after the milestone, while the application runs (default 2)",
            type=float,
        )
        option(parser, "--until", "MILESTONE", "what each next boot must reach (default: as record does)")
        option(
            parser, "--timeout", "S", "host time limit for one boot, in seconds (default 7200)", type=float
        )
        add_board_timeout(parser)
        option(parser, "-o", "FILE", "write the card as the last boot left it", type=Path)
        add_label_option(parser)
        add_build_options(parser)

    def run(self, args: argparse.Namespace) -> int:
        check_positive(args, "n", "timeout", "board_timeout")
        if args.after is not None and not 0 <= args.after <= LARGEST:
            raise UserError(f"--after must be 0 or more, at most {LARGEST:,}")
        from bootscope.capture import labels
        from bootscope.cli.observers import observer
        from bootscope.cli.output import writable
        from bootscope.cli.stores import open_store
        from bootscope.emulator.plugin_config import Limits
        from bootscope.report.soaked import document, show
        from bootscope.soak.soaking import Plan, soaking

        if args.o:
            writable(args.o)
        after_ns = int((2 if args.after is None else args.after) * 1e9)
        plan = Plan(args.n or 10, 1 if args.seed is None else args.seed, after_ns, args.since or "")
        store = open_store(marks=labels.parse(args.label))
        limits = Limits(limit_ns=board_limit_ns(args), explain=False)
        with (
            _ordered(args, store, limits) as (task, image, flash),
            soaking(store, task, image, plan, flash) as soak,
        ):
            try:
                found = soak.run(observer(args.json))
            except KeyboardInterrupt:
                if soak.begun and not args.json:
                    show(terminal(), soak.found())
                raise
            if args.json:
                print_json("soak", document(found))
            else:
                show(terminal(), found)
            if args.o:
                soak.keep(args.o)
        return 0 if found.good else FAILED


@contextlib.contextmanager
def _ordered(
    args: argparse.Namespace, store: Store, limits: Limits
) -> Iterator[tuple[Task, Path, Flash | None]]:
    """The task to boot, the content of its card, and its NAND chip, if it has one."""
    from bootscope.boards.physical import is_real
    from bootscope.cli import named_image

    if args.board and is_real(args.board):
        raise UserError(
            "soak needs an emulated board: the card of a real one cannot be inspected between boots"
        )
    record = named_image.image_of(args.system, args.board)
    if record:
        wanted = named_image.ending(record, args.until, None)
        bench = named_image.bench(args, wanted, None, store, limits, args.timeout)
        with bench.ready() as ready:
            yield (*ready, None)
        return
    if len(args.system) > 1 or (Path(args.system[0]).is_file() and not args.system[0].endswith(".toml")):
        raise UserError(
            f"{printable(args.system[0])} is a file of an image: name the board that it is to boot on",
            hint="--board virt-arm64",
        )
    with _built(args, store, limits) as (task, flash):
        yield task, task.subject.media.card, flash


@contextlib.contextmanager
def _built(args: argparse.Namespace, store: Store, limits: Limits) -> Iterator[tuple[Task, Flash | None]]:
    """A system that bootscope builds."""
    from bootscope.cli.record import bench_of, board_of
    from bootscope.core.errors import unknown
    from bootscope.emulator.recording import task_of
    from bootscope.soak.chip import Flash
    from bootscope.system.load import load_system, milestones

    loaded = load_system(args.system[0])
    board = board_of(loaded, args.board)
    if args.until and args.until not in (known := milestones(loaded.system, board.boot_loader)):
        raise unknown("milestone", args.until, known)
    how = {"timeout_s": args.timeout} if args.timeout else {}
    bench = bench_of(args, store=store, limits=limits, **how)
    order = bench.order(loaded, board, args.until or "")
    nand, kernel = loaded.system.nand, loaded.system.kernel
    flash = Flash(nand, kernel.memory_address, kernel.memory_bytes) if nand else None
    with bench.used(order):
        yield task_of(order), flash
