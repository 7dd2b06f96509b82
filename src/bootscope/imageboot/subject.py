# SPDX-License-Identifier: Apache-2.0
"""An image, ready to boot: by its kernel, which the emulator starts, or through the board's firmware."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bootscope.boards.profile import Board, Direct
from bootscope.bootimage.understand import Image, open_image
from bootscope.builder.step import Runner
from bootscope.core.errors import UserError, unknown
from bootscope.devices.model import Media
from bootscope.emulator.subject import Subject
from bootscope.imageboot import described, firmware, given, overlay, watching
from bootscope.imageboot.given import Given
from bootscope.imageboot.watching import Goal
from bootscope.loaders.direct import DIRECT

KERNEL, FIRMWARE = "kernel", "firmware"
THROUGH = (KERNEL, FIRMWARE)


@dataclass(frozen=True)
class Wish:
    """What the user says: words for the kernel's command line, where the recording ends (a milestone or a
    text), the machine where a build has several, and what the boot goes through (KERNEL or FIRMWARE).
    `command_line`: a whole one in the place of the image's."""

    append: str = ""
    until: str = ""
    text: str = ""
    machine: str = ""
    through: str = KERNEL
    command_line: str | None = None


@dataclass(frozen=True)
class Ready:
    """An image that can be booted: on which board, what is recorded of it, until what; `told` and `notes` are
    for people, `steps` what of the cache is in use. `image` and `given`: what it was made of, open as long
    as this is."""

    image: Image
    given: Given
    subject: Subject
    board: Board
    goal: Goal
    told: tuple[str, ...]
    notes: tuple[str, ...]
    steps: tuple[str, ...] = ()


@contextmanager
def opened(paths: Sequence[str], board: Board, wish: Wish, runner: Runner, name: str = "") -> Iterator[Ready]:
    """Files and folders of an image, ready to boot; what was unpacked goes in the end. `runner` builds the
    board's firmware where the boot goes through it.

    Raises UserError where the image is not understood or cannot boot on this board.
    """
    if wish.through not in THROUGH:
        raise unknown("way to boot", wish.through, list(THROUGH))
    with open_image(paths, wish.machine) as image, tempfile.TemporaryDirectory(prefix="bootscope-") as place:
        folder, name = Path(place), name or name_of(paths[0])
        if wish.through == FIRMWARE:
            yield _by_firmware(image, board, wish, folder, name, runner)
        else:
            yield _by_kernel(image, board, wish, folder, name)


def _by_kernel(image: Image, board: Board, wish: Wish, folder: Path, name: str) -> Ready:
    """Kernel and initramfs put into memory by the emulator."""
    start, direct = board.arch.kernel.handed_over, board.direct
    if start is None or not isinstance(direct, Direct):
        raise UserError(
            f"the board {board.name} cannot start a kernel without its boot loader",
            hint="bootscope record FILE... --board virt-arm64",
        )
    got = given.of_image(image, board, wish.append, folder, wish.command_line)
    address = start(got.program, direct.memory)
    board = msgspec.structs.replace(board, loader=DIRECT.name, addresses={"kernel": address})
    goal = watching.goal(image, board, wish.until, wish.text, symbols=bool(got.symbols))
    media = _media(got, folder)
    subject = described.subject(image, got, board, goal.watched, media, name)
    told = ("started: by the emulator: nothing of firmware and boot loader is in this boot", *got.taken)
    return _ready(image, subject, board, goal, told, got)


def _media(got: Given, folder: Path) -> Media:
    kernel, early = folder / "kernel", folder / "initramfs"
    kernel.write_bytes(got.program)
    if got.initramfs:
        early.write_bytes(got.initramfs)
    card, form = overlay.over(got.card, folder) if got.card else (folder / "none", "raw")
    return Media(
        card,
        kernel=kernel,
        initramfs=early if got.initramfs else None,
        command_line=got.command_line,
        card_format=form,
        has_card=got.card is not None,
    )


def _by_firmware(image: Image, board: Board, wish: Wish, folder: Path, name: str, runner: Runner) -> Ready:
    """The card as it is, behind the board's firmware, which finds on it what it boots."""
    if wish.append:
        raise UserError(
            "--append needs --through kernel: the boot loader takes the command line from the card",
            hint="leave one of the two out",
        )
    got = given.of_disk(image, board)
    assert got.card
    below = firmware.built(board, runner)
    goal = watching.goal(image, board, wish.until, wish.text, symbols=bool(got.symbols), late_entry=True)
    card, form = overlay.over(got.card, folder)
    media = Media(card, loader=below.flash, card_format=form)
    subject = described.subject(image, got, board, goal.watched, media, name, below)
    told = (f"started: through the board's firmware, {board.boot_loader.title}", *got.taken)
    return _ready(image, subject, board, goal, told, got, below.steps)


def _ready(
    image: Image,
    subject: Subject,
    board: Board,
    goal: Goal,
    told: Sequence[str],
    got: Given,
    steps: tuple[str, ...] = (),
) -> Ready:
    words = (*told, f"until: {goal.until}: {goal.words}")
    notes = (*got.notes, *described.unseen(subject, got))
    return Ready(image, got, subject, board, goal, words, notes, steps)


def name_of(path: str) -> str:
    """A name for runs, from the first file's."""
    stem = Path(path).absolute().name.lower()
    return re.sub(r"[^a-z0-9_.-]+", "-", stem).strip("-.")[:40] or "image"
