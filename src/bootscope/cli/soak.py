# SPDX-License-Identifier: Apache-2.0
"""bootscope soak: cuts the power at random moments, and looks at what the next boot makes of it."""

from __future__ import annotations

import argparse
import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from bootscope.cli.arguments import option
from bootscope.cli.common import add_build_options, check_positive
from bootscope.cli.label import add_label_option
from bootscope.cli.verb import Verb, print_json, terminal
from bootscope.core.errors import UserError, printable
from bootscope.core.text import seconds, signed

if TYPE_CHECKING:
    from bootscope.capture.store import Store
    from bootscope.emulator.plugin_config import Limits
    from bootscope.emulator.recording import Task
    from bootscope.soak.card import Looked
    from bootscope.soak.soaking import Cut, Soaked

FAILED = 3
_LIMIT_S = 120
_TOLD = {"pending": "to be recovered", "mended": "mended by fsck", "damaged": "damaged"}
_NAMED = 3
"""So many lost files are named; the others are counted."""


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
        what = "draws the moments: the same number gives the same cuts (default 1)"
        option(parser, "--seed", "N", what, type=int)
        what = "cut no sooner: a milestone or a time of the first boot, such as init (default: power-on)"
        option(parser, "--from", "MILESTONE|TIME", what, dest="since")
        option(
            parser,
            "--after",
            "S",
            "cut up to so many seconds after the milestone, as the application runs (default 2)",
            type=float,
        )
        option(parser, "--until", "MILESTONE", "what each next boot must reach (default: as record does)")
        option(parser, "--timeout", "S", "host time limit for one boot, in seconds (default 900)", type=float)
        option(
            parser,
            "--board-timeout",
            "S",
            "limit of the board's own (virtual) time for one boot, in seconds (default 120)",
            type=float,
        )
        option(parser, "-o", "FILE", "write the card as the last boot left it", type=Path)
        add_label_option(parser)
        add_build_options(parser)

    def run(self, args: argparse.Namespace) -> int:
        check_positive(args, "n", "after", "timeout", "board_timeout")
        from bootscope.capture import labels
        from bootscope.cli.observers import observer
        from bootscope.cli.output import writable
        from bootscope.cli.stores import open_store
        from bootscope.emulator.plugin_config import Limits
        from bootscope.soak.soaking import Plan, soaking

        if args.o:
            writable(args.o)
        after_ns = int((2 if args.after is None else args.after) * 1e9)
        plan = Plan(args.n or 10, 1 if args.seed is None else args.seed, after_ns, args.since or "")
        store = open_store(marks=labels.parse(args.label))
        limits = Limits(limit_ns=int((args.board_timeout or _LIMIT_S) * 1e9), explain=False)
        with (
            _ordered(args, store, limits) as (task, image),
            soaking(store, task, image, plan) as soak,
        ):
            try:
                found = soak.run(observer(args.json))
            except KeyboardInterrupt:
                if soak.begun and not args.json:
                    _print(soak.found())
                raise
            if args.json:
                print_json("soak", _document(found))
            else:
                _print(found)
            if args.o:
                soak.keep(args.o)
        return 0 if found.good else FAILED


@contextlib.contextmanager
def _ordered(args: argparse.Namespace, store: Store, limits: Limits) -> Iterator[tuple[Task, Path]]:
    """What boots, and the content of its card."""
    from bootscope.boards.physical import is_real
    from bootscope.cli import named_image

    if args.board and is_real(args.board):
        raise UserError(
            "soak cuts the power of an emulated board: nobody could look at the card of a real one in between"
        )
    record = named_image.image_of(args.system, args.board)
    if record:
        wanted = named_image.ending(record, args.until, None)
        with named_image.bench(args, wanted, None, store, limits, args.timeout or 900).ready() as ready:
            yield ready
        return
    if len(args.system) > 1 or (Path(args.system[0]).is_file() and not args.system[0].endswith(".toml")):
        raise UserError(
            f"{printable(args.system[0])} is a file of an image: name the board that it is to boot on",
            hint="--board virt-arm64",
        )
    with _built(args, store, limits) as task:
        yield task, task.subject.media.card


@contextlib.contextmanager
def _built(args: argparse.Namespace, store: Store, limits: Limits) -> Iterator[Task]:
    """A system that bootscope builds."""
    from bootscope.cli.record import bench_of, board_of
    from bootscope.emulator.recording import task_of
    from bootscope.system.load import load_system

    loaded = load_system(args.system[0])
    if loaded.system.nand:
        raise UserError(
            f"{loaded.system.name} keeps its root in a NAND chip, which is a part of the memory here"
        )
    bench = bench_of(args, store=store, timeout_s=args.timeout or 900, limits=limits)
    order = bench.order(loaded, board_of(loaded, args.board), args.until or "")
    with bench.used(order):
        yield task_of(order)


def _print(found: Soaked) -> None:
    from bootscope.report.tables import make_table

    out = terminal()
    plan, run = found.plan, found.run.info
    out.print(Text(f"soak of {run.system.name} on {run.board.name}, seed {plan.seed}", "bold"))
    out.print(Text(f"boot 1, on the card as it was built: {printable(found.first.message)}"))
    if found.cuts:
        grid = make_table(">cut", ">at", "in", "left on the card", ">next boot", ">", header_style="bold")
        for number, cut in enumerate(found.cuts, 1):
            grid.add_row(*_row(number, cut, found.reached_ns or 0))
        out.print(grid)
    for line in _losses(found):
        out.print(Text(line))
    for line in _verdict(found):
        out.print(Text(line, "" if found.good else "red"))
    out.print(Text(f"recorded as {run.run_id}"))


def _row(number: int, cut: Cut, first_ns: int) -> Sequence[str]:
    begun = (str(number), f"{seconds(cut.at_ns)} s", cut.phase, _words(cut.left))
    if cut.after is None:
        return (*begun, "", "")
    if cut.reached_ns is None:
        return (*begun, str(cut.after.ended), "")
    return (*begun, f"{seconds(cut.reached_ns)} s", signed(cut.reached_ns - first_ns))


def _words(looked: Sequence[Looked]) -> str:
    """What is on a card, in a few words: regions that are as they were go without saying."""
    from bootscope.soak.states import Verdict

    well = (Verdict.UNCHANGED, Verdict.CLEAN)
    told = [
        f"{one.region.name} {one.region.kind or 'unknown'}: {_state_words(one)}"
        for one in looked
        if one.state.verdict not in well
    ]
    return ", ".join(told) or "clean"


def _state_words(one: Looked) -> str:
    words = one.state.words
    if one.state.verdict.value in ("pending", "unchecked"):
        return words
    return f"{one.state.verdict.value}{f' ({words})' if words else ''}"


def _losses(found: Soaked) -> Iterator[str]:
    """Files of the image that are gone or empty, each once: since when."""
    seen: set[tuple[str, str]] = set()
    cuts = [(f"cut {number}", (*cut.left, *cut.left_after)) for number, cut in enumerate(found.cuts, 1)]
    for what, looked in [("boot 1", found.left), *cuts]:
        for one in looked:
            new = [path for path in one.lost if (one.region.name, path) not in seen]
            seen |= {(one.region.name, path) for path in new}
            if new:
                more = f" and {len(new) - _NAMED} more" if len(new) > _NAMED else ""
                named = ", ".join(map(printable, new[:_NAMED]))
                yield f"since {what}, gone or empty in {one.region.name}: {named}{more}"


def _verdict(found: Soaked) -> Iterator[str]:
    """What came of it, in sentences."""
    from bootscope.soak.soaking import damaged

    until, cuts = found.run.info.until, found.cuts
    if found.reached_ns is None:
        yield f"the card as it was built does not come to {until}: nothing to soak"
        return
    over = [(cut.reached_ns - found.reached_ns, n) for n, cut in enumerate(cuts, 1) if cut.reached_ns]
    tally = Counter(one.state.verdict.value for cut in cuts for one in cut.left)
    yield f"{len(cuts)} of {found.plan.cuts} cuts: the next boot came to {until} {len(over)} times"
    told = ", ".join(f"{tally[state]} {words}" for state, words in _TOLD.items())
    yield f"file systems after a cut: {told}"
    if over and max(over)[0] > 0:
        worst, number = max(over)
        yield f"the slowest next boot came after cut {number}: {signed(worst)} against boot 1"
    if all(one.state.verdict.value == "unchanged" for cut in cuts for one in cut.left):
        yield "nothing was written to any partition"
    for number, cut in enumerate(cuts, 1):
        for what, looked in (("cut", cut.left), ("the boot after cut", cut.left_after)):
            if damaged(looked):
                yield f"after {what} {number}: {_words(looked)}"
        if cut.boot.ended != "limit":
            yield f"cut {number} found no boot to cut: {printable(cut.boot.message)}"
        if cut.after and cut.reached_ns is None:
            yield f"after cut {number}: {printable(cut.after.message)}"


def _document(found: Soaked) -> dict[str, object]:
    return {
        "run_id": found.run.info.run_id,
        "until": found.run.info.until,
        "good": found.good,
        "seed": found.plan.seed,
        "from": found.plan.since or None,
        "after_ns": found.plan.after_ns,
        "reached_ns": found.reached_ns,
        "message": found.first.message,
        "left": _looked(found.left),
        "cuts": [_cut(number, cut) for number, cut in enumerate(found.cuts, 1)],
    }


def _cut(number: int, cut: Cut) -> dict[str, object]:
    after = cut.after
    return {
        "number": number,
        "boot": cut.boot.number,
        "message": cut.boot.message,
        "at_ns": cut.at_ns,
        "phase": cut.phase,
        "left": _looked(cut.left),
        "next_boot": after.number if after else None,
        "next_message": after.message if after else None,
        "next_reached_ns": cut.reached_ns,
        "next_left": _looked(cut.left_after),
    }


def _looked(looked: Sequence[Looked]) -> list[dict[str, object]]:
    return [
        {
            "where": one.region.name,
            "kind": one.region.kind or None,
            "state": one.state.verdict.value,
            "words": one.state.words,
            "lost": list(one.lost),
        }
        for one in looked
    ]
