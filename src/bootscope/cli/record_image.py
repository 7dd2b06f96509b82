# SPDX-License-Identifier: Apache-2.0
"""`bootscope record FILE...`: a prebuilt image, booted as it is."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bootscope.builder.cache import Cache
from bootscope.buildtrees import keep
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
from bootscope.imageedit.record import is_image as is_named_image
from bootscope.system.load import system_names

IMAGE_OPTIONS = ("append", "machine", "through")
"""Options for images only, by their names in the result of the parser."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options for images only."""
    group = parser.add_argument_group("images that are built already (bootscope help your-image)")
    option(group, "--append", "WORDS", "words to append to the kernel command line, such as console=ttyAMA0")
    group.add_argument(
        "--through",
        choices=("kernel", "firmware"),
        help="what the boot begins with: the kernel, started by the emulator (default), or the board's own "
        "firmware, whose boot loader finds what is on the card",
    )
    option(group, "--machine", "M", "the machine, if the folder of a build has several")


def is_image(names: Sequence[str]) -> bool:
    """Whether the names are files of an image (existing or not) or an imported system, not a system of
    ours."""
    if len(names) != 1:
        return len(names) > 1
    (name,) = names
    if name in system_names() or is_named_image(name):
        return False
    # No system of ours has a dot or a slash in its name.
    like_a_path = Path(name).exists() or "." in name or "/" in name
    return keep.is_tree(name) or (like_a_path and not name.endswith(".toml"))


def _files(names: Sequence[str], machine: str) -> tuple[Sequence[str], str, str]:
    """What was named, as (files and folders, machine, name for the run; empty for the first file's name)."""
    if len(names) == 1 and keep.is_tree(names[0]):
        tree, _ = keep.load_tree(names[0])
        return [tree.folder], machine or tree.machine, tree.name
    return names, machine, ""


@dataclass(frozen=True)
class Recorded:
    """A run of an image, and what to report of it: where a recording ends, what was chosen, doubts, and
    advice on boots that did not complete."""

    run: StoredRun
    until: str
    taken: tuple[str, ...]
    notes: tuple[str, ...]
    advice: tuple[str, ...]


def record(args: argparse.Namespace, store: Store, limits: Limits, names: Sequence[str]) -> Recorded:
    """Boots an image. Raises UserError where it cannot boot, ToolError as a recording does."""
    # Other systems do not need this.
    from bootscope.boards.profile import load_board
    from bootscope.imageboot.advice import of_boot
    from bootscope.imageboot.start import recorded
    from bootscope.imageboot.subject import KERNEL, Wish, opened
    from bootscope.imageedit.known import with_known
    from bootscope.imageedit.system import system_of

    if not args.board:
        raise UserError("name the board that the image is to boot on", hint="--board virt-arm64")
    paths, machine, name = _files(names, args.machine or "")
    wish = Wish(args.append or "", args.until or "", args.until_text or "", machine, args.through or KERNEL)
    make = runner(args, Cache(cache_dir()), progress(quiet=args.json))
    with opened(paths, load_board(args.board), wish, make, name) as ready:
        if not args.json:
            _say(ready.told, ready.notes)
        system = system_of(ready.image, ready.given, ready.board, ready.subject.facts.name)
        run = recorded(
            with_known(ready, system, {}),
            store,
            make,
            observer(args.json),
            args.n or 1,
            timeout_s=args.timeout or 900,
            limits=limits,
        )
        # Boots with equal streams are the same boot.
        advice = {boot.info.stream_sha256: tuple(of_boot(run.info, boot)) for boot in run.boots}
        made = Recorded(run, ready.goal.until, ready.told, ready.notes, _once(advice.values()))
        if not args.json:
            _say((), made.advice)
        return made


def _once(groups: Iterable[Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(line for group in groups for line in group))


def _say(taken: Sequence[str], notes: Sequence[str]) -> None:
    out = terminal()
    for line in taken:
        out.print(printable(line), markup=False, highlight=False)
    for line in notes:
        out.print(f"note: {printable(line)}", markup=False, highlight=False, style="yellow")
