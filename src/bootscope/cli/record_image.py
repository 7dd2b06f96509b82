# SPDX-License-Identifier: Apache-2.0
"""`bootscope record FILE...`: an image that is built already, booted as it is."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bootscope.builder.cache import Cache
from bootscope.capture.store import Store
from bootscope.capture.stored import StoredRun
from bootscope.cli.arguments import option
from bootscope.cli.common import runner
from bootscope.cli.observers import observer
from bootscope.cli.progress import progress
from bootscope.cli.verb import terminal
from bootscope.core.errors import UserError, printable
from bootscope.core.paths import cache_dir
from bootscope.emulator.plugin_config import Limits
from bootscope.system.load import system_names

IMAGE_OPTIONS = ("append", "machine", "through")
"""Options that are for images alone, by their names in the result of the parser."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options that are for images alone."""
    group = parser.add_argument_group("images that are built already (bootscope help your-image)")
    option(group, "--append", "WORDS", "words behind the kernel's command line, such as console=ttyAMA0")
    group.add_argument(
        "--through",
        choices=("kernel", "firmware"),
        help="what the boot begins with: the kernel, started by the emulator (default), or the board's own "
        "firmware, whose boot loader finds what is on the card",
    )
    option(group, "--machine", "M", "the machine, if the folder of a build has several")


def is_image(names: Sequence[str]) -> bool:
    """Whether what was named are files of an image, and not a system."""
    if len(names) != 1:
        return len(names) > 1
    (name,) = names
    return name not in system_names() and not name.endswith(".toml") and Path(name).exists()


@dataclass(frozen=True)
class Recorded:
    """A run of an image, and what to say of it: where a recording ends, what was taken, doubts."""

    run: StoredRun
    until: str
    taken: tuple[str, ...]
    notes: tuple[str, ...]


def record(
    args: argparse.Namespace, store: Store, limits: Limits, names: Sequence[str], name: str = ""
) -> Recorded:
    """Boots an image. Raises UserError where it cannot boot, ToolError as a recording does."""
    # Other systems need none of it.
    from bootscope.boards.profile import load_board
    from bootscope.imageboot.start import recorded
    from bootscope.imageboot.subject import KERNEL, Wish, opened

    if not args.board:
        raise UserError("name the board that the image is to boot on", hint="--board virt-arm64")
    wish = Wish(
        args.append or "", args.until or "", args.until_text or "", args.machine or "", args.through or KERNEL
    )
    make = runner(args, Cache(cache_dir()), progress(quiet=args.json))
    with opened(names, load_board(args.board), wish, make, name) as ready:
        if not args.json:
            _say(ready.told, ready.notes)
        run = recorded(
            ready, store, make, observer(args.json), args.n or 1, timeout_s=args.timeout or 900, limits=limits
        )
        return Recorded(run, ready.goal.until, ready.told, ready.notes)


def _say(taken: Sequence[str], notes: Sequence[str]) -> None:
    out = terminal()
    for line in taken:
        out.print(printable(line), markup=False, highlight=False)
    for line in notes:
        out.print(f"note: {printable(line)}", markup=False, highlight=False, style="yellow")
